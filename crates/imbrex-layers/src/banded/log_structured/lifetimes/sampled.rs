//! Some blocks of each band, by which it is known how soon its blocks are overwritten: the worth of a victim.
//!
//! A band is cut into stretches, and in each a slot is drawn. What is written there is noted, and that it is live no more
//! when it has left: so no page of the map is needed to look at a band.

use super::hazards::Hazards;
use super::strategy::Foresight;
use super::{Life, NEVER};
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// Slots of a band that are looked at, at most.
const SLOTS: u32 = 32;

/// What a look at a band's blocks has found.
#[derive(Copy, Clone, Debug)]
struct Look {
    when: u64,
    /// Live blocks on the band.
    live: u32,
    /// The mean of how many overwrites of a block are to come in a unit of time.
    rate: f64,
    /// How old blocks are, by the mean of the logarithm.
    age: f64,
}

impl Look {
    /// The rate at a later time: it falls as blocks grow older.
    fn rate(&self, now: u64) -> f64 {
        self.rate * self.age / (self.age + (now - self.when) as f64)
    }
}

#[derive(Clone, Debug)]
struct Band {
    closed: u64,
    /// When it was last written.
    written: u64,
    look: Option<Look>,
    /// Which of the slots have a live block, a bit for each, and what is known of these.
    live: u32,
    lives: [[u8; Life::BYTES]; SLOTS as usize],
}

pub(super) struct Sampled {
    bands: Vec<Band>,
    band_blocks: u32,
    stretches: Stretches,
}

/// The stretches of a band, of so many slots each.
#[derive(Copy, Clone, Debug)]
struct Stretches(u32);

impl Stretches {
    /// The slot of a band that was drawn in a stretch.
    #[inline]
    fn drawn(self, band: u32, stretch: u32) -> u32 {
        let random = (band.wrapping_mul(SLOTS) + stretch).wrapping_mul(0x9e37_79b9);
        stretch * self.0 + ((u64::from(random) * u64::from(self.0)) >> 32) as u32
    }

    /// The stretches whose slots are among `blocks` slots of a band from `first` on, and these.
    #[inline]
    fn among(self, band: u32, first: u32, blocks: u32) -> impl Iterator<Item = (usize, u32)> {
        let stretches = first / self.0..(first + blocks).div_ceil(self.0);
        let slots = stretches.map(move |stretch| (stretch as usize, self.drawn(band, stretch)));
        slots.filter(move |(_, slot)| (first..first + blocks).contains(slot))
    }
}

impl Sampled {
    pub fn memory(&self) -> Memory {
        Memory::of::<Band>(self.bands.len() as u64)
    }

    /// `bands` bands of `band_blocks` blocks that hold nothing.
    pub fn new(bands: u32, band_blocks: u32) -> Self {
        let lives = [Life::UNKNOWN.to_bytes(); SLOTS as usize];
        let empty = Band { closed: 0, written: 0, look: None, live: 0, lives };
        Self { bands: vec![empty; bands as usize], band_blocks, stretches: Stretches(band_blocks.div_ceil(SLOTS)) }
    }

    /// A band is empty and will be written.
    pub fn opened(&mut self, band: u32, now: u64) {
        let band = &mut self.bands[band as usize];
        (band.live, band.look, band.written) = (0, None, now);
    }

    /// A band is written as far as it will be.
    pub fn closed(&mut self, band: u32, now: u64) {
        self.bands[band as usize].closed = now;
    }

    /// A band is written.
    #[inline]
    pub fn wrote(&mut self, band: u32, now: u64) {
        self.bands[band as usize].written = now;
    }

    /// For how long nobody has written a band.
    pub fn rested(&self, band: u32, now: u64) -> u64 {
        now - self.bands[band as usize].written
    }

    /// The blocks in `blocks` slots of a band from `first` on lie there no more.
    #[inline]
    pub fn left(&mut self, band: u32, first: u32, blocks: u32) {
        let gone = self.stretches.among(band, first, blocks).fold(0, |gone, (stretch, _)| gone | 1 << stretch);
        self.bands[band as usize].live &= !gone;
    }

    /// Blocks lie in `blocks` slots of a band from `first` on; `life` is what is known of that in the slot.
    #[inline]
    pub fn came(&mut self, band: u32, first: u32, blocks: u32, life: impl Fn(u32) -> Life) {
        let of = &mut self.bands[band as usize];
        for (stretch, slot) in self.stretches.among(band, first, blocks) {
            of.live |= 1 << stretch;
            of.lives[stretch] = life(slot).to_bytes();
        }
    }

    /// Looks at the blocks of a closed band that has `live` of them, if it is worth it: if a tenth of them have gone since
    /// the last look, or they are older by a twentieth.
    pub fn look(&mut self, band: u32, live: u32, hazards: &Hazards, now: u64) {
        let of = &self.bands[band as usize];
        let is_as_it_was = |look: &Look| {
            let soon = (look.when.saturating_sub(of.closed) / 20).max(self.band_blocks.into());
            u64::from(live) * 10 >= u64::from(look.live) * 9 && now - look.when <= soon
        };
        if !of.look.as_ref().is_some_and(is_as_it_was) {
            self.bands[band as usize].look = Some(of.look_at(live, hazards, now));
        }
    }

    /// What compacting a band is worth: the most where much is gained, little is moved and, with foresight, what is live
    /// lives on. Blocks that are overwritten soon need not be moved if one waits.
    pub fn worth(&self, band: u32, live: u32, foresight: Foresight, now: u64) -> f64 {
        let of = &self.bands[band as usize];
        let Some(look) = of.look.filter(|_| live > 0) else { return f64::INFINITY };
        let (dead, live) = (f64::from(self.band_blocks - live), f64::from(live));
        let (closed_for, rate) = ((now - of.closed).max(1) as f64, look.rate(now));
        let lasts = dead.sqrt() * (closed_for / rate).sqrt().sqrt() / rate.sqrt().sqrt().sqrt();
        match foresight {
            Foresight::None => dead / live,
            Foresight::Half => dead / live * lasts.sqrt(),
            Foresight::Full => dead / live * lasts,
        }
    }

    /// Verifies that what is live in the slots is what is `known` of the blocks that lie there.
    pub fn check(&self, known: impl Fn(u32, u32) -> Option<Life>) -> Result<(), Violation> {
        for (band, of) in (0..).zip(&self.bands) {
            for (stretch, slot) in self.stretches.among(band, 0, self.band_blocks) {
                let noted = (of.live >> stretch & 1 == 1).then(|| Life::from_bytes(of.lives[stretch]));
                let is = known(band, slot);
                if noted != is {
                    return Err(Violation(format!("slot {slot} of band {band} has {is:?}, known as {noted:?}")));
                }
            }
        }
        Ok(())
    }
}

impl Band {
    fn look_at(&self, live: u32, hazards: &Hazards, now: u64) -> Look {
        let is_live = |(stretch, _): &(usize, _)| self.live >> stretch & 1 == 1;
        let lives = self.lives.iter().enumerate().filter(is_live).map(|(_, life)| Life::from_bytes(*life));
        // Where none is left of those that were drawn, others live on as they did, or as all that is as old.
        if let (0, Some(look)) = (self.live, self.look) {
            let age = look.age + (now - look.when) as f64;
            return Look { when: now, live, rate: look.rate(now), age };
        }
        let lives = lives.chain((self.live == 0).then_some(Life::new(NEVER, self.closed)));
        let (mut blocks, mut rates, mut octaves) = (0.0, 0.0, 0.0);
        for life in lives {
            let age = life.age(now);
            blocks += 1.0;
            rates += hazards.rate(life.class(), age);
            octaves += libm::log2(age.max(1) as f64);
        }
        Look { when: now, live, rate: rates / blocks, age: libm::exp2(octaves / blocks) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u32 = 1000;

    fn known(hazards: &mut Hazards) {
        for i in 0..500 {
            for (class, life) in [(5, 40 + i % 20), (15, 40_000 + 10 * i)] {
                hazards.lived(class, 0, life);
                hazards.died(class, life);
            }
        }
        hazards.conclude(100_000);
    }

    /// The page of the layer says so.
    #[test]
    fn a_band_takes_224_bytes() {
        assert_eq!(size_of::<Band>(), 224);
    }

    #[test]
    fn one_slot_of_each_stretch_is_looked_at() {
        for band_blocks in [1, 8, 32, 33, 1000, 65_536] {
            let sampled = Sampled::new(3, band_blocks).stretches;
            let slots: Vec<_> = sampled.among(2, 0, band_blocks).collect();
            let stretches = band_blocks.div_ceil(band_blocks.div_ceil(SLOTS));
            assert!(slots.len() as u32 <= stretches && slots.len() as u32 + 1 >= stretches, "{slots:?}");
            for (stretch, slot) in slots {
                assert_eq!(slot / band_blocks.div_ceil(SLOTS), stretch as u32);
                assert!(sampled.among(2, slot, 1).eq([(stretch, slot)]));
            }
        }
    }

    #[test]
    fn a_band_whose_blocks_die_soon_is_worth_less() {
        let (mut sampled, mut hazards) = (Sampled::new(2, ALL), Hazards::new());
        known(&mut hazards);
        for (band, class) in [(0, 5), (1, 15)] {
            sampled.opened(band, 0);
            sampled.came(band, 0, ALL, |_| Life::new(class, 0));
            sampled.closed(band, 20);
            sampled.look(band, 500, &hazards, 30);
        }
        let worth = |band, live, foresight| sampled.worth(band, live, foresight, 30);
        let gained = |foresight| worth(1, 500, foresight) / worth(0, 500, foresight);
        assert!(gained(Foresight::Full) > 3.0);
        assert!((gained(Foresight::Half) - gained(Foresight::Full).sqrt()).abs() < 1e-9);
        assert_eq!(gained(Foresight::None), 1.0);
        for foresight in [Foresight::None, Foresight::Half, Foresight::Full] {
            assert!(worth(1, 400, foresight) > worth(1, 500, foresight));
            assert_eq!(worth(0, 0, foresight), f64::INFINITY);
        }
    }

    #[test]
    fn what_has_left_is_not_looked_at() {
        let mut sampled = Sampled::new(1, ALL);
        sampled.opened(0, 0);
        sampled.came(0, 0, ALL, |slot| Life::new(if slot < 500 { 5 } else { 15 }, 0));
        let lies = |from: u32| move |_, slot| (slot >= from).then(|| Life::new(if slot < 500 { 5 } else { 15 }, 0));
        sampled.check(lies(0)).unwrap();
        sampled.left(0, 0, 700);
        sampled.check(lies(700)).unwrap();
        assert!(sampled.check(lies(0)).is_err() && sampled.check(lies(1000)).is_err());
    }

    #[test]
    fn a_look_is_repeated_when_blocks_have_gone_or_are_older() {
        let (mut sampled, hazards) = (Sampled::new(1, ALL), Hazards::new());
        sampled.opened(0, 0);
        sampled.came(0, 0, ALL, |_| Life::UNKNOWN);
        sampled.closed(0, 100);
        let mut looks =
            [(900, 200), (811, 1200), (809, 1200), (809, 2200), (809, 2201), (809, 60_000)].map(|(live, now)| {
                sampled.look(0, live, &hazards, now);
                sampled.bands[0].look.unwrap().when
            });
        assert_eq!(looks, [200, 200, 1200, 1200, 2201, 60_000]);
        looks = [62_000, 62_994, 62_995, 62_996, 70_000, 70_001].map(|now| {
            sampled.look(0, 809, &hazards, now);
            sampled.bands[0].look.unwrap().when
        });
        assert_eq!(looks, [60_000, 60_000, 60_000, 62_996, 70_000, 70_000]);
    }
}
