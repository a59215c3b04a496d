//! What `log-lifetimes` infers: of each block how it lived and lives, of each stream what comes to it, of each closed
//! band what a look at it has found.

use super::hazards::Hazards;
use super::log::Log;
use super::streams::MOST_STREAMS;

/// The classes beyond those of octaves.
const LONGEST: usize = 28;
const TWICE: usize = 29;
const ONCE: usize = 30;
const NEVER: usize = 31;

/// Octaves, seen from the capacity, that streams of moved blocks divide.
const OF_MOVED: [f64; 2] = [-3.0, 5.0];

/// How many streams there are for one by the room, the octaves that those of the host divide, and how many halves of
/// what a band would gain by waiting count.
#[derive(Copy, Clone)]
pub struct Strategy {
    tenths: u32,
    of_host: [f64; 2],
    halves: u32,
}

pub const STRATEGIES: [Strategy; 4] = [
    Strategy { tenths: 10, of_host: [-6.0, 3.0], halves: 2 },
    Strategy { tenths: 14, of_host: [-9.0, 3.0], halves: 0 },
    Strategy { tenths: 14, of_host: [-9.0, 3.0], halves: 2 },
    Strategy { tenths: 5, of_host: [-6.0, 3.0], halves: 1 },
];

impl Strategy {
    /// Streams of the host and of moved blocks where so many bands are to spare.
    fn streams(self, spare: f64) -> [usize; 2] {
        let by_room = (1.3 * spare.sqrt()).min(2.0 + spare / 5.0).round().max(2.0) as u32;
        // Half a stream is one.
        let all = ((by_room * self.tenths + 5) / 10).min(20) as usize;
        let moved = (all / 2).min(2);
        [all - moved, moved]
    }
}

/// Stretches of a band.
const STRETCHES: usize = 32;

#[derive(Copy, Clone)]
struct Life {
    class: usize,
    written: u64,
    /// Until when it has been counted.
    counted: u64,
}

/// As old as the epoch.
const UNKNOWN: Life = Life { class: NEVER, written: 0, counted: 0 };

/// What a look at a band has found.
#[derive(Copy, Clone)]
pub struct Look {
    when: u64,
    live: usize,
    /// How often a block is overwritten in a unit of time.
    rate: f64,
    /// The mean age.
    age: f64,
}

impl Look {
    fn rate(&self, now: u64) -> f64 {
        self.rate * self.age / (self.age + (now - self.when) as f64)
    }
}

pub struct Lifetimes {
    band_blocks: u64,
    /// Blocks that the host does not get.
    spare: u64,
    strategy: Strategy,
    host: usize,
    moved: usize,
    blocks: Vec<Life>,
    hazards: Hazards,
    /// Neighbours of which one is followed.
    group: u64,
    hand: u64,
    forget_at: u64,
    conclude_at: u64,
    /// Blocks that came to each stream in this period, when that began, and the same of the last one.
    came: [u64; MOST_STREAMS],
    began: u64,
    came_last: [u64; MOST_STREAMS],
    lasted: u64,
}

impl Lifetimes {
    pub fn new(strategy: Strategy, bands: usize, band_blocks: usize, capacity: u64) -> Self {
        let spare = (bands * band_blocks) as u64 - capacity;
        let mut group = 1;
        while capacity / (2 * group) >= 65_536 {
            group *= 2;
        }
        let mut new = Self {
            band_blocks: band_blocks as u64,
            spare,
            strategy,
            host: 0,
            moved: 0,
            blocks: vec![UNKNOWN; capacity as usize],
            hazards: Hazards::new(),
            group,
            hand: 0,
            forget_at: 1,
            conclude_at: 1,
            came: [0; MOST_STREAMS],
            began: 0,
            came_last: [0; MOST_STREAMS],
            lasted: 0,
        };
        new.follow(strategy);
        new
    }

    fn spare_bands(&self) -> f64 {
        self.spare as f64 / self.band_blocks as f64
    }

    pub fn follow(&mut self, strategy: Strategy) {
        self.strategy = strategy;
        [self.host, self.moved] = strategy.streams(self.spare_bands());
    }

    /// How many streams there are by each strategy.
    pub fn streams(&self) -> [usize; 4] {
        STRATEGIES.map(|strategy| strategy.streams(self.spare_bands()).iter().sum())
    }

    fn capacity(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// The block of a group that is followed: of the n-th the one at n times the golden ratio, of which only the fraction
    /// counts.
    fn followed(&self, group: u64) -> u64 {
        let golden = (1.0 + 5f64.sqrt()) / 2.0;
        group * self.group + ((group as f64 * golden).fract() * self.group as f64) as u64
    }

    /// The class of a block that the host writes now.
    fn next_class(&self, lba: u64, now: u64) -> usize {
        let life = self.blocks[lba as usize];
        match life.class {
            NEVER => ONCE,
            ONCE => TWICE,
            _ => self.hazards.octave(now - life.written).min(LONGEST),
        }
    }

    /// Which of some streams takes what has so much left.
    fn stream(&self, rest: f64, [first, last]: [f64; 2], streams: usize) -> usize {
        let octaves = rest - libm::log2(self.capacity() as f64);
        let number = ((octaves - first) / (last - first) * streams as f64).floor();
        number.clamp(0.0, (streams - 1) as f64) as usize
    }

    pub fn stream_of_host(&self, lba: u64, now: u64) -> usize {
        self.stream(self.hazards.rest(self.next_class(lba, now), 0), self.strategy.of_host, self.host)
    }

    pub fn stream_of_moved(&self, lba: u64, now: u64) -> usize {
        let life = self.blocks[lba as usize];
        let rest = self.hazards.rest(life.class, now - life.written);
        if self.moved == 0 || rest - libm::log2(self.capacity() as f64) < OF_MOVED[0] {
            self.stream(rest, self.strategy.of_host, self.host)
        } else {
            self.host + self.stream(rest, OF_MOVED, self.moved)
        }
    }

    /// A block has come to a stream.
    pub fn came(&mut self, stream: usize) {
        self.came[stream] += 1;
    }

    /// The host writes a block, which makes it this time.
    pub fn wrote(&mut self, lba: u64, now: u64) {
        self.came(self.stream_of_host(lba, now));
        let class = self.next_class(lba, now);
        self.end(lba, now);
        self.blocks[lba as usize] = Life { class, written: now, counted: now };
        if (now - 1).is_multiple_of(self.group) {
            let under_hand = self.followed(self.hand);
            self.count(under_hand, now);
            self.hand = (self.hand + 1) % self.capacity().div_ceil(self.group);
        }
        if now >= self.began + self.spare {
            self.lasted = now - self.began;
            self.began = now;
            self.came_last = std::mem::take(&mut self.came);
        }
        if now >= self.forget_at {
            self.hazards.forget();
            self.forget_at = now + (self.capacity() / 8).max(1);
        }
        if now >= self.conclude_at {
            self.hazards.conclude();
            self.conclude_at = now + (self.capacity() / 64).max(2048).min((now / 4).max(64));
        }
    }

    pub fn trimmed(&mut self, lba: u64, now: u64) {
        self.end(lba, now);
        self.blocks[lba as usize] = UNKNOWN;
    }

    /// Counts the life of a block as far as it has not been counted, if it is known when that began.
    fn count(&mut self, lba: u64, now: u64) {
        if let Some(life) = self.blocks.get_mut(lba as usize).filter(|life| life.class != NEVER) {
            self.hazards.lived(life.class, life.counted - life.written, now - life.written);
            life.counted = now;
        }
    }

    /// A life ends.
    fn end(&mut self, lba: u64, now: u64) {
        let life = self.blocks[lba as usize];
        if life.class != NEVER && self.followed(lba / self.group) == lba {
            self.count(lba, now);
            self.hazards.died(life.class, now - life.written);
        }
    }

    /// Whether the host would write more than two periods while a stream fills a band.
    fn is_slow(&self, stream: usize, now: u64) -> bool {
        let (came, time) = (self.came[stream] + self.came_last[stream], now - self.began + self.lasted);
        2 * time >= self.spare && self.band_blocks * time > 2 * self.spare * came
    }
}

impl Log {
    /// The stream to whose band a stream goes on that has none, if it should not begin one. A band that has rested becomes
    /// its own.
    pub fn goes_on(&mut self, stream: usize) -> Option<usize> {
        let lifetimes = self.lifetimes.as_ref()?;
        let rest = lifetimes.spare / 2;
        if let Some(other) = self.nearest(stream, |band| self.written - self.bands[band].written > rest) {
            self.open[stream] = self.open[other].take();
            return Some(stream);
        }
        if lifetimes.is_slow(stream, self.written) { self.nearest(stream, |_| true) } else { None }
    }

    /// The nearest stream whose band has room and is one of those.
    pub fn nearest(&self, stream: usize, is_one: impl Fn(usize) -> bool) -> Option<usize> {
        let will_do = |&other: &usize| self.open[other].is_some_and(|band| !self.is_full(band) && is_one(band));
        (0..MOST_STREAMS).filter(will_do).min_by_key(|&other| (other.abs_diff(stream), other))
    }

    /// Looks at the closed bands of which it is time.
    pub fn look_at_closed(&mut self) {
        for band in self.closed.clone() {
            let of = &self.bands[band];
            let is_time = of.look.is_none_or(|look| {
                let later = ((look.when - of.closed) / 20).max(self.band_blocks as u64);
                10 * of.live < 9 * look.live || self.written - look.when > later
            });
            if is_time {
                self.bands[band].look = self.look_at(band);
            }
        }
    }

    fn look_at(&self, band: usize) -> Option<Look> {
        let (lifetimes, now, of) = (self.lifetimes.as_ref()?, self.written, &self.bands[band]);
        let stretch = self.band_blocks.div_ceil(STRETCHES);
        let drawn = |n: usize| {
            let share = ((band * STRETCHES + n) as u64 * 0x9e37_79b9) % (1 << 32);
            n * stretch + (share * stretch as u64 / (1 << 32)) as usize
        };
        let slots = (0..STRETCHES).map(drawn).filter(|&slot| slot < of.blocks.len());
        let live = slots.filter(|&slot| self.places[of.blocks[slot] as usize] == Some((band, slot)));
        let mut lives: Vec<Life> = live.map(|slot| lifetimes.blocks[of.blocks[slot] as usize]).collect();
        if lives.is_empty() {
            if let Some(last) = of.look {
                let age = last.age + (now - last.when) as f64;
                return Some(Look { when: now, live: of.live, rate: last.rate(now), age });
            }
            lives.push(Life { written: of.closed, ..UNKNOWN });
        }
        let rates = lives.iter().map(|life| libm::exp2(-lifetimes.hazards.rest(life.class, now - life.written)));
        let octaves = lives.iter().map(|life| libm::log2((now - life.written).max(1) as f64));
        let (rate, octaves) = (rates.sum::<f64>() / lives.len() as f64, octaves.sum::<f64>() / lives.len() as f64);
        Some(Look { when: now, live: of.live, rate, age: libm::exp2(octaves) })
    }

    /// The band that is worth most.
    pub fn most_by_lifetimes(&self, all: bool) -> usize {
        let halves = self.lifetimes.as_ref().map_or(0, |lifetimes| lifetimes.strategy.halves);
        self.most(all, |band| {
            let of = &self.bands[band];
            let (dead, live) = ((self.band_blocks - of.live) as f64, of.live as f64);
            let closed_for = (self.written - of.closed).max(1) as f64;
            match of.look {
                Some(look) if of.live > 0 => {
                    let rate = look.rate(self.written);
                    let lasts = dead.sqrt() * (closed_for / rate).sqrt().sqrt() / rate.sqrt().sqrt().sqrt();
                    dead / live * [1.0, lasts.sqrt(), lasts][halves as usize]
                }
                _ => f64::INFINITY,
            }
        })
    }
}
