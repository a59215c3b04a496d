//! Log-structured bands as lists: what lies in each band, in the order in which it came, and where each block is.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use imbrex::parts::random::Random;

use super::settings::Settings;

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
    /// How often each block was overwritten since it was last compacted.
    pub heat: Vec<u32>,
    /// Blocks that wait in RAM, in order of arrival, and when the host last wrote each.
    buffer: Vec<(u64, u64)>,
    empty: BTreeSet<usize>,
    /// Bands to choose from, those closed first before the others, but under `log-choices` the last takes the place of
    /// one that is drawn.
    pub closed: Vec<usize>,
    active: Option<usize>,
    pub random: Random,
    pub last_gained: bool,
    pub written: u64,
    events: u64,
    pub counts: Counts,
}

impl Log {
    pub fn new(set: Settings, bands: usize, band_blocks: usize, capacity: u64) -> Self {
        let capacity = capacity as usize;
        Self {
            random: Random::new(set.seed),
            set,
            band_blocks,
            bands: (0..bands).map(|_| Band::default()).collect(),
            places: vec![None; capacity],
            times: vec![0; capacity],
            heat: vec![0; capacity],
            buffer: Vec::new(),
            empty: (0..bands).collect(),
            closed: Vec::new(),
            active: None,
            last_gained: true,
            written: 0,
            events: 0,
            counts: Counts::default(),
        }
    }

    /// The blocks of a band that count, in order.
    pub fn live(&self, band: usize) -> Vec<u64> {
        let blocks = self.bands[band].blocks.iter().enumerate();
        blocks
            .filter(|&(offset, lba)| self.places[*lba as usize] == Some((band, offset)))
            .map(|(_, lba)| *lba)
            .collect()
    }

    /// The copy of a block on the disk, if there is one, is dead.
    fn kill(&mut self, lba: u64) {
        self.events += 1;
        if let Some((band, _)) = self.places[lba as usize].take() {
            self.bands[band].since = self.events;
        }
    }

    /// Appends a block, which the host wrote at `time`, to a band that has room.
    fn put(&mut self, lba: u64, band: usize, time: u64) {
        self.kill(lba);
        self.places[lba as usize] = Some((band, self.bands[band].blocks.len()));
        self.times[lba as usize] = time;
        self.bands[band].blocks.push(lba);
        self.bands[band].youngest = self.bands[band].youngest.max(time);
    }

    /// Closes the band that is written if it is full.
    fn close_full(&mut self, band: usize) {
        self.active = Some(band);
        if self.bands[band].blocks.len() == self.band_blocks {
            self.events += 1;
            self.bands[band].since = self.events;
            self.closed.push(band);
            self.active = None;
        }
    }

    /// The band that is written next.
    fn open(&mut self) -> usize {
        while self.active.is_none() {
            if self.empty.len() > self.set.spare {
                self.active = self.empty.pop_first();
            } else {
                self.compact();
            }
        }
        self.active.expect("a band was opened")
    }

    pub fn write(&mut self, lba: u64) {
        let room = self.set.buffer_bands * self.band_blocks;
        if room == 0 {
            return self.append(lba);
        }
        if let Some(at) = self.buffer.iter().position(|block| block.0 == lba) {
            self.host_wrote();
            self.counts.hits += 1;
            self.heat[lba as usize] += u32::from(self.set.buffered_heat);
            self.buffer[at].1 = self.written;
            return;
        }
        if self.buffer.len() == room {
            self.destage();
        }
        self.host_wrote();
        self.warm(lba);
        if !self.set.volatile {
            self.kill(lba);
        }
        self.buffer.push((lba, self.written));
    }

    fn append(&mut self, lba: u64) {
        let band = self.open();
        self.host_wrote();
        self.counts.appended += 1;
        self.warm(lba);
        self.put(lba, band, self.written);
        self.close_full(band);
    }

    fn host_wrote(&mut self) {
        self.written += 1;
        self.counts.host += 1;
    }

    /// A block that is on the disk is overwritten, or one that is not is written.
    fn warm(&mut self, lba: u64) {
        let heat = &mut self.heat[lba as usize];
        *heat = if self.places[lba as usize].is_some() { *heat + 1 } else { 0 };
    }

    pub fn trim(&mut self, lba: u64) {
        self.kill(lba);
        self.buffer.retain(|block| block.0 != lba);
    }

    /// Empties the write buffer.
    pub fn flush(&mut self) {
        while !self.buffer.is_empty() {
            self.destage();
        }
    }

    /// Fills a band from the write buffer with the hot blocks or with the cold ones, whichever are more.
    fn destage(&mut self) {
        let band = self.open();
        let heat = |&(lba, _): &(u64, u64)| self.heat[lba as usize];
        let hot = self.buffer.iter().filter(|block| heat(block) > 0).count();
        let cold = self.buffer.len() - hot;
        let hot_leave = if hot == cold { self.set.hot_at_tie } else { hot > cold };
        let mut leaving: Vec<(u64, u64)> =
            self.buffer.iter().filter(|block| (heat(block) > 0) == hot_leave).copied().collect();
        leaving.sort_by_key(|block| Reverse(heat(block)));
        leaving.truncate(self.band_blocks - self.bands[band].blocks.len());
        self.buffer.retain(|block| !leaving.contains(block));
        self.counts.destaged += leaving.len() as u64;
        for (lba, time) in leaving {
            self.put(lba, band, time);
        }
        self.close_full(band);
    }

    fn compact(&mut self) {
        let room = self.empty.len().min(self.set.spare) * self.band_blocks;
        let (mut victims, mut live) = (Vec::new(), 0);
        while victims.len() < self.set.together {
            // Where victims wait in RAM as many as were asked for are taken, one of which at least has a dead block.
            let is_last = victims.len() + 1 == self.set.together;
            let must_gain = self.set.spare > 0 || is_last && live == victims.len() * self.band_blocks;
            let victim = self.best(must_gain);
            let stay = self.live(victim).len();
            live += stay;
            if self.set.spare > 0 && live > room {
                break;
            }
            self.last_gained = stay < self.band_blocks;
            let place = self.closed.iter().position(|&band| band == victim).expect("victims are closed");
            if self.set.layer == "log-choices" {
                self.closed.swap_remove(place);
            } else {
                self.closed.remove(place);
            }
            victims.push(victim);
        }
        assert!(!victims.is_empty(), "one victim always fits");
        self.rewrite(&victims);
    }

    /// Moves what is live on the victims to empty bands, the last of which the host goes on in.
    fn rewrite(&mut self, victims: &[usize]) {
        let youngest = victims.iter().map(|&band| self.time(band)).max().expect("there is a victim");
        let mut blocks: Vec<u64> = victims.iter().flat_map(|&band| self.live(band)).collect();
        if self.set.hottest_first {
            blocks.sort_by_key(|&lba| Reverse(self.heat[lba as usize]));
        }
        if self.set.spare == 0 {
            self.empty.extend(victims);
            victims.iter().for_each(|&band| self.bands[band] = Band::default());
        }
        for lba in blocks {
            let target = self.active.unwrap_or_else(|| self.empty.pop_first().expect("live blocks fit"));
            let time = if self.set.age == "live" { youngest } else { self.times[lba as usize] };
            self.put(lba, target, time);
            self.bands[target].youngest = youngest;
            self.heat[lba as usize] = 0;
            self.counts.moved += 1;
            self.close_full(target);
        }
        if self.set.spare > 0 {
            self.empty.extend(victims);
            victims.iter().for_each(|&band| self.bands[band] = Band::default());
        }
        self.counts.resets += victims.len() as u64;
    }
}
