//! What every block may read as.
//!
//! A block's known state is what it held at the last point where that was certain: after a power cut, or a flush that
//! covered its newest write. Later writes are possible states until a flush covers them. While nothing went wrong a
//! read must give the newest write that was answered; after a failure or a cut, each sector the known state or any
//! later one.

use std::collections::{BTreeMap, BTreeSet};

use super::content::{Sector, sectors};
use super::defect::Defect;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::Unwritten;

#[derive(Clone, Debug)]
struct Block {
    /// The certain version of each sector; 0 is what it held before the first one.
    known: Vec<u64>,
    /// What each sector was seen to hold before the first version.
    unwritten: Vec<Option<Sector>>,
    /// Versions written since, oldest first; 0 for a trim.
    later: Vec<u64>,
    /// The newest version that was answered with success.
    answered: Option<u64>,
    /// Whether a failure means that the newest answered version need not be there.
    doubtful: bool,
    /// Whether the block may read as zeros because it was trimmed.
    trimmed: bool,
    /// Whether it may if the writes since the trim are lost.
    trimmed_before: bool,
    /// Set when a place that held the block became unreadable: the first version that was not begun then. The block may
    /// be lost until that or a later version is flushed.
    unreadable: Option<u64>,
}

/// What a read may give.
pub(super) struct Expected {
    lba: Lba,
    /// The versions each sector may hold.
    sectors: Vec<Vec<u64>>,
    /// Whether zeros will do, whatever the block held.
    zero: bool,
}

impl Expected {
    /// These blocks are about to be zeros.
    pub fn may_become_zeros(&mut self, at: Extent<Lba>) {
        self.zero |= at.contains(self.lba);
    }
}

/// The model of all blocks.
pub(super) struct Model {
    blocks: BTreeMap<Lba, Block>,
    sectors: usize,
    /// The versions that are zeros.
    zeros: BTreeSet<u64>,
    /// What the layer says of blocks that were never written.
    unwritten: Unwritten,
    /// Blocks that a request under way writes or trims.
    pub busy: BTreeSet<Lba>,
    /// Whether a write was answered since the last flush was: that flush does not cover it.
    pub has_unflushed: bool,
}

/// What a flush covers: the newest answered version of blocks when it was submitted.
pub(super) type Covered = Vec<(Lba, u64)>;

/// Versions that will do, for a report.
fn versions(of: &[u64]) -> String {
    let all: Vec<_> = of.iter().map(u64::to_string).collect();
    all.join(" or ")
}

impl Model {
    pub fn new(sectors: usize, unwritten: Unwritten) -> Self {
        let (blocks, zeros, busy) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { blocks, sectors, zeros, unwritten, busy, has_unflushed: false }
    }

    fn block(&mut self, lba: Lba) -> &mut Block {
        let sectors = self.sectors;
        self.blocks.entry(lba).or_insert_with(|| Block {
            known: vec![0; sectors],
            unwritten: vec![None; sectors],
            later: Vec::new(),
            answered: None,
            doubtful: false,
            trimmed: false,
            trimmed_before: false,
            unreadable: None,
        })
    }

    pub fn write_begins(&mut self, at: Extent<Lba>, version: u64) {
        for lba in at.iter() {
            self.block(lba).later.push(version);
            self.busy.insert(lba);
        }
    }

    /// A write of zeros begins.
    pub fn zeros_begin(&mut self, at: Extent<Lba>, version: u64) {
        self.zeros.insert(version);
        self.write_begins(at, version);
    }

    pub fn write_ends(&mut self, at: Extent<Lba>, version: u64, success: bool) {
        self.has_unflushed |= success;
        for lba in at.iter() {
            self.busy.remove(&lba);
            let block = self.block(lba);
            if success {
                block.answered = Some(version);
                block.doubtful = false;
                block.trimmed_before |= std::mem::take(&mut block.trimmed);
            } else {
                block.doubtful = true;
            }
        }
    }

    pub fn trim_begins(&mut self, at: Extent<Lba>) {
        for lba in at.iter() {
            let block = self.block(lba);
            block.trimmed = true;
            block.later.push(0);
            self.busy.insert(lba);
        }
    }

    pub fn trim_ends(&mut self, at: Extent<Lba>) {
        at.iter().for_each(|lba| {
            self.busy.remove(&lba);
        });
    }

    pub fn flush_begins(&self) -> Covered {
        let certain = self.blocks.iter().filter(|(_, block)| !block.doubtful);
        certain.filter_map(|(lba, block)| Some((*lba, block.answered?))).collect()
    }

    pub fn flush_ends(&mut self, covered: &Covered) {
        self.has_unflushed = false;
        for &(lba, version) in covered {
            let block = self.block(lba);
            let Some(at) = block.later.iter().position(|later| *later == version) else { continue };
            block.known.fill(version);
            block.later.drain(..=at);
            block.trimmed_before &= block.later.contains(&0);
            block.unreadable = block.unreadable.filter(|first| version < *first);
        }
    }

    /// A layer's epoch ended: what was not flushed may be gone.
    pub fn epoch_ended(&mut self) {
        self.has_unflushed = false;
        for block in self.blocks.values_mut().filter(|block| !block.later.is_empty()) {
            block.doubtful = true;
        }
    }

    pub fn unreadable(&mut self, lba: Lba, next_version: u64) {
        self.block(lba).unreadable = Some(next_version);
    }

    /// What a read of the block that is submitted now may give, writes that begin later aside.
    pub fn expect(&mut self, lba: Lba) -> Expected {
        let busy = self.busy.contains(&lba);
        let block = self.block(lba);
        let newest = block.later.iter().copied().rfind(|later| *later > 0);
        let sector = |known: &u64| {
            if block.doubtful || busy {
                block.later.iter().copied().chain([*known]).collect()
            } else {
                vec![newest.unwrap_or(*known)]
            }
        };
        let zero = block.trimmed || (block.trimmed_before && (block.doubtful || busy));
        Expected { lba, sectors: block.known.iter().map(sector).collect(), zero }
    }

    /// A layer's epoch ended while the read was under way: it may give what was not flushed, or not.
    pub fn doubt(&self, expected: &mut Expected) {
        if let Some(block) = self.blocks.get(&expected.lba) {
            expected.zero |= block.trimmed_before;
            for (sector, known) in expected.sectors.iter_mut().zip(&block.known) {
                sector.extend(block.later.iter().chain([known]));
            }
        }
    }

    /// Checks what a read gave. `content` is `None` for an error; versions from `begun` on were written after the read
    /// was submitted.
    pub fn check_read(&mut self, expected: &Expected, begun: u64, content: Option<&[u8]>) -> Result<(), Defect> {
        let lba = expected.lba;
        let Some(content) = content else {
            let may_be_lost = self.blocks.get(&lba).is_some_and(|block| block.unreadable.is_some());
            return if may_be_lost { Ok(()) } else { Err(Defect::Unreadable(lba)) };
        };
        for (i, sector) in sectors(content).enumerate() {
            let wrong = |holds: String| Err(Defect::Content { lba, sector: i, holds });
            match sector {
                Sector::Version { lba: of, version } if of == lba => {
                    if !expected.sectors[i].contains(&version) && version < begun {
                        return wrong(format!("version {version}, not {}", versions(&expected.sectors[i])));
                    }
                }
                Sector::Zero if self.may_be_trimmed(expected) || self.may_be_zeros(expected, i, begun) => {}
                _ if !self.unwritten.allows(sector == Sector::Zero, matches!(sector, Sector::Old { .. })) => {
                    return wrong(sector.to_string());
                }
                _ if !expected.sectors[i].contains(&0) => {
                    return wrong(format!("{sector}, not version {}", versions(&expected.sectors[i])));
                }
                _ => {
                    let seen = *self.block(lba).unwritten[i].get_or_insert(sector);
                    if seen != sector {
                        return wrong(format!("{sector}, and before held {seen}, yet was never written"));
                    }
                }
            }
        }
        Ok(())
    }

    fn may_be_trimmed(&self, expected: &Expected) -> bool {
        expected.zero || self.blocks.get(&expected.lba).is_some_and(|block| block.trimmed)
    }

    /// Whether a version that a sector may hold is zeros, or one that was begun later.
    fn may_be_zeros(&self, expected: &Expected, sector: usize, begun: u64) -> bool {
        let later = self.blocks.get(&expected.lba).into_iter().flat_map(|block| &block.later).copied();
        let mut versions = later.filter(|version| *version >= begun).chain(expected.sectors[sector].iter().copied());
        versions.any(|version| self.zeros.contains(&version))
    }

    /// After a cut: requests under way are gone, and any state since the known one is possible.
    pub fn cut(&mut self) {
        self.has_unflushed = false;
        self.busy.clear();
        self.blocks.values_mut().for_each(|block| block.doubtful = true);
    }

    /// After a cut, what was read is what the block is.
    pub fn settle(&mut self, lba: Lba, content: Option<&[u8]>) {
        let Some(content) = content else { return };
        if !self.blocks.contains_key(&lba) {
            return;
        }
        let zeros = std::mem::take(&mut self.zeros);
        let block = self.block(lba);
        for (i, sector) in sectors(content).enumerate() {
            let zero =
                || block.later.iter().rev().chain([&block.known[i]]).find(|version| zeros.contains(version)).copied();
            block.known[i] = match sector {
                Sector::Version { version, .. } => version,
                Sector::Zero => zero().unwrap_or(0),
                Sector::Old { .. } | Sector::Foreign => 0,
            };
            if block.known[i] == 0 {
                block.unwritten[i] = Some(sector);
            }
        }
        block.later.clear();
        block.answered = None;
        block.doubtful = false;
        block.trimmed = (block.trimmed || std::mem::take(&mut block.trimmed_before)) && block.known.contains(&0);
        block.unreadable = None;
        self.zeros = zeros;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{self, SECTOR};

    const LBA: Lba = Lba(3);

    fn reads(model: &mut Model, content: &[u8]) -> Result<(), Defect> {
        let expected = model.expect(LBA);
        model.check_read(&expected, u64::MAX, Some(content))
    }

    #[test]
    fn what_was_never_written_reads_the_same_each_time_and_is_nobody_elses() {
        let (here, there) = (content::old(7, 1, SECTOR), content::old(8, 1, SECTOR));
        let (zeros, other) = ([0; SECTOR], content::block(Lba(4), 1, SECTOR));
        let mut model = Model::new(1, Unwritten::OldContent);
        assert!(reads(&mut model, &other).is_err() && reads(&mut model, &[0xdb; SECTOR]).is_err());
        assert!(reads(&mut model, &here).is_ok() && reads(&mut model, &here).is_ok());
        assert!(reads(&mut model, &there).is_err() && reads(&mut model, &zeros).is_err());
        let mut strict = Model::new(1, Unwritten::Zeros);
        assert!(reads(&mut strict, &here).is_err() && reads(&mut strict, &zeros).is_ok());
    }

    #[test]
    fn what_was_written_never_reads_as_what_was_there_before() {
        let mut model = Model::new(1, Unwritten::OldContent);
        let at = Extent::new(LBA, 1);
        model.write_begins(at, 1);
        model.write_ends(at, 1, true);
        let covered = model.flush_begins();
        model.flush_ends(&covered);
        let old = content::old(7, 1, SECTOR);
        assert!(reads(&mut model, &content::block(LBA, 1, SECTOR)).is_ok() && reads(&mut model, &old).is_err());
        model.trim_begins(at);
        model.trim_ends(at);
        assert!(reads(&mut model, &[0; SECTOR]).is_ok() && reads(&mut model, &old).is_err());
    }

    #[test]
    fn zeros_that_were_flushed_stay_and_others_may_be_lost() {
        let (at, written, zeros) = (Extent::new(LBA, 1), content::block(LBA, 1, SECTOR), [0; SECTOR]);
        let zeroed = |flushed: bool| {
            let mut model = Model::new(1, Unwritten::Zeros);
            model.write_begins(at, 1);
            model.write_ends(at, 1, true);
            let covered = model.flush_begins();
            model.flush_ends(&covered);
            assert!(reads(&mut model, &zeros).is_err(), "not yet");
            model.zeros_begin(at, 2);
            assert!(reads(&mut model, &written).is_ok() && reads(&mut model, &zeros).is_ok(), "under way");
            model.write_ends(at, 2, true);
            assert!(model.has_unflushed, "it is lost like a write");
            assert!(reads(&mut model, &written).is_err() && reads(&mut model, &zeros).is_ok());
            if flushed {
                let covered = model.flush_begins();
                model.flush_ends(&covered);
            }
            model.cut();
            model
        };
        let mut lost = zeroed(false);
        assert!(reads(&mut lost, &written).is_ok() && reads(&mut lost, &zeros).is_ok());
        lost.settle(LBA, Some(&zeros));
        assert!(reads(&mut lost, &written).is_err() && reads(&mut lost, &zeros).is_ok(), "as it was seen");
        let mut kept = zeroed(true);
        assert!(reads(&mut kept, &written).is_err() && reads(&mut kept, &zeros).is_ok());
    }

    #[test]
    fn a_write_that_is_lost_may_leave_what_was_trimmed_before_it() {
        let (at, old, zeros) = (Extent::new(LBA, 1), content::old(7, 1, SECTOR), [0; SECTOR]);
        let trimmed_and_written = || {
            let mut model = Model::new(1, Unwritten::OldContent);
            assert!(reads(&mut model, &old).is_ok());
            model.trim_begins(at);
            model.trim_ends(at);
            model.write_begins(at, 1);
            model.write_ends(at, 1, true);
            assert!(reads(&mut model, &zeros).is_err(), "nothing was lost");
            model
        };
        let mut cut = trimmed_and_written();
        cut.cut();
        assert!(reads(&mut cut, &zeros).is_ok());
        let mut flushed = trimmed_and_written();
        let covered = flushed.flush_begins();
        flushed.flush_ends(&covered);
        flushed.cut();
        assert!(reads(&mut flushed, &zeros).is_err(), "a flush covers the write");
    }
}
