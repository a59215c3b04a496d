//! A damaged journal is refused by name, or the damage is where nothing is lost; it is never a panic and never wrong
//! data.
//!
//! Without a second copy the newest commit's entries cannot be told from torn ones, since nothing after them says that
//! they were durable. With one, nothing that is damaged in one place matters.

use bytes::Bytes;

use super::Candidate;
use super::content::{self, BLOCK, Sector};
use super::dice::Dice;
use super::shape::{Drive, Shape};
use super::store::Store;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_engine::journal::decode_block;
use imbrex_engine::rules::Rules;
use imbrex_engine::{IoKind, IoResult, Performer, Reply, Request};
use imbrex_layers as layers;

/// Runs a performer until it has nothing more to do, and returns its replies.
fn settle(performer: &mut Performer, store: &mut Store) -> Vec<Reply> {
    while let Some(io) = performer.poll_io() {
        let result = store.perform(&io.kind).unwrap();
        performer.complete(io.id, result);
    }
    std::iter::from_fn(|| performer.poll_reply()).collect()
}

fn read(store: &mut Store, at: Pba) -> Bytes {
    match store.perform(&IoKind::Read(Extent::new(at, 1))) {
        Ok(IoResult::Data(data)) => data,
        other => panic!("{other:?}"),
    }
}

fn write(store: &mut Store, at: Pba, data: Bytes) {
    store.perform(&IoKind::Write(Extent::new(at, 1), data)).unwrap();
    store.perform(&IoKind::Flush).unwrap();
}

/// Whether every block reads as its newest version.
fn is_right(performer: &mut Performer, store: &mut Store, newest: &[u64]) -> bool {
    (0..).zip(newest).filter(|(_, version)| **version > 0).all(|(lba, version)| {
        performer.submit(0, lba, Request::Read(Extent::new(Lba(lba), 1)));
        let reply = loop {
            if let Some(reply) = performer.poll_reply() {
                break reply;
            }
            let io = performer.poll_io().unwrap();
            if matches!(io.kind, IoKind::Read(_)) {
                let result = store.perform(&io.kind).unwrap();
                performer.complete(io.id, result);
            }
        };
        let data = reply.result.unwrap();
        content::sectors(&data).all(|sector| sector == Sector::Version { lba: Lba(lba), version: *version })
    })
}

#[test]
fn a_damaged_journal_is_refused_or_does_not_matter() {
    let subject = Candidate::layer(layers::find("fifo-log").unwrap());
    let (mut refused, mut harmless, mut copied) = (0, 0, 0);
    for seed in 0..24 {
        let mut dice = Dice::new(seed);
        let shape = Shape::draw(&subject, Rules::all(), &mut dice).unwrap();
        let Drive { media, journal } = shape.drives().remove(0);
        let mut store = Store::new(media, BLOCK, true);
        let mut performer = Performer::format(shape.top()).unwrap();
        settle(&mut performer, &mut store);
        let mut newest = vec![0; shape.layer().unwrap().capacity() as usize];
        for id in 1..120 {
            let lba = dice.below(newest.len() as u64);
            let data = content::block(Lba(lba), id, BLOCK);
            // A flush covers what was answered before it.
            for request in [Request::Write(Extent::new(Lba(lba), 1), data), Request::Flush] {
                performer.submit(0, id, request);
                let replies = settle(&mut performer, &mut store);
                assert!(replies.len() == 1 && replies[0].result.is_ok(), "{replies:?}");
            }
            newest[lba as usize] = id;
        }
        let header = |store: &mut Store, at: Pba| decode_block(&read(store, at), None).map(|block| block.header);
        let blocks: Vec<Pba> = journal.iter().flat_map(Extent::iter).collect();
        let durable = blocks.iter().filter_map(|at| header(&mut store, *at)).map(|h| h.durable).max();
        for at in blocks {
            let good = read(&mut store, at);
            let is_newest = header(&mut store, at).map(|h| h.start) >= durable;
            let mut bad = good.to_vec();
            bad[dice.below(BLOCK as u64) as usize] ^= 1 << dice.below(8);
            write(&mut store, at, bad.into());
            let mut performer = Performer::open(shape.top()).unwrap();
            // What recovery writes and resets must not reach the disk, which is damaged again in another place.
            while !performer.is_serving() && performer.dead().is_none() {
                let io = performer.poll_io().unwrap();
                let result = match io.kind {
                    IoKind::Write(..) | IoKind::Reset(_) => IoResult::Done,
                    _ => store.perform(&io.kind).unwrap(),
                };
                performer.complete(io.id, result);
            }
            if let Some(why) = performer.dead() {
                assert!(why.to_string().contains("journal") && journal.len() == 1, "{why}");
                refused += 1;
            } else {
                let may_be_older = is_newest && journal.len() == 1;
                assert!(may_be_older || is_right(&mut performer, &mut store, &newest), "seed {seed}, {at:?}");
                harmless += 1;
                copied += u32::from(journal.len() > 1);
            }
            write(&mut store, at, good);
        }
    }
    assert!(refused > 20 && harmless - copied > 20 && copied > 200, "{refused} refused, {harmless} harmless, {copied}");
}
