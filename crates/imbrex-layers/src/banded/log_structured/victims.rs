//! The victims of a compaction: which bands they are, and which of their blocks are live. Of a divided map some slots
//! are looked at at a time.

use super::LogStructured;
use super::compact::{Compaction, Moving, Phase};
use super::config::Sequence;
use super::score::Needed;
use super::separation::COLD;

/// Slots of a victim that are looked at together.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Listing {
    /// The victim's number.
    pub number: u32,
    /// The first slot, and how many.
    pub slot: u64,
    pub slots: u32,
}

impl LogStructured {
    /// What is to be listed next of a divided map, if something is: bands without live blocks are passed over.
    pub(super) fn next_listing(&self) -> Option<Listing> {
        let Compaction { phase, victims, listed, .. } = &self.compaction;
        let (listed, most, blocks) = ((*listed)?, self.bands.slots_at_a_time()?, self.bands.blocks());
        let numbers = (listed / blocks..victims.len() as u32).filter(|_| *phase == Phase::Listing);
        numbers.map(|number| (number, victims[number as usize])).find_map(|(number, band)| {
            let offset = listed.saturating_sub(number * blocks);
            let left = if self.bands.live(band) == 0 { 0 } else { self.bands.written(band).saturating_sub(offset) };
            let slot = self.bands.map.place(band, offset);
            (left > 0).then(|| Listing { number, slot, slots: self.bands.of_one_page(slot, left.min(most)) })
        })
    }

    /// Lists what is next, and nothing in the step that has chosen the victims. When nothing is, what was listed is moved.
    pub(super) fn list_next(&mut self) {
        if self.compaction.listed.is_none() {
            self.compaction.listed = Some(0);
            return;
        }
        let Some(Listing { number, slot, slots }) = self.next_listing() else {
            if self.compaction.lists_too_many()
                && let Some(&band) = self.compaction.victims.first()
            {
                // There need not be room for more than were counted.
                self.bands.map.miscount(band);
            }
            return self.compaction.begin_window(0);
        };
        self.list_live(number, slot, slots);
        let (_, offset) = self.bands.map.locate(slot);
        self.compaction.listed = Some(number * self.bands.blocks() + offset + slots);
    }

    /// Takes the best candidates, as many as are compacted together and, with spare bands, fit these.
    pub(super) fn choose_victims(&mut self) {
        let spare = self.bands.empties().min(self.config.spare_bands);
        let room = if self.without_spare() { u64::MAX } else { u64::from(spare) * u64::from(self.bands.blocks()) };
        let mut live = 0;
        while self.compaction.victims.len() < self.config.compact_bands as usize
            && let Some(band) = self.bands.best(self.needed())
        {
            live += u64::from(self.bands.live(band));
            if live > room {
                break;
            }
            self.bands.leave(band);
            self.compaction.victims.push(band);
        }
    }

    /// What the next victim has to gain: with spare bands each gains something, and else one of them does.
    fn needed(&self) -> Needed {
        let victims = &self.compaction.victims;
        let is_last = victims.len() + 1 == self.config.compact_bands as usize;
        match victims.iter().any(|&band| self.bands.live(band) < self.bands.blocks()) {
            _ if !self.without_spare() => Needed::Own,
            true => Needed::Nothing,
            false if is_last => Needed::Own,
            false => Needed::Any,
        }
    }

    /// Adds the live blocks among `slots` slots from `first` on, of the `number`-th victim.
    pub(super) fn list_live(&mut self, number: u32, first: u64, slots: u32) {
        let (bands, map, cooling) = (&self.bands, &self.bands.map, self.heat.cooling);
        let (band, offset) = map.locate(first);
        if map.live(band) == 0 {
            return;
        }
        let by_heat = self.config.sequence == Sequence::Heat;
        let is_apart = bands.separation().streams() > 1;
        let moving = &mut self.compaction.moving;
        let before = number * self.bands.blocks() + offset;
        let known = |lba| bands.known.prefetch(lba);
        map.owners(first, slots, known, |at, slot| {
            for (lba, slot) in at.iter().zip(slot..) {
                let heat = if by_heat { bands.known.heat(lba) } else { 0 };
                let stream = if is_apart { bands.stream_of_moved(lba, band, cooling) } else { COLD };
                moving.push(Moving { lba, slot, offset: before + (slot - first) as u32, heat, stream });
            }
        });
    }
}
