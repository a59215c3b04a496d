//! Requests that do not begin or end at block borders: what is beside them in their first and last block is read and
//! written again.

use std::ops::Range;
use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};
use imbrex::block::{Extent, Lba};
use imbrex::perform::{Failure, Request};
use imbrex::plan::{Op, Place, Plan};

use super::intake::Queued;
use super::machine::Shared;
use super::streams::Arrival;
use super::{Engine, RequestKind, streams, work};
use crate::store::Written;

/// The most blocks of one request to the runner.
const MOST_BLOCKS: u64 = 1 << 16;

/// How often a read is repeated while the host has no room.
const READ_TRIES: u32 = 4;

impl Engine {
    /// Reads bytes.
    ///
    /// # Errors
    /// When they lie beyond the device or cannot be read.
    pub fn read_bytes(&self, client: u32, offset: u64, into: &mut [u8]) -> Result<(), Failure> {
        self.shared.timed(RequestKind::Read, || self.read(client, offset, into))
    }

    fn read(&self, client: u32, offset: u64, into: &mut [u8]) -> Result<(), Failure> {
        let _taken = self.shared.reads.take(into.len() as u64);
        let mut done = 0;
        while done < into.len() {
            let at = offset + done as u64;
            let (run, skip) = self.run(at, (into.len() - done) as u64)?;
            let content = self.read_run(client, run)?;
            let part = (content.len() - skip).min(into.len() - done);
            into[done..done + part].copy_from_slice(&content[skip..skip + part]);
            done += part;
        }
        self.shared.traffic.host_read.fetch_add(into.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Reads a run again if that failed because a write that found no room ended an epoch of the layer.
    fn read_run(&self, client: u32, run: Extent<Lba>) -> Result<Bytes, Failure> {
        let mut tries = 0..READ_TRIES;
        loop {
            match self.call(client, Request::Read(run)) {
                Err(Failure::Io) if self.shared.room.is_out() && tries.next().is_some() => {}
                other => return other,
            }
        }
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// When they lie beyond the device or cannot be written.
    pub fn write_bytes(&self, client: u32, offset: u64, bytes: &[u8]) -> Result<(), Failure> {
        self.write_fetched(client, offset, bytes.len(), || Ok(Bytes::copy_from_slice(bytes)))
    }

    /// Writes so many bytes, which `fetch` gives as soon as they may be in memory.
    ///
    /// # Errors
    /// As for [`Engine::write_bytes`], and what `fetch` says.
    pub fn write_fetched(
        &self,
        client: u32,
        offset: u64,
        len: usize,
        fetch: impl FnOnce() -> Result<Bytes, Failure>,
    ) -> Result<(), Failure> {
        self.shared.timed(RequestKind::Write, || self.write(client, offset, len, fetch))
    }

    fn write(
        &self,
        client: u32,
        offset: u64,
        len: usize,
        fetch: impl FnOnce() -> Result<Bytes, Failure>,
    ) -> Result<(), Failure> {
        if !self.shared.may_write(len as u64) {
            return Err(Failure::Full);
        }
        let (mut arrival, queued) = self.arrival(offset, len);
        let _taken = queued.take(len as u64);
        let bytes = fetch()?;
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let (run, skip) = self.run(at, (bytes.len() - done) as u64)?;
            let whole = run.blocks as usize * self.block_bytes as usize;
            let part = (whole - skip).min(bytes.len() - done);
            let content = bytes.slice(done..done + part);
            if part == whole {
                work::call(&self.shared, client, Request::Write(run, content), arrival.take())?;
            } else {
                // The writes that this request waits for must not wait for it.
                drop(arrival.take());
                self.write_part(client, run, skip, &content)?;
            }
            done += part;
        }
        self.shared.traffic.host_written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Takes note of a write, which queues for room in memory; of a long one also where it lies.
    fn arrival(&self, offset: u64, len: usize) -> (Option<Arrival<'_>>, Queued<'_>) {
        let Shared { streams, writes, .. } = &*self.shared;
        if len < streams::LEAST {
            streams.pass();
            return (None, writes.queue());
        }
        let (arrival, queued) = streams.arrive(offset, len as u64, || writes.queue());
        (Some(arrival), queued)
    }

    /// Writes zeros.
    ///
    /// # Errors
    /// When they lie beyond the device or cannot be written.
    pub fn zero_bytes(&self, client: u32, offset: u64, len: u64) -> Result<(), Failure> {
        self.shared.timed(RequestKind::Write, || self.zero(client, offset, len))
    }

    /// Whether zeros in whole blocks take no room and less time than content does: what is trimmed reads so.
    #[must_use]
    pub fn zeros_are_fast(&self) -> bool {
        self.shared.machine().stack.top().facts().trims_to_zeros
    }

    /// Whole blocks become zeros by a trim where the layer can promise that, and the rest is written.
    fn zero(&self, client: u32, offset: u64, len: u64) -> Result<(), Failure> {
        let block = u64::from(self.block_bytes);
        let end = offset.checked_add(len).ok_or(Failure::OutOfRange)?;
        let (first, behind) = (offset.div_ceil(block), end / block);
        if first >= behind || !self.zeros_are_fast() {
            return self.write_zeros(client, offset, len);
        }
        self.write_zeros(client, offset, first * block - offset)?;
        self.give_up(client, first..behind, Request::Zero)?;
        self.shared.traffic.host_written.fetch_add((behind - first) * block, Ordering::Relaxed);
        self.write_zeros(client, behind * block, end - behind * block)
    }

    fn write_zeros(&self, client: u32, offset: u64, len: u64) -> Result<(), Failure> {
        let zeros = Bytes::from(vec![0; len.min(1 << 20) as usize]);
        let mut done = 0;
        while done < len {
            let part = (len - done).min(zeros.len() as u64);
            self.write(client, offset + done, part as usize, || Ok(zeros.slice(..part as usize)))?;
            done += part;
        }
        Ok(())
    }

    /// Forgets the blocks that lie wholly within.
    ///
    /// # Errors
    /// When they lie beyond the device or it fails.
    pub fn trim_bytes(&self, client: u32, offset: u64, len: u64) -> Result<(), Failure> {
        self.shared.timed(RequestKind::Trim, || self.trim(client, offset, len))
    }

    fn trim(&self, client: u32, offset: u64, len: u64) -> Result<(), Failure> {
        let block = u64::from(self.block_bytes);
        self.give_up(client, offset.div_ceil(block)..(offset + len) / block, Request::Trim)
    }

    /// Has blocks trimmed by requests of one kind, and gives the host back the room that they took.
    fn give_up(
        &self,
        client: u32,
        blocks: Range<u64>,
        request: impl Fn(Extent<Lba>) -> Request,
    ) -> Result<(), Failure> {
        let mut first = blocks.start;
        while first < blocks.end {
            let run = Extent::new(Lba(first), (blocks.end - first).min(MOST_BLOCKS) as u32);
            let places = self.places(run);
            self.call(client, request(run))?;
            self.shared.members[0].forget(&places);
            first += u64::from(run.blocks);
        }
        Ok(())
    }

    /// Where blocks lie that are about to be forgotten, where a single store holds what the layer says.
    ///
    /// A block that was forgotten, or is to be zeros, reads so or as its newest content, also if a power cut loses the record
    /// of that.
    /// So its place needs no content from the moment when that is answered, until it is written for another block.
    fn places(&self, run: Extent<Lba>) -> Vec<Written> {
        let [member] = self.shared.members.as_slice() else { return Vec::new() };
        let mut places = Vec::new();
        let mut plan = Plan::new();
        if !self.shared.machine().locate(run, &mut plan) {
            return places;
        }
        for op in plan.ops() {
            if let Op::Move { from: Place::At(at), to: Place::Host(_), blocks, .. } = *op
                && at.device() != 0
            {
                places.extend(member.written(Extent::new(at, blocks)));
            }
        }
        places
    }

    /// Makes everything that was answered durable.
    ///
    /// # Errors
    /// When that failed: what was written since the last flush may be lost.
    pub fn flush(&self, client: u32) -> Result<(), Failure> {
        self.shared.timed(RequestKind::Flush, || self.call(client, Request::Flush).map(drop))
    }

    /// The blocks of the next request for `len` bytes from `offset` on, and how many bytes of the first lie before
    /// `offset`.
    fn run(&self, offset: u64, len: u64) -> Result<(Extent<Lba>, usize), Failure> {
        let block = u64::from(self.block_bytes);
        let end = offset.checked_add(len).ok_or(Failure::OutOfRange)?.div_ceil(block);
        let first = offset / block;
        if end > self.capacity() {
            return Err(Failure::OutOfRange);
        }
        Ok((Extent::new(Lba(first), (end - first).min(MOST_BLOCKS) as u32), (offset % block) as usize))
    }

    /// Writes blocks of which only a part is given, when other writes to any of them are done and before new ones
    /// begin: what is read of the first and the last one would be older.
    fn write_part(&self, client: u32, run: Extent<Lba>, skip: usize, content: &[u8]) -> Result<(), Failure> {
        let mut machine = work::admitted(&self.shared, self.shared.machine(), run.blocks);
        machine.merges_waiting += 1;
        while machine.is_changing(run) {
            machine = self.shared.wait_for_change(machine);
        }
        machine.merges_waiting -= 1;
        machine.merging.push(run);
        drop(machine);
        let written = self.merged(client, run, skip, content).and_then(|merged| {
            let machine = self.shared.machine();
            let (skipped_bytes, given_bytes) = (skip as u64, content.len() as u64);
            let request = Request::Merged { at: run, content: merged, skipped_bytes, given_bytes };
            work::submit(&self.shared, machine, client, request, None)
        });
        self.shared.machine().merging.retain(|other| *other != run);
        self.shared.changed.notify_all();
        written.map(drop)
    }

    /// The blocks of `run` with `content` put into them, `skip` bytes from their start.
    fn merged(&self, client: u32, run: Extent<Lba>, skip: usize, content: &[u8]) -> Result<Bytes, Failure> {
        let block = self.block_bytes as usize;
        let whole = run.blocks as usize * block;
        let one = |lba| self.call(client, Request::Read(Extent::new(lba, 1)));
        let mut merged = BytesMut::with_capacity(whole);
        if skip > 0 {
            merged.extend_from_slice(&one(run.start)?[..skip]);
        }
        merged.extend_from_slice(content);
        if merged.len() < whole {
            let last = one(Lba(run.start.0 + u64::from(run.blocks) - 1))?;
            merged.extend_from_slice(&last[block - (whole - merged.len())..]);
        }
        Ok(merged.freeze())
    }
}
