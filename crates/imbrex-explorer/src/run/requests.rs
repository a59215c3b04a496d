//! What clients ask for, and what the answers must be.

use bytes::Bytes;

use super::Run;
use crate::clients::FlushMust;
use crate::content::{self, BLOCK};
use crate::defect::Defect;
use crate::model::{Covered, Expected};
use imbrex_core::block::{Extent, Lba};
use imbrex_engine::{Failure, Request};

/// Blocks of a request at most.
const LONGEST: u32 = 6;
/// Blocks of a long trim: twice the longest zone of a drive in memory.
const LONG_TRIM: u64 = 48;

/// The same requests, with the contents of writes in one piece of memory.
fn share_memory(requests: Vec<Request>) -> Vec<Request> {
    let content =
        |request: &Request| if let Request::Write(_, content) = request { content.clone() } else { Bytes::new() };
    let contents = Bytes::from(requests.iter().map(content).collect::<Vec<_>>().concat());
    let mut next = 0;
    let share = |request| match request {
        Request::Write(at, content) => {
            let from = next;
            next += content.len();
            Request::Batched { at, contents: contents.clone(), from }
        }
        other => other,
    };
    requests.into_iter().map(share).collect()
}

/// A request that has not been answered.
pub(super) enum Asked {
    /// What each block may read as, and the first version that was begun later.
    Read(Vec<Expected>, u64),
    Write(Extent<Lba>, u64),
    Trim(Extent<Lba>),
    Flush {
        covered: Covered,
        must: FlushMust,
        /// The client to which the flush reports what was lost, and what it had to give before anything else went
        /// wrong.
        reports: Option<(u32, FlushMust)>,
        /// Blocks that the host saw when it asked: as many are there for good when it succeeds.
        capacity: u64,
    },
}

impl Run {
    /// Submits a request, or a write and what comes together with it.
    pub(super) fn ask(&mut self) {
        let (client, first) = (self.client(), self.next_id);
        let mut together = vec![self.draw(client)];
        while matches!(together.last(), Some(Request::Write(..))) && self.dice.one_in(3) {
            together.push(self.draw(client));
        }
        let together = if first.is_multiple_of(2) { share_memory(together) } else { together };
        self.performer.submit_all(client, first, together);
    }

    /// A request of a client, of which it is noted what the answer must be.
    fn draw(&mut self, client: u32) -> Request {
        let id = self.next_id;
        self.next_id += 1;
        let kind = self.dice.below(100);
        let at = self.place(kind < 30);
        let free = !at.iter().any(|lba| self.model.busy.contains(&lba));
        let (asked, request) = match kind {
            0..75 if free => {
                self.model.write_begins(at, id + 1);
                let data: Vec<Bytes> = at.iter().map(|lba| content::block(lba, id + 1, BLOCK)).collect();
                (Asked::Write(at, id + 1), Request::Write(at, data.concat().into()))
            }
            // Elsewhere zeros are content like any other.
            78..80 if free && self.performer.top().layer().is_some_and(|layer| layer.facts().trims_to_zeros) => {
                let at = self.trimmed(at);
                self.zeros_begin(at);
                self.model.zeros_begin(at, id + 1);
                (Asked::Write(at, id + 1), Request::Zero(at))
            }
            75..80 if free => {
                let at = self.trimmed(at);
                self.zeros_begin(at);
                self.model.trim_begins(at);
                (Asked::Trim(at), Request::Trim(at))
            }
            80..86 => {
                let (covered, must) = (self.model.flush_begins(), self.clients.flushes(client));
                let capacity = self.seen_capacity();
                (Asked::Flush { covered, must, reports: Some((client, must)), capacity }, Request::Flush)
            }
            86..88 => {
                let (covered, ended) = (self.model.flush_begins(), u64::from(self.dice.one_in(4)));
                let epoch = self.seen.rebuilds.saturating_sub(ended);
                let must = if epoch < self.seen.rebuilds { FlushMust::Fails } else { FlushMust::Succeeds };
                (Asked::Flush { covered, must, reports: None, capacity: 0 }, Request::Fua { epoch })
            }
            _ => (Asked::Read(at.iter().map(|lba| self.model.expect(lba)).collect(), id + 1), Request::Read(at)),
        };
        self.clients.asks(client);
        self.asked.insert(id, asked);
        request
    }

    /// A read that is under way may give the zeros that a later request leaves, whatever is written before it is answered.
    fn zeros_begin(&mut self, at: Extent<Lba>) {
        for asked in self.asked.values_mut() {
            if let Asked::Read(expected, _) = asked {
                expected.iter_mut().for_each(|block| block.may_become_zeros(at));
            }
        }
    }

    /// Who asks next.
    fn client(&mut self) -> u32 {
        let asked = &self.asked;
        let waits = |client| {
            let reports =
                |asked: &Asked| matches!(asked, Asked::Flush { reports: Some((whom, _)), .. } if *whom == client);
            asked.values().any(reports)
        };
        let (client, gone) = self.clients.next(waits, &mut self.dice);
        gone.into_iter().for_each(|gone| self.performer.forget(gone));
        client
    }

    /// Where the next request goes: on from the last sequential one, or anywhere, more often near the front.
    fn place(&mut self, sequential: bool) -> Extent<Lba> {
        let blocks = self.dice.between(1, LONGEST.into()).min(self.capacity);
        let start = if sequential {
            self.cursor
        } else {
            let range = if self.dice.one_in(3) { self.capacity } else { self.capacity.div_ceil(4) };
            self.dice.below(range)
        };
        let start = if start + blocks > self.capacity { 0 } else { start };
        if sequential {
            self.cursor = start + blocks;
        }
        Extent::new(Lba(start), blocks as u32)
    }

    /// What a client trims who writes `at`: that, or for the longest ones all of a zone and more, which has layers
    /// empty it. Those of disks that grow empty none.
    fn trimmed(&self, at: Extent<Lba>) -> Extent<Lba> {
        if self.grows || at.blocks < LONGEST {
            return at;
        }
        let start = at.start.0.saturating_sub(LONG_TRIM / 2);
        let end = self.capacity.min(start + LONG_TRIM);
        let long = Extent::new(Lba(start), (end - start) as u32);
        if long.iter().any(|lba| self.model.busy.contains(&lba)) { at } else { long }
    }

    /// Holds an answer against what it must be.
    pub(super) fn answered(&mut self, asked: Asked, result: Result<Bytes, Failure>) -> Result<(), Defect> {
        if let Err(failure @ (Failure::OutOfRange | Failure::Dead(_) | Failure::Stopped)) = &result {
            return Err(Defect::Request(failure.clone()));
        }
        if result == Err(Failure::Full) && !self.worn_out {
            return Err(Defect::Full);
        }
        match asked {
            Asked::Read(expected, begun) => match result {
                Ok(data) => {
                    let mut blocks = expected.iter().zip(data.chunks(BLOCK));
                    blocks.try_for_each(|(expected, block)| self.model.check_read(expected, begun, Some(block)))
                }
                Err(_) if self.fault_rate > 0 => Ok(()),
                Err(e) => Err(Defect::Read(e)),
            },
            Asked::Write(at, version) => {
                self.model.write_ends(at, version, result.is_ok());
                Ok(())
            }
            Asked::Trim(at) => {
                self.model.trim_ends(at);
                Ok(())
            }
            Asked::Flush { covered, must, reports, capacity } => match result {
                Ok(_) if must == FlushMust::Fails => Err(Defect::FlushSucceeded),
                Ok(_) => {
                    self.model.flush_ends(&covered);
                    self.capacity = self.capacity.max(capacity);
                    Ok(())
                }
                // The disk is worn out; any other was found out above. Being full reports nothing of what was lost.
                Err(Failure::Full) => Ok(()),
                Err(_) if must > FlushMust::Succeeds => {
                    reports.iter().for_each(|_| self.clients.reported());
                    Ok(())
                }
                Err(e) => Err(Defect::FlushFailed(e)),
            },
        }
    }
}
