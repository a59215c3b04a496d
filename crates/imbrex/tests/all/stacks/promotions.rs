//! A block that cannot be read past a cache is an error of the request that wants it, and of nothing else.

use bytes::Bytes;
use imbrex::block::{Extent, Lba, Pba};
use imbrex::layers;
use imbrex::perform::{Failure, IoKind, Reply, Request};

use super::served::{BLOCK, SECOND, Served, setup_of};

/// Frames of the cache, and blocks of the disk behind it.
const BLOCKS: u32 = 24;
const ERROR: Result<Bytes, Failure> = Err(Failure::Io);
const DONE: Result<Bytes, Failure> = Ok(Bytes::new());

/// Layers that cache, and how they are configured.
const LAYERS: [(&str, &str); 3] = [
    ("lru-cache", "step_blocks = 4"),
    ("static-sets", "step_blocks = 4\nsets = 1"),
    ("pore", "step_blocks = 4\nregion_blocks = 4"),
];

fn cached(layer: &str, config: &str) -> Served {
    let info = layers::find(layer).unwrap();
    let config: toml::Table = config.parse().unwrap();
    Served::of(setup_of(move |space| info.build(space, &config).unwrap(), BLOCKS))
}

fn read(lba: u64, blocks: u32) -> Request {
    Request::Read(Extent::new(Lba(lba), blocks))
}

fn write(lba: u64, byte: u8) -> Request {
    Request::Write(Extent::new(Lba(lba), 1), vec![byte; BLOCK].into())
}

fn content(bytes: &[u8]) -> Result<Bytes, Failure> {
    Ok(bytes.iter().flat_map(|byte| vec![*byte; BLOCK]).collect())
}

/// Puts requests together, while home fails every read. What they were answered, in order.
fn ask_while_home_fails(served: &mut Served, requests: Vec<Request>) -> Vec<Result<Bytes, Failure>> {
    let count = requests.len();
    for (id, request) in (1000..).zip(requests) {
        served.performer.submit(0, id, request);
    }
    served.settle(|_, kind| matches!(kind, IoKind::Read(at) if at.start.device() == SECOND));
    let mut replies: Vec<Reply> = std::iter::from_fn(|| served.performer.poll_reply()).collect();
    replies.sort_by_key(|reply| reply.id);
    assert_eq!(replies.len(), count);
    replies.into_iter().map(|reply| reply.result).collect()
}

/// A cache on which home holds its own numbers, and that holds a write which was not flushed.
fn in_use(layer: &str, config: &str) -> Served {
    let mut served = cached(layer, config);
    for block in 0..u64::from(BLOCKS) {
        served.put(Pba::new(SECOND, block), block as u8);
    }
    assert_eq!(served.ask(write(20, 99)), DONE);
    served
}

/// No life has ended, so nothing is lost and no flush fails.
fn still_lives(served: &mut Served) {
    assert_eq!(served.performer.counts().rebuilds, 0);
    served.performer.check().unwrap();
    assert_eq!(served.ask(read(20, 1)), content(&[99]));
    assert_eq!(served.ask(Request::Flush), DONE);
}

#[test]
fn a_read_that_would_promote_fails_alone_and_is_made_good_later() {
    for (layer, config) in LAYERS {
        let mut served = in_use(layer, config);
        assert_eq!(ask_while_home_fails(&mut served, vec![read(4, 4)]), [ERROR]);
        assert_eq!(served.ask(read(4, 4)), content(&[4, 5, 6, 7]));
        let cached = ask_while_home_fails(&mut served, vec![read(4, 4)]);
        assert_eq!(cached, [content(&[4, 5, 6, 7])], "{layer}");
        still_lives(&mut served);
    }
}

#[test]
fn reads_of_a_frame_that_waits_for_its_block_fail_too() {
    for (layer, config) in LAYERS {
        let mut served = in_use(layer, config);
        let answers = ask_while_home_fails(&mut served, vec![read(4, 2), read(5, 1), read(20, 1)]);
        assert_eq!(answers, [ERROR, ERROR, content(&[99])]);
        assert_eq!(served.ask(read(5, 1)), content(&[5]));
        still_lives(&mut served);
    }
}

#[test]
fn a_write_to_a_frame_that_waits_for_its_block_counts() {
    for (layer, config) in LAYERS {
        let mut served = in_use(layer, config);
        let answers = ask_while_home_fails(&mut served, vec![read(4, 2), write(5, 55), read(5, 1)]);
        assert_eq!(answers, [ERROR, DONE, content(&[55])], "{layer}");
        assert_eq!(served.ask(read(4, 2)), content(&[4, 55]));
        still_lives(&mut served);
    }
}
