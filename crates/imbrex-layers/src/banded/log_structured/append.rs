//! Appending the host's blocks to the open bands.

use super::LogStructured;
use super::config::Cooling;
use super::times::Written;
use imbrex_core::block::{Extent, Lba};
use imbrex_core::plan::{Place, Plan, Record, Why};

impl LogStructured {
    /// Plans the record that the blocks of `at`, of the host, lie in the slots from `slot` on, of an open band.
    #[inline]
    pub(super) fn land(&mut self, at: Extent<Lba>, slot: u64, written: Written, plan: &mut Plan) {
        plan.record(Record::Map { at, to: self.bands.block(slot) });
        self.map(at, slot, written);
        let (band, offset) = self.bands.map.locate(slot);
        if offset + at.blocks == self.bands.blocks() {
            self.bands.close(band);
            if let Some(open) = self.open.iter_mut().find(|open| **open == Some(band)) {
                *open = None;
            }
        }
    }

    /// The effect of [`Record::Map`] into a band of data: the blocks of `at` lie in the slots from `slot` on, of one
    /// band.
    #[inline]
    pub(super) fn map(&mut self, at: Extent<Lba>, slot: u64, written: Written) {
        self.bands.wrote(at, slot);
        self.bands.adopt(at, slot, written);
        self.lost.remove(at);
    }

    /// The effect of [`Record::Unmap`].
    pub(super) fn unmap(&mut self, at: Extent<Lba>) {
        self.bands.remove(at);
        self.bands.cool(at, Cooling::Reset);
        self.lost.remove(at);
    }

    /// Plans that the front of `at` is appended to the open bands, as far as there is room.
    #[inline]
    pub(super) fn append(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        let mut done = 0;
        while done < at.blocks {
            let rest = at.skip(done);
            if self.cached.is_some() && self.bands.in_memory(rest.first(1), false) == 0 {
                break;
            }
            let stream = self.bands.stream_of(rest.start, 1);
            let Some((slot, room)) = self.room(stream) else { break };
            let room = if self.cached.is_some() { self.room_in_memory(rest, slot, room) } else { room };
            if room == 0 {
                break;
            }
            let run = self.of_stream(rest.first(room), stream);
            plan.copy(Place::Host(done), Place::At(self.bands.block(slot)), run.blocks, Why::Host);
            self.bands.known.times.pass(run.blocks);
            self.bands.overwrite(run);
            self.shares.add(stream, run.blocks);
            self.bands.known.flowed(stream, run.blocks);
            self.land(run, slot, Written::Now, plan);
            done += run.blocks;
        }
        if done == 0 && self.cached.is_some() {
            self.remember_stream(at.start);
        }
        done
    }

    /// The front of `at` that belongs to a stream, as its first block does.
    #[inline]
    fn of_stream(&self, at: Extent<Lba>, stream: u8) -> Extent<Lba> {
        if self.bands.separation().streams() == 1 {
            return at;
        }
        let at = at.first(at.blocks.min(u32::try_from(self.bands.known.until_concluded()).unwrap_or(u32::MAX)));
        let mut own = self.bands.alike(at);
        while own < at.blocks {
            let rest = at.skip(own);
            if self.bands.stream_of(rest.start, own + 1) != stream {
                break;
            }
            own += self.bands.alike(rest);
        }
        at.first(own)
    }
}
