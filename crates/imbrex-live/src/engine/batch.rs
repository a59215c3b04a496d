//! Short writes that a frontend has taken from a client together. One thread submits them at once and carries out what
//! the drive is to do, of which there is little where a layer puts them behind each other: so they cost no changes of
//! threads, and one lock for all.
//!
//! That thread does one thing after the other, which keeps a drive waiting that can do several. So this is for stores
//! that leave what is written in the host's memory.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::Bytes;
use imbrex::block::{Extent, Lba};
use imbrex::perform::{Failure, Request};

use super::{Engine, RequestKind, streams, work};

/// How a write of several ended, by its place among them.
pub type Written = (usize, Result<(), Failure>);

impl Engine {
    /// Whether a write can be one of several that are given to [`Engine::write_batch`]: of whole blocks that there are,
    /// short, and to stores that take it into memory.
    #[must_use]
    pub fn may_be_in_batch(&self, offset: u64, len: u64) -> bool {
        let block = u64::from(self.block_bytes);
        let is_whole = offset.is_multiple_of(block) && len.is_multiple_of(block) && len > 0;
        let is_there = offset.checked_add(len).is_some_and(|end| end <= self.capacity() * block);
        let is_cached = || self.shared.members.iter().all(|member| member.is_cached());
        is_whole && is_there && len < streams::LEAST as u64 && is_cached()
    }

    /// Writes what [`Engine::may_be_in_batch`], each a part of `contents` from an offset on. `answer` is told of those
    /// that have ended, as soon as that is known.
    pub fn write_batch(
        &self,
        client: u32,
        contents: &Bytes,
        writes: &[(u64, Range<usize>)],
        answer: &mut dyn FnMut(Vec<Written>),
    ) {
        let (since, steps, _asking) = (Instant::now(), self.shared.steps_now(), self.shared.asking());
        let len = |(_, part): &(u64, Range<usize>)| part.len() as u64;
        let bytes: u64 = writes.iter().map(len).sum();
        let is_ending = self.shared.stopping.load(Ordering::Relaxed);
        if is_ending || !self.shared.may_write(bytes) {
            let refused = if is_ending { Failure::Stopped } else { Failure::Full };
            return answer((0..writes.len()).map(|at| (at, Err(refused.clone()))).collect());
        }
        self.shared.streams.pass();
        let _taken = self.shared.writes.take(bytes);
        let block = u64::from(self.block_bytes);
        let run = |write: &(u64, Range<usize>)| Extent::new(Lba(write.0 / block), (len(write) / block) as u32);
        let mut machine = work::admitted(&self.shared, self.shared.machine(), (bytes / block) as u32);
        // As for a single write: no block may be being read for a change of a part of it.
        while writes.iter().any(|write| machine.is_merging(run(write))) {
            machine = self.shared.wait_for_change(machine);
        }
        let requests = writes.iter().map(|write| {
            let (at, from) = (run(write), write.1.start);
            Request::Batched { at, contents: contents.clone(), from }
        });
        work::submit_all(&self.shared, machine, client, requests, None, &mut |answers| {
            let done = answers.iter().filter(|(_, result)| result.is_ok()).map(|(at, _)| len(&writes[*at])).sum();
            self.shared.traffic.host_written.fetch_add(done, Ordering::Relaxed);
            self.shared.took(RequestKind::Write, since, steps, answers.len());
            answer(answers.into_iter().map(|(at, result)| (at, result.map(drop))).collect());
        });
    }
}
