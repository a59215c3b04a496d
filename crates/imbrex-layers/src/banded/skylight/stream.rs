//! Streams: what tells them from other writes, and the RAM in which one gathers over a band that is written already.

use super::Skylight;
use crate::parts::buffered_blocks::Slots;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::plan::{Event, Place, Plan, Why};

/// The run of blocks that the last writes form.
#[derive(Default)]
pub struct Detector {
    next: Lba,
    blocks: u64,
}

impl Detector {
    /// The length of the sequential run that `at` ends.
    pub fn run_with(&self, at: Extent<Lba>) -> u64 {
        let before = if at.start == self.next { self.blocks } else { 0 };
        before + u64::from(at.blocks)
    }

    /// Blocks have been written.
    pub fn took(&mut self, at: Extent<Lba>) {
        self.blocks = self.run_with(at);
        self.next = at.end();
    }
}

/// The front of a band, gathered in RAM.
pub struct Stream {
    pub band: u32,
    /// Blocks gathered so far, from the band's start.
    pub gathered: u32,
    /// The RAM block of the band's first.
    pub ram: u32,
}

impl Skylight {
    /// Blocks that lie in RAM only, for which slots are kept free.
    pub fn reserved(&self) -> u32 {
        let gathered = self.stream.as_ref().map_or(0, |stream| stream.gathered);
        gathered + self.job.as_ref().filter(|job| job.volatile).map_or(0, |job| job.end)
    }

    /// Whether a block that is not part of a stream can be taken: a slot and an entry are free beside those that are
    /// kept for what lies in RAM. What gathers may need two entries, since the log's end parts it.
    pub fn has_room(&self) -> bool {
        let entries = if self.stream.is_some() { 2 } else { 0 };
        self.cache.has_entry(entries) && self.cache.room(self.reserved(), 1) > 0
    }

    /// Plans a write of blocks of one band that belong to a stream, past the cache: behind the band's write pointer, or
    /// into RAM if the stream begins the band. None if neither can be.
    pub fn write_stream(&mut self, run: Extent<Lba>, host: u32, plan: &mut Plan) -> Option<u32> {
        let (band, offset) = self.home.locate(run.start);
        if self.job.as_ref().is_some_and(|job| job.band == band) {
            return None;
        }
        if self.home.appends_at(band) == Some(offset) {
            let place = self.home.content(band).0;
            plan.copy(Place::Host(host), Place::At(place).continued(offset), run.blocks, Why::Host);
            self.home.advance(band, run.blocks);
            self.blocks.forget(run, &mut self.cache, plan);
            plan.count(Event::Direct, run.blocks);
            return Some(run.blocks);
        }
        let fits = u64::from(self.home.length(band)) * 4 <= u64::from(self.cache.table().slots());
        if offset > 0 || !fits || !self.home.can_rewrite(band) {
            return None;
        }
        if self.stream.as_ref().is_some_and(|stream| self.is_whole(stream)) {
            return Some(0);
        }
        self.spill(plan);
        let ram = if self.job.as_ref().is_some_and(|job| job.ram == 0) { self.home.longest() } else { 0 };
        self.stream = Some(Stream { band, gathered: 0, ram });
        Some(self.gather(run, host, plan))
    }

    /// Plans that as many blocks of `run`, which continues the stream that gathers, as slots can be kept for go into
    /// RAM.
    pub fn gather(&mut self, run: Extent<Lba>, host: u32, plan: &mut Plan) -> u32 {
        let room = self.cache.room(self.reserved(), run.blocks);
        let Some(stream) = &mut self.stream else { return 0 };
        if room > 0 {
            let ram = Pba::ram(u64::from(stream.ram + stream.gathered));
            plan.copy(Place::Host(host), Place::At(ram), room, Why::Host);
            stream.gathered += room;
        }
        self.promote();
        room
    }

    /// A stream that has gathered its whole band will be written to it, if no other band is being cleaned.
    pub fn promote(&mut self) {
        if self.job.is_none()
            && let Some(stream) = self.stream.take_if(|stream| stream.gathered == self.home.length(stream.band))
        {
            self.begin_stream(&stream);
        }
    }

    fn is_whole(&self, stream: &Stream) -> bool {
        stream.gathered == self.home.length(stream.band)
    }

    /// Plans that what has gathered goes into the cache, where slots were kept for it.
    pub fn spill(&mut self, plan: &mut Plan) {
        let Some(stream) = self.stream.take() else { return };
        let run = self.home.logical(stream.band).first(stream.gathered);
        self.put_all(run, Place::At(Pba::ram(u64::from(stream.ram))), plan);
    }

    /// Where in RAM the first block of `at`, which lies in one band, has its newest content, if it does; and for how
    /// many blocks from there on the answer is the same.
    pub fn in_ram(&self, at: Extent<Lba>) -> (Option<Pba>, u32) {
        let (band, offset) = self.home.locate(at.start);
        if let Some(stream) = self.stream.as_ref().filter(|stream| stream.band == band) {
            return match stream.gathered.saturating_sub(offset) {
                0 => (None, at.blocks),
                left => (Some(Pba::ram(u64::from(stream.ram + offset))), left.min(at.blocks)),
            };
        }
        let Some(job) = self.job.as_ref().filter(|job| job.band == band && job.volatile) else {
            return (None, at.blocks);
        };
        let (from, end) = (u64::from(offset), u64::from(offset + at.blocks));
        let newest = self.copied.contains(from);
        let other =
            if newest { self.copied.next_absent(from, end) } else { self.copied.next(from, end).unwrap_or(end) };
        let same = (other - from) as u32;
        (newest.then_some(Pba::ram(u64::from(job.ram + offset))), same)
    }
}
