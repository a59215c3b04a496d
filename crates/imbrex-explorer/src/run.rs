//! One run: a disk, a layer, a workload and bad luck.

mod requests;

use std::collections::BTreeMap;

use bytes::Bytes;

use super::clients::{Clients, FlushMust};
use super::content::{BLOCK, SECTOR};
use super::defect::{Defect, Stuck};
use super::devices::Devices;
use super::dice::Dice;
use super::model::Model;
use super::{Finding, Subject, Tally};
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_engine::rules::Rules;
use imbrex_engine::{Counts, Io, IoKind, IoResult, Reply, Request, Stack};
use requests::Asked;

/// Epochs that may end while one block is read back.
const EPOCHS: u32 = 8;
/// Requests between two cuts.
const MOST_REQUESTS: u32 = 10_000;
/// Operations of one performer after which something must be wrong.
pub(super) const STUCK: u64 = 100_000;

pub(super) struct Run {
    pub dice: Dice,
    pub devices: Box<dyn Devices>,
    /// Where the journal of each drive lies.
    pub journals: Vec<Vec<Extent<Pba>>>,
    pub performer: Stack,
    /// Operations under way, and the drives they are for.
    pool: Vec<(usize, Io)>,
    pub model: Model,
    asked: BTreeMap<u64, Asked>,
    pub next_id: u64,
    /// Blocks that the host sees for good.
    pub capacity: u64,
    /// Whether the layer is asked to grow now and then.
    grows: bool,
    /// Where sequential writing goes on.
    cursor: u64,
    /// One in how many operations fails; 0 for none.
    pub fault_rate: u64,
    /// Places that were made unreadable, by drive, and the blocks whose content they held.
    pub spoilt: BTreeMap<(usize, Pba), Lba>,
    /// How many operations may fail while the performer recovers: it gives a drive up that fails again and again. None
    /// before it has served, since a store that was not formatted to the end is none.
    pub recovery_faults: u32,
    pub worn_out: bool,
    /// The clients of this performer.
    clients: Clients,
    /// What this performer has counted so far.
    seen: Counts,
    pub tally: Tally,
}

/// Explores what `dice` decide; `seed` is for the report.
pub(super) fn run(subject: &Subject, seed: u64, rules: Rules, mut dice: Dice) -> Result<Tally, Finding> {
    let finding = |defect: Defect, described: &str, tally: Tally| {
        let Tally { cuts, operations, .. } = tally;
        let what = if described.is_empty() { defect.to_string() } else { format!("{defect}; {described}") };
        Finding { subject: subject.name.clone(), seed, cuts, operations, what, defect }
    };
    let made = (subject.devices)(rules, &mut dice);
    let mut devices = made.map_err(|e| finding(e.into(), "", Tally::default()))?;
    let formatted = devices.format(&mut dice);
    let described = devices.describe();
    let performer = formatted.map_err(|e| finding(e.into(), &described, Tally::default()))?;
    let fault_rate = *dice.pick(&[0, 0, 40, 150]);
    let mut run = Run {
        dice,
        journals: (0..devices.drives()).map(|drive| devices.journal(drive)).collect(),
        capacity: devices.capacity(),
        grows: devices.media(0).realms().is_some(),
        performer,
        pool: Vec::new(),
        model: Model::new(BLOCK / SECTOR, devices.unwritten()),
        devices,
        asked: BTreeMap::new(),
        next_id: 0,
        cursor: 0,
        fault_rate,
        spoilt: BTreeMap::new(),
        recovery_faults: 0,
        worn_out: false,
        clients: Clients::new(),
        seen: Counts::default(),
        tally: Tally { runs: 1, ..Tally::default() },
    };
    match run.go() {
        Ok(()) => Ok(run.tally),
        Err(defect) => Err(finding(defect, &described, run.tally)),
    }
}

impl Run {
    fn go(&mut self) -> Result<(), Defect> {
        self.start(false)?;
        while self.tally.cuts < self.devices.cuts() && !self.dice.is_used_up() {
            self.live()?;
            self.clean_all()?;
            self.cut()?;
            self.verify()?;
        }
        Ok(())
    }

    /// Runs the workload until it is time for the next cut.
    fn live(&mut self) -> Result<(), Defect> {
        let depth = self.dice.between(1, 12) as usize;
        let longest = *self.dice.pick(&[30, 120, 600]);
        let mut operations = self.dice.between(1, longest);
        if self.dice.one_in(2) {
            self.bound_steps();
        }
        // A disk that is worn out before it holds anything answers without doing anything.
        let mut requests = MOST_REQUESTS;
        while operations > 0 && requests > 0 {
            if self.asked.len() < depth && (self.pool.is_empty() || self.dice.one_in(2)) {
                self.ask();
                requests -= 1;
            } else if self.dice.one_in(20) {
                self.clean_ahead();
            } else if self.dice.one_in(100) {
                self.bound_steps();
            } else if self.grows && self.dice.one_in(12) {
                self.grow()?;
            } else if self.dice.one_in(200) {
                self.devices.damage(&mut self.dice);
            }
            if self.step()? {
                operations -= 1;
            } else if self.asked.len() >= depth {
                return Err(Defect::Stuck(Stuck::Requests));
            }
        }
        Ok(())
    }

    /// Carries one device operation out and takes the replies; whether there was one.
    pub(super) fn step(&mut self) -> Result<bool, Defect> {
        while let Some(io) = self.performer.poll_io() {
            self.pool.push(io);
        }
        self.take_replies()?;
        if self.pool.is_empty() {
            return Ok(false);
        }
        let (drive, io) = self.pool.swap_remove(self.dice.below(self.pool.len() as u64) as usize);
        let result = self.carry_out(drive, &io.kind)?;
        self.tally.operations += 1;
        self.performer.complete(io.id, result);
        self.take_replies()?;
        if let Some(why) = self.performer.dead() {
            return Err(Defect::GivenUp(why.clone()));
        }
        if self.dice.one_in(4) {
            self.performer.check()?;
        }
        Ok(true)
    }

    /// Notices what the performer counted since last asked.
    fn notice(&mut self) {
        let counts = self.performer.counts();
        self.tally.commits += counts.commits - self.seen.commits;
        self.tally.checkpoints += counts.checkpoints - self.seen.checkpoints;
        self.tally.replayed += counts.replayed - self.seen.replayed;
        self.tally.rebuilds += counts.rebuilds - self.seen.rebuilds;
        if counts.rebuilds > self.seen.rebuilds {
            self.clients.epoch_ended(self.model.has_unflushed);
            self.model.epoch_ended();
            for asked in self.asked.values_mut() {
                match asked {
                    Asked::Flush { must, reports, .. } => {
                        *must = FlushMust::Fails;
                        reports.take().into_iter().for_each(|(client, must)| self.clients.not_reported(client, must));
                    }
                    Asked::Read(expected, _) => expected.iter_mut().for_each(|e| self.model.doubt(e)),
                    Asked::Write(..) | Asked::Trim(_) => {}
                }
            }
        }
        self.seen = counts;
    }

    fn take_replies(&mut self) -> Result<(), Defect> {
        // A request may end an epoch, too: of what a device below knows that it is lost, the answer comes at once.
        self.notice();
        while let Some(Reply { id, result }) = self.performer.poll_reply() {
            let Some(asked) = self.asked.remove(&id) else { return Err(Defect::AnsweredTwice { id }) };
            self.tally.requests += 1;
            self.answered(asked, result)?;
        }
        Ok(())
    }

    /// Cuts the power, perhaps again during recovery.
    fn cut(&mut self) -> Result<(), Defect> {
        loop {
            self.drop_power();
            self.performer = self.devices.open(&mut self.dice)?;
            self.seen = Counts::default();
            if self.start(true)? {
                return Ok(());
            }
            self.tally.cuts_in_recovery += 1;
        }
    }

    fn drop_power(&mut self) {
        self.take_replies_before_the_cut();
        while let Some(io) = self.performer.poll_io() {
            self.pool.push(io);
        }
        // What was under way may have reached the cache.
        while !self.pool.is_empty() {
            let (drive, io) = self.pool.swap_remove(self.dice.below(self.pool.len() as u64) as usize);
            let arrives = self.dice.one_in(2) && !matches!(io.kind, IoKind::Flush);
            if arrives && self.devices.perform(drive, &io.kind).is_err() {
                // Operations that wait for one another are never under way together, so this cannot be; a rule that is
                // switched off makes it so, and then the disk simply refuses.
            }
        }
        self.devices.cut(&mut self.dice);
        self.tally.cuts += 1;
        self.asked.clear();
        self.clients = Clients::new();
        self.model.cut();
    }

    /// Replies that are ready have been seen by the clients.
    fn take_replies_before_the_cut(&mut self) {
        while let Some(Reply { id, result }) = self.performer.poll_reply() {
            if let Some(asked) = self.asked.remove(&id) {
                // A wrong answer here is found by reading back.
                let _ = self.answered(asked, result);
            }
        }
    }

    /// Lets recovery run to its end, unless the power is cut first; whether it came to its end.
    fn start(&mut self, may_be_cut: bool) -> Result<bool, Defect> {
        let cut_after = if may_be_cut && self.dice.one_in(4) { self.dice.between(0, 12) } else { STUCK };
        let mut steps = 0;
        while !self.performer.is_serving() {
            if steps == cut_after {
                return Ok(false);
            }
            if !self.step()? {
                return Err(Defect::Stuck(Stuck::Recovery));
            }
            steps += 1;
        }
        Ok(true)
    }

    /// Reads everything back.
    fn verify(&mut self) -> Result<(), Defect> {
        self.performer.check()?;
        for lba in (0..self.capacity).map(Lba) {
            let expected = self.model.expect(lba);
            let mut content = self.read_back(lba)?;
            let mut epochs = 0;
            while self.performer.counts().rebuilds > self.seen.rebuilds && epochs < EPOCHS {
                // What failed may be another block's, which made room for this one; in a stack on more than one level.
                self.notice();
                content = self.read_back(lba)?;
                epochs += 1;
            }
            self.model.check_read(&expected, u64::MAX, content.as_deref())?;
            self.model.settle(lba, content.as_deref());
            if self.devices.copies_outlive_epochs() && self.is_spoilt(lba) {
                self.model.unreadable(lba, self.next_id + 1);
            }
        }
        Ok(())
    }

    /// Whether a place still cannot be read that held the block.
    fn is_spoilt(&mut self, lba: Lba) -> bool {
        let places = self.spoilt.iter().filter(|(_, of)| **of == lba).map(|(place, _)| *place);
        let places: Vec<(usize, Pba)> = places.collect();
        places.into_iter().any(|(drive, place)| {
            let read = self.devices.perform(drive, &IoKind::Read(Extent::new(place, 1)));
            matches!(read, Ok(IoResult::Failed))
        })
    }

    fn read_back(&mut self, lba: Lba) -> Result<Option<Bytes>, Defect> {
        let id = self.next_id;
        self.next_id += 1;
        self.clients.asks(0);
        self.performer.submit(0, id, Request::Read(Extent::new(lba, 1)));
        loop {
            if let Some(Reply { result, .. }) = self.performer.poll_reply() {
                return Ok(result.ok());
            }
            // Fetched one at a time: only this read matters, whatever else recovery still does in the background. What was
            // fetched before may be pages of the map that it waits for.
            let Some((drive, io)) = self.performer.poll_io().or_else(|| self.pool.pop()) else {
                return Err(Defect::Stuck(Stuck::Read(lba)));
            };
            let result = self.perform(drive, &io.kind)?;
            self.performer.complete(io.id, result);
        }
    }
}
