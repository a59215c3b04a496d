//! Log-structured bands as lists: what lies in each band, in the order in which it came, and where each block is.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use imbrex::random::Random;

use super::lifetimes::{Lifetimes, Look};
use super::miniatures::Miniatures;
use super::settings::Settings;
use super::streams::{Lives, MOST_STREAMS};

#[derive(Debug, Default, PartialEq)]
pub struct Counts {
    /// Blocks that the host wrote.
    pub host: u64,
    /// Of these, blocks that were in the write buffer already.
    pub hits: u64,
    /// Of these, blocks that went straight to a band.
    pub appended: u64,
    /// Blocks that went from the write buffer to a band.
    pub destaged: u64,
    pub moved: u64,
    pub resets: u64,
}

#[derive(Default)]
pub struct Band {
    /// What was written, the newest last.
    pub blocks: Vec<u64>,
    /// When the host wrote the youngest block that ever came here, in blocks.
    pub youngest: u64,
    /// When it came to as many live blocks as it has.
    pub since: u64,
    /// How many of its blocks count.
    pub live: usize,
    /// The stream that opened it, and when that was and when it was closed, in blocks.
    pub stream: usize,
    pub opened: u64,
    pub closed: u64,
    /// When anybody last wrote it, and what the last look at it has found.
    pub written: u64,
    pub look: Option<Look>,
}

/// A block that waits in RAM.
#[derive(Copy, Clone, PartialEq)]
pub struct Waiting {
    pub lba: u64,
    /// When the host last wrote it.
    pub time: u64,
    /// How long it had lived then, if it had been written before.
    pub lived: Option<u64>,
}

/// A log that compacts one band or more at a time.
pub struct Log {
    pub set: Settings,
    pub band_blocks: usize,
    pub bands: Vec<Band>,
    /// Band and offset of the copy of each block that counts, if it has one.
    pub places: Vec<Option<(usize, usize)>>,
    /// When the host wrote that copy, or as the reading has it.
    pub times: Vec<u64>,
    /// How often each block was overwritten since it was last compacted, or what that left of it.
    pub overwrites: Vec<u32>,
    /// The blocks below this one are known to be hot and all others to be cold, unless it is the first.
    pub known_hot: u64,
    /// In order of arrival.
    pub buffer: Vec<Waiting>,
    pub empty: BTreeSet<usize>,
    /// Bands to choose from, those closed first before the others, but under `log-choices` the last takes the place of
    /// one that is drawn.
    pub closed: Vec<usize>,
    /// The band that each stream writes.
    pub open: [Option<usize>; MOST_STREAMS],
    pub random: Random,
    pub last_gained: bool,
    pub written: u64,
    events: u64,
    pub lives: Lives,
    pub lifetimes: Option<Box<Lifetimes>>,
    /// What finds a setting, where it is not told.
    pub miniatures: Option<Box<Miniatures>>,
    pub counts: Counts,
}

impl Log {
    pub fn new(set: Settings, bands: usize, band_blocks: usize, capacity: u64) -> Self {
        let blocks = capacity as usize;
        Self {
            miniatures: set.has_miniatures().then(|| Box::new(Miniatures::new(&set, bands, band_blocks, capacity))),
            random: Random::new(set.seed),
            known_hot: (capacity as f64 * set.oracle).round() as u64,
            lifetimes: lifetimes(&set, bands, band_blocks, capacity),
            set,
            band_blocks,
            bands: (0..bands).map(|_| Band::default()).collect(),
            places: vec![None; blocks],
            times: vec![0; blocks],
            overwrites: vec![0; blocks],
            buffer: Vec::new(),
            empty: (0..bands).collect(),
            closed: Vec::new(),
            open: [None; MOST_STREAMS],
            last_gained: true,
            written: 0,
            events: 0,
            lives: Lives::default(),
            counts: Counts::default(),
        }
    }

    /// It begins again with what lies where: as if nothing had been written at any time. Of the bands that are not full
    /// those with the most room are open.
    pub fn forget(&mut self) {
        (self.written, self.lives, self.counts) = (0, Lives::default(), Counts::default());
        self.lifetimes = lifetimes(&self.set, self.bands.len(), self.band_blocks, self.places.len() as u64);
        self.times.fill(0);
        self.overwrites.fill(0);
        let mut begun: Vec<usize> = self.open.iter_mut().filter_map(Option::take).collect();
        begun.sort_unstable_by_key(|&band| (self.bands[band].blocks.len(), band));
        let streams = self.streams();
        self.closed.extend(begun.drain(streams.min(begun.len())..));
        self.open.iter_mut().zip(begun).for_each(|(open, band)| *open = Some(band));
        self.closed.sort_unstable();
        for band in &mut self.bands {
            self.events += 1;
            (band.youngest, band.since, band.stream, band.opened, band.closed) = (0, self.events, 1, 0, 0);
            (band.written, band.look) = (0, None);
        }
        let lying: Vec<u64> = (0..self.bands.len()).flat_map(|band| self.live(band)).collect();
        if let Some(miniatures) = &mut self.miniatures {
            miniatures.begin(&lying);
        }
    }

    /// A block lies behind those that do, before anything has been written.
    pub fn lay(&mut self, lba: u64) {
        let band = self.open[0].or_else(|| self.empty.pop_first()).expect("it fits");
        self.open[0] = Some(band);
        self.put(lba, band, 0);
        self.close_full(0);
    }

    /// The blocks of a band that count, in order.
    pub fn live(&self, band: usize) -> impl Iterator<Item = u64> + Clone {
        let blocks = self.bands[band].blocks.iter().copied().enumerate();
        blocks.filter(move |&(offset, lba)| self.places[lba as usize] == Some((band, offset))).map(|(_, lba)| lba)
    }

    pub fn heat(&self, lba: u64) -> u32 {
        if self.known_hot > 0 {
            u32::from(lba < self.known_hot)
        } else {
            self.beyond_cold(self.overwrites[lba as usize])
        }
    }

    /// How much of so many overwrites is heat.
    fn beyond_cold(&self, overwrites: u32) -> u32 {
        overwrites.saturating_sub(self.set.hot_from as u32 - 1)
    }

    /// What compaction leaves of overwrites.
    fn overwrites_left(&self, lba: u64) -> u32 {
        if self.set.halve { self.overwrites[lba as usize] / 2 } else { 0 }
    }

    /// What compaction leaves of that.
    pub fn heat_left(&self, lba: u64) -> u32 {
        if self.known_hot > 0 { self.heat(lba) } else { self.beyond_cold(self.overwrites_left(lba)) }
    }

    /// The copy of a block on the disk, if there is one, is dead.
    fn kill(&mut self, lba: u64) {
        self.events += 1;
        if let Some((band, _)) = self.places[lba as usize].take() {
            self.bands[band].since = self.events;
            self.bands[band].live -= 1;
        }
    }

    /// Appends a block, which the host wrote at `time`, to a band that has room.
    fn put(&mut self, lba: u64, band: usize, time: u64) {
        self.kill(lba);
        self.places[lba as usize] = Some((band, self.bands[band].blocks.len()));
        self.times[lba as usize] = time;
        let band = &mut self.bands[band];
        band.written = self.written;
        band.blocks.push(lba);
        band.live += 1;
        band.youngest = band.youngest.max(time);
    }

    pub fn is_full(&self, band: usize) -> bool {
        self.bands[band].blocks.len() == self.band_blocks
    }

    fn close(&mut self, band: usize) {
        self.events += 1;
        self.bands[band].since = self.events;
        self.bands[band].closed = self.written;
        self.closed.push(band);
    }

    /// The same with the band of a stream if it is full.
    pub fn close_full(&mut self, stream: usize) {
        if let Some(full) = self.open[stream].take_if(|band| self.bands[*band].blocks.len() == self.band_blocks) {
            self.close(full);
        }
    }

    pub fn write(&mut self, lba: u64) {
        if self.set.buffer_bands == 0 {
            self.append(lba);
        } else {
            self.write_buffered(lba);
        }
        if let Some(miniatures) = &mut self.miniatures {
            miniatures.write(lba);
        }
    }

    fn write_buffered(&mut self, lba: u64) {
        if let Some(at) = self.buffer.iter().position(|block| block.lba == lba) {
            self.host_wrote();
            self.counts.hits += 1;
            self.overwrites[lba as usize] += u32::from(self.set.buffered_heat);
            let lived = Some(self.written - self.buffer[at].time);
            self.buffer[at] = Waiting { lba, time: self.written, lived };
            return;
        }
        if self.buffer.len() == self.set.buffer_bands * self.band_blocks {
            self.destage();
        }
        let lived = self.lived(lba);
        self.host_wrote();
        self.warm(lba);
        if !self.set.volatile {
            self.kill(lba);
        }
        self.buffer.push(Waiting { lba, time: self.written, lived });
    }

    fn append(&mut self, lba: u64) {
        let (stream, band) = self.room(|log| log.stream_of_host(lba));
        self.host_wrote();
        self.counts.appended += 1;
        self.warm(lba);
        self.put(lba, band, self.written);
        if let Some(lifetimes) = &mut self.lifetimes {
            lifetimes.wrote(lba, self.written);
        }
        self.close_full(stream);
    }

    fn host_wrote(&mut self) {
        self.written += 1;
        self.counts.host += 1;
    }

    /// A block that is on the disk is overwritten, or one that is not is written.
    fn warm(&mut self, lba: u64) {
        let overwrites = &mut self.overwrites[lba as usize];
        *overwrites = if self.places[lba as usize].is_some() { *overwrites + 1 } else { 0 };
    }

    pub fn trim(&mut self, lba: u64) {
        self.kill(lba);
        self.buffer.retain(|block| block.lba != lba);
        if let Some(lifetimes) = &mut self.lifetimes {
            lifetimes.trimmed(lba, self.written);
        }
        if let Some(miniatures) = &mut self.miniatures {
            miniatures.trim(lba);
        }
    }

    /// Empties the write buffer.
    pub fn flush(&mut self) {
        while !self.buffer.is_empty() {
            self.destage();
        }
    }

    /// Whether hot blocks leave the write buffer next, and not cold ones: whichever are more.
    pub fn hot_leave(&self) -> bool {
        let hot = self.buffer.iter().filter(|block| self.leaves_as_hot(block)).count();
        let cold = self.buffer.len() - hot;
        if hot == cold { self.set.hot_at_tie } else { hot > cold }
    }

    /// Fills a band from the write buffer with one temperature.
    fn destage(&mut self) {
        let (stream, band) = self.room(Self::stream_of_leaving);
        let hot = self.hot_leave();
        let mut leaving: Vec<Waiting> =
            self.buffer.iter().filter(|block| self.leaves_as_hot(block) == hot).copied().collect();
        if hot {
            leaving.sort_by_key(|block| Reverse(self.heat(block.lba)));
        }
        leaving.truncate(self.band_blocks - self.bands[band].blocks.len());
        self.buffer.retain(|block| !leaving.contains(block));
        self.counts.destaged += leaving.len() as u64;
        for block in leaving {
            self.put(block.lba, band, block.time);
        }
        self.close_full(stream);
    }

    /// Compacts bands if that gains anything.
    pub fn compact(&mut self) -> bool {
        if let Some(miniatures) = &mut self.miniatures {
            let set = miniatures.choose();
            self.set.weights = set.weights;
            if let Some(lifetimes) = &mut self.lifetimes {
                lifetimes.follow(set.strategy);
            }
        }
        let victims = self.choose();
        if !victims.is_empty() {
            self.rewrite(&victims);
        }
        !victims.is_empty()
    }

    fn choose(&mut self) -> Vec<usize> {
        let room = self.empty.len().min(self.set.spare) * self.band_blocks;
        let (mut victims, mut live) = (Vec::new(), 0);
        while victims.len() < self.set.together {
            self.look_at_closed();
            // Where victims wait in RAM as many as were asked for are taken, one of which at least has a dead block.
            let is_last = victims.len() + 1 == self.set.together;
            let has_gained = self.set.spare == 0 && live < victims.len() * self.band_blocks;
            let must_gain = self.set.spare > 0 || is_last && !has_gained;
            let can_gain = has_gained || self.closed.iter().any(|&band| self.gains(band));
            if !can_gain || self.closed.is_empty() {
                break;
            }
            let victim = self.best(must_gain, has_gained);
            live += self.bands[victim].live;
            if self.set.spare > 0 && live > room {
                break;
            }
            self.last_gained = self.bands[victim].live < self.band_blocks;
            let place = self.closed.iter().position(|&band| band == victim).expect("victims are closed");
            if self.set.layer == "log-choices" {
                self.closed.swap_remove(place);
            } else {
                self.closed.remove(place);
            }
            self.lives.compacted(&self.bands[victim], self.written);
            victims.push(victim);
        }
        victims
    }

    /// Moves what is live on the victims to the bands of its streams, and to empty ones from there on.
    fn rewrite(&mut self, victims: &[usize]) {
        let youngest = victims.iter().map(|&band| self.time(band)).max().expect("there is a victim");
        let mut moving: Vec<(usize, u64)> = Vec::new();
        for &band in victims {
            moving.extend(self.live(band).map(|lba| (self.stream_of_moved(lba, band), lba)));
        }
        if self.set.hottest_first {
            moving.sort_by_key(|&(_, lba)| Reverse(self.heat(lba)));
        }
        moving.sort_by_key(|&(stream, _)| stream);
        if self.set.spare == 0 {
            moving.iter().for_each(|&(_, lba)| self.kill(lba));
            self.empty.extend(victims);
        }
        let mut targets = Vec::new();
        for (stream, lba) in moving {
            let target = self.target(stream);
            if let Some(lifetimes) = &mut self.lifetimes {
                lifetimes.came(stream);
            }
            if !targets.contains(&target) {
                targets.push(target);
            }
            let time = if self.set.age == "live" { youngest } else { self.times[lba as usize] };
            self.put(lba, target, time);
            self.bands[target].youngest = youngest;
            self.overwrites[lba as usize] = self.overwrites_left(lba);
            self.counts.moved += 1;
        }
        if self.set.spare > 0 {
            // Copies begin to count when all of them are there.
            targets.retain(|&band| self.is_full(band));
            for full in targets {
                self.close(full);
                self.open.iter_mut().for_each(|open| *open = open.filter(|&band| band != full));
            }
            self.empty.extend(victims);
        } else {
            (0..MOST_STREAMS).for_each(|stream| self.close_full(stream));
        }
        self.counts.resets += victims.len() as u64;
    }
}

fn lifetimes(set: &Settings, bands: usize, band_blocks: usize, capacity: u64) -> Option<Box<Lifetimes>> {
    (set.layer == "log-lifetimes").then(|| Box::new(Lifetimes::new(set.strategy, bands, band_blocks, capacity)))
}
