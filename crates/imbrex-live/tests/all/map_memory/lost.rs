//! Blocks that cannot be read, of a log with pages of its map on the drive: as many as its journal records, and more.

use std::collections::BTreeSet;

use super::*;
use imbrex::layer::UnitReport;
use imbrex::media::Media;
use imbrex::plan::Unit;
use imbrex::recording::Recording;
use imbrex_live::store::{Store, StoreError};

/// Blocks of which the journal records that they are lost.
const MOST: usize = 4096;

/// A store of which some blocks cannot be read.
struct Failing {
    below: Arc<dyn Store>,
    bad: BTreeSet<Pba>,
}

impl Store for Failing {
    fn block_bytes(&self) -> u32 {
        self.below.block_bytes()
    }
    fn recording(&self) -> Recording {
        self.below.recording()
    }
    fn media(&self) -> Box<dyn Media> {
        self.below.media()
    }
    fn read(&self, at: Extent<Pba>) -> Result<Bytes, StoreError> {
        match self.bad.range(at.start..at.end()).next() {
            Some(_) => Err(StoreError::Io { doing: "read".to_owned(), source: std::io::Error::other("a bad block") }),
            None => self.below.read(at),
        }
    }
    fn write(&self, at: Extent<Pba>, content: &Bytes) -> Result<(), StoreError> {
        self.below.write(at, content)
    }
    fn reset(&self, unit: Unit) -> Result<(), StoreError> {
        self.below.reset(unit)
    }
    fn flush(&self) -> Result<(), StoreError> {
        self.below.flush()
    }
    fn report(&self) -> Result<UnitReport, StoreError> {
        self.below.report()
    }
}

/// The volume, of which the first blocks that lie somewhere cannot be read.
fn failing(path: &Path, bad: usize) -> Volume {
    let places = Mapped::of(&mut offline::layers(&opened(path)).unwrap()[0]).runs;
    let bad = places.iter().flat_map(|run| run.at.iter()).take(bad).collect();
    Volume::open(vec![Arc::new(Failing { below: store_path::open(path).unwrap(), bad })]).unwrap()
}

#[test]
fn more_lost_blocks_than_the_journal_records_are_refused_and_nothing_else_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.img");
    let mut prepared = store_path::prepare(&path, Some(&drive()), false).unwrap();
    prepared.make().unwrap();
    let greedy = layers::find("log-greedy").unwrap();
    volume::format(vec![prepared.store()], &options(greedy, &toml::Table::new(), Some(FOUR))).unwrap();
    prepared.keep();
    let mut solo = opened(&path).solo().unwrap();
    let content = |part: u64| Bytes::from(vec![1 + part as u8; 4096 * 256]);
    (0..20).for_each(|part| drop(solo.call(Request::Write(Extent::new(Lba(256 * part), 256), content(part))).unwrap()));
    solo.call(Request::Flush).unwrap();
    drop(solo);
    // Nothing of it goes on record.
    let volume = failing(&path, MOST + 1);
    let checked = offline::check(&volume, true);
    assert_eq!(checked.unreadable[0].len(), MOST + 1);
    let why = offline::repair(&volume, &checked).unwrap_err().to_string();
    assert!(why.contains("no room to record that it is lost beside 4096"), "{why}");
    drop(volume);
    let whole = offline::check(&opened(&path), true);
    assert!(whole.problems.is_empty() && whole.mapped_blocks + whole.lost_blocks == 20 * 256, "{whole:?}");
    let volume = failing(&path, MOST - whole.lost_blocks as usize);
    let checked = offline::check(&volume, true);
    offline::repair(&volume, &checked).unwrap();
    let again = offline::check(&volume, true);
    assert!(again.problems.is_empty() && again.lost_blocks == MOST as u64, "{again:?}");
    let mut solo = volume.solo().unwrap();
    assert!(solo.call(Request::Read(Extent::new(Lba(0), 1))).is_err());
    assert_eq!(solo.call(Request::Read(Extent::new(Lba(19 * 256), 256))).unwrap(), content(19));
}
