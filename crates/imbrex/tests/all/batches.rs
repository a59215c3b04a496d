//! Writes that come together, whose contents lie in one piece of memory.

use bytes::Bytes;
use imbrex::block::{Extent, Lba};
use imbrex::perform::{Failure, Request};

use crate::fixture::served::{SMALL_ZONED, Served};

const BLOCK: usize = 4096;

#[test]
fn a_write_whose_content_is_not_all_there_is_refused_and_no_other() {
    let contents = Bytes::from(vec![7; 3 * BLOCK]);
    for layer in ["conventional", "log-greedy", "fifo-log"] {
        let mut served = Served::new(layer, &toml::Table::new(), &SMALL_ZONED);
        let write = |(lba, (from, blocks)): (u64, (usize, u32))| Request::Batched {
            at: Extent::new(Lba(lba), blocks),
            contents: contents.clone(),
            from,
        };
        // All of it, its end, one byte too few, all of it missing, and so far away that no number says where it ends.
        let asked = [(0, 3), (2 * BLOCK, 1), (2 * BLOCK + 1, 1), (3 * BLOCK, 1), (usize::MAX, 1)];
        let mut replies = Vec::new();
        served.ask_together(0, (0..).step_by(8).zip(asked).map(write), |reply| {
            replies.push((reply.id, reply.result.map(drop)));
        });
        replies.sort_by_key(|(id, _)| *id);
        let results: Vec<_> = replies.into_iter().map(|(_, result)| result).collect();
        let refused = Err(Failure::OutOfRange);
        assert_eq!(results, [Ok(()), Ok(()), refused.clone(), refused.clone(), refused], "{layer}");
    }
}
