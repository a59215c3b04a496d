//! Which band a stream writes to that has no open one, where that is not simply an empty one.

use super::LogStructured;
use super::bands::{Role, Streams};
use super::lifetimes::{Instead, Writer, nearest};
use super::roles::becomes;
use imbrex_core::plan::Plan;

/// What takes the next moved block of a stream.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// The stream's own band.
    Own(u32),
    /// That of another stream, as if it were its own.
    Instead(Instead),
    /// An empty band.
    Empty,
    /// The band of another stream, since none is empty.
    Other(u32),
}

impl LogStructured {
    /// The open bands with room, and of which stream each is.
    fn with_room(&self, open: &Streams) -> impl Iterator<Item = (usize, u32)> + Clone {
        let open = (0..).zip(*open).filter_map(|(stream, band)| Some((stream, band?)));
        open.filter(|(_, band)| self.bands.room(*band).1 > 0)
    }

    /// The bands that the host can go on with: its own, and those of compaction while that does nothing.
    fn of_host(&self) -> Streams {
        let mut open = self.open;
        if !self.compaction.is_under_way() {
            (open.iter_mut().zip(self.compaction.targets)).for_each(|(open, target)| *open = open.or(target));
        }
        open
    }

    fn instead(&self, stream: u8, writer: Writer, open: &Streams) -> Option<Instead> {
        let known = &self.bands.known;
        known.lifetimes.as_ref()?.instead(stream, writer, self.with_room(open), known.times.now())
    }

    /// The slot that the host goes on with for a stream that has no band, if it should not begin one, and how many blocks
    /// can follow there.
    pub(super) fn host_goes_on(&mut self, stream: u8) -> Option<(u64, u32)> {
        let (of, to, most) = match self.instead(stream, Writer::Host, &self.of_host())? {
            Instead::TakeOver(other) => (other, usize::from(stream), u32::MAX),
            Instead::Share { with, blocks } => (with, with, blocks),
        };
        let band = self.open[of].take().or_else(|| self.compaction.targets[of].take());
        self.open[to] = band;
        let (slot, room) = self.bands.room(band?);
        Some((slot, room.min(most)))
    }

    /// The slot that the host's next block of a stream takes, if there is one without compaction and it is on a band
    /// that is written already.
    pub(super) fn next_slot(&self, stream: u8) -> Option<u64> {
        let open = self.of_host();
        let instead = || match self.instead(stream, Writer::Host, &open)? {
            Instead::TakeOver(other) | Instead::Share { with: other, .. } => open[other],
        };
        open[usize::from(stream)].or_else(instead).map(|band| self.bands.room(band).0)
    }

    /// What takes the next moved block of a stream, if anything can.
    pub(super) fn target(&self, stream: u8) -> Option<Target> {
        let targets = &self.compaction.targets;
        let own = targets[usize::from(stream)].filter(|&band| self.bands.room(band).1 > 0);
        if let Some(band) = own {
            return Some(Target::Own(band));
        }
        if let Some(instead) = self.instead(stream, Writer::Compaction, targets) {
            return Some(Target::Instead(instead));
        }
        if self.bands.empties() > 0 {
            return Some(Target::Empty);
        }
        let other = self.one_with_room(stream, targets)?;
        targets[other].map(Target::Other)
    }

    /// A stream whose open band has room: the nearest one, where streams are in order, or the first.
    pub(super) fn one_with_room(&self, stream: u8, open: &Streams) -> Option<usize> {
        let mut others = self.with_room(open).map(|(other, _)| other);
        if self.bands.known.lifetimes.is_some() { nearest(stream, others) } else { others.next() }
    }

    /// The band that takes the next blocks of a stream, and how many at most if it is another one's.
    pub(super) fn open_target(&mut self, stream: u8, plan: &mut Plan) -> Option<(u32, u32)> {
        let own = usize::from(stream);
        if let Some(full) = self.compaction.targets[own].filter(|&band| self.bands.room(band).1 == 0) {
            self.compaction.targets[own] = None;
            if self.without_spare() {
                self.bands.close(full);
            }
        }
        let target = self.target(stream)?;
        let targets = &mut self.compaction.targets;
        match target {
            Target::Own(_) | Target::Other(_) | Target::Instead(Instead::Share { .. }) => {}
            Target::Instead(Instead::TakeOver(other)) => targets[own] = targets[other].take(),
            Target::Empty => targets[own] = self.bands.open(stream),
        }
        let (target, most) = match target {
            Target::Own(band) | Target::Other(band) => (band, u32::MAX),
            Target::Instead(Instead::Share { with, blocks }) => (targets[with]?, blocks),
            Target::Instead(Instead::TakeOver(_)) | Target::Empty => (targets[own]?, u32::MAX),
        };
        if !self.without_spare() && self.bands.role(target) != Role::Copying {
            self.give_role(target, becomes::copying(self.bands.written(target)), plan);
        }
        Some((target, most))
    }
}
