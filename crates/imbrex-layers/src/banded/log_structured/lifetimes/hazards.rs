//! How likely blocks are to be overwritten at an age, by how long they lived the time before, and how much of their
//! lives that leaves.
//!
//! Ages are in half octaves. A hazard is how many blocks of a class were overwritten at an age, over how long blocks of
//! that class have been of that age. Where little is known, a class is taken to be like all, and all are taken to have as
//! much left as they are old, which is so if nothing sets a scale.

use std::sync::LazyLock;

use imbrex_core::memory::Memory;

/// Half octaves of age: as many as times have.
const AGES: usize = 2 * super::TIME_BITS as usize;
/// Classes of blocks.
const CLASSES: usize = super::CLASSES as usize;
/// Blocks that what is presumed of a hazard counts for.
const PRESUMED: f64 = 1.0;
/// What is left of all hazards each time that some is forgotten: half after four times.
const KEPT: f64 = 0.840_896_415_253_714_6;

/// The half octave of an age.
fn bucket(age: u64) -> usize {
    let octave = age.max(1).ilog2() as usize;
    let half = if octave == 0 { 0 } else { (age >> (octave - 1) & 1) as usize };
    (2 * octave + half).min(AGES - 1)
}

/// The octave of a life.
pub fn octave(life: u64) -> u8 {
    (bucket(life) / 2) as u8
}

/// What follows from half octaves alone.
struct Scale {
    /// Where each begins.
    start: [f64; AGES + 1],
    /// By the one in which a block is and the one in which it is overwritten: the binary logarithm of the time between,
    /// of a block that is somewhat beyond the beginning of the first.
    left: Vec<[f64; AGES]>,
}

/// How far beyond its beginning a block of a half octave is.
const WITHIN: f64 = 1.2;

static SCALE: LazyLock<Scale> = LazyLock::new(|| {
    let start: [f64; AGES + 1] = std::array::from_fn(|i| {
        let octave = libm::exp2((i / 2) as f64);
        if i % 2 == 0 { octave } else { 1.5 * octave }
    });
    let left = |from: usize| {
        let here = WITHIN * start[from];
        std::array::from_fn(|to| {
            let begins = if to == from { here } else { start[to] };
            libm::log2(((begins + start[to + 1]) / 2.0 - here).max(0.5))
        })
    };
    Scale { start, left: (0..AGES).map(left).collect() }
});

impl Scale {
    fn width(&self, age: usize) -> f64 {
        self.start[age + 1] - self.start[age]
    }
}

/// A number for each class and age.
type Table = Vec<[f64; AGES]>;

/// The hazards, and what follows from them.
pub(super) struct Hazards {
    /// Blocks that were overwritten.
    deaths: Table,
    /// Time that blocks have lived.
    exposure: Table,
    /// By how many more blocks each age was lived through as a whole than the one before.
    whole: Table,
    /// The mean of the binary logarithm of what is left of a life.
    rest: Table,
    /// Overwrites to come in a unit of time.
    rate: Table,
    /// Ages for which these are known.
    known: usize,
}

impl Hazards {
    pub fn memory() -> Memory {
        Memory::room::<[f64; AGES]>(5 * CLASSES as u64)
    }

    pub fn new() -> Self {
        let table = || vec![[0.0; AGES]; CLASSES];
        let (deaths, exposure, whole, rest, rate) = (table(), table(), table(), table(), table());
        let mut hazards = Self { deaths, exposure, whole, rest, rate, known: 0 };
        hazards.conclude(0);
        hazards
    }

    /// A block of this class has lived from one age to another.
    pub fn lived(&mut self, class: u8, from: u64, to: u64) {
        if from >= to {
            return;
        }
        let (first, last, class) = (bucket(from), bucket(to), usize::from(class));
        let (exposure, (from, to)) = (&mut self.exposure[class], (from as f64, to as f64));
        if first == last {
            exposure[first] += to - from;
            return;
        }
        exposure[first] += SCALE.start[first + 1] - from;
        exposure[last] += to - SCALE.start[last];
        self.whole[class][first + 1] += 1.0;
        self.whole[class][last] -= 1.0;
    }

    /// One has been overwritten at this age.
    pub fn died(&mut self, class: u8, age: u64) {
        self.deaths[usize::from(class)][bucket(age)] += 1.0;
    }

    /// What was long ago counts for less.
    pub fn forget(&mut self) {
        self.settle();
        let counts = self.deaths.iter_mut().chain(&mut self.exposure).flatten();
        counts.for_each(|count| *count *= KEPT);
    }

    /// Counts the ages that were lived through as a whole.
    fn settle(&mut self) {
        for (exposure, whole) in self.exposure.iter_mut().zip(&mut self.whole) {
            let mut blocks = 0.0;
            for age in 0..AGES {
                blocks += whole[age];
                exposure[age] += blocks * SCALE.width(age);
            }
            *whole = [0.0; AGES];
        }
    }

    /// Concludes how much is left of lives. No block is older than `oldest` now, or soon older than four times that or 256.
    pub fn conclude(&mut self, oldest: u64) {
        self.settle();
        self.known = (bucket(oldest.max(64)) + 4).min(AGES);
        let of_all = self.of_all();
        let mut unseen: Option<usize> = None;
        for class in 0..CLASSES {
            if self.exposure[class].iter().chain(&self.deaths[class]).all(|count| *count == 0.0) {
                if let Some(like) = unseen {
                    (self.rest[class], self.rate[class]) = (self.rest[like], self.rate[like]);
                    continue;
                }
                unseen = Some(class);
            }
            let hazard = self.of_class(class, &of_all);
            self.conclude_class(class, &hazard);
        }
    }

    /// The hazard of all blocks at each age.
    fn of_all(&self) -> [f64; AGES] {
        std::array::from_fn(|age| {
            let sum = |of: &Table| of.iter().map(|class| class[age]).sum::<f64>();
            // Half of those that are so old are overwritten while they grow as old again.
            let presumed = 0.5 / (WITHIN * SCALE.start[age]);
            (sum(&self.deaths) + PRESUMED) / (sum(&self.exposure) + PRESUMED / presumed)
        })
    }

    /// That of a class, which is taken to be like all twice over.
    fn of_class(&self, class: usize, of_all: &[f64; AGES]) -> [f64; AGES] {
        std::array::from_fn(|age| {
            let (deaths, exposure) = (self.deaths[class][age], self.exposure[class][age]);
            let towards = |hazard: f64| (deaths + PRESUMED) / (exposure + PRESUMED / hazard);
            towards(towards(of_all[age]))
        })
    }

    fn conclude_class(&mut self, class: usize, hazard: &[f64; AGES]) {
        let through = |age: usize, from: f64| libm::exp(-hazard[age] * (SCALE.start[age + 1] - from));
        let whole: [f64; AGES] = std::array::from_fn(|age| through(age, SCALE.start[age]));
        for age in 0..self.known {
            let (mut alive, mut rest) = (1.0, 0.0);
            let left = &SCALE.left[age];
            for then in age..AGES {
                let survive = if then == age { through(age, WITHIN * SCALE.start[age]) } else { whole[then] };
                let die = alive * (1.0 - survive);
                rest += die * left[then];
                alive -= die;
                if alive < 1e-4 {
                    break;
                }
            }
            rest += alive * AGES as f64 / 2.0;
            self.rest[class][age] = rest;
            self.rate[class][age] = libm::exp2(-rest);
        }
    }

    fn at(&self, age: u64) -> usize {
        bucket(age).min(self.known - 1)
    }

    /// The mean of the binary logarithm of what is left of the life of a block of a class and an age.
    #[inline]
    pub fn rest(&self, class: u8, age: u64) -> f64 {
        self.rest[usize::from(class)][self.at(age)]
    }

    /// How many overwrites of such a block are to come in a unit of time, as far as that can be said.
    #[inline]
    pub fn rate(&self, class: u8, age: u64) -> f64 {
        self.rate[usize::from(class)][self.at(age)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_apart_by_half_octaves() {
        let buckets = [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 1 << 20].map(bucket);
        assert_eq!(buckets, [0, 0, 2, 3, 4, 4, 5, 5, 6, 6, 7, 40]);
        for age in 1..5000 {
            let (start, end) = (SCALE.start[bucket(age)], SCALE.start[bucket(age) + 1]);
            assert!((start..end).contains(&(age as f64)), "{age}");
        }
    }

    /// In pieces or at once: exposure is the time that was lived, where it was.
    #[test]
    fn exposure_sums_up() {
        let mut hazards = Hazards::new();
        for (from, to) in [(1, 7), (7, 300), (300, 301), (0, 5), (100_000, 100_000)] {
            hazards.lived(3, from, to);
        }
        hazards.settle();
        let sum: f64 = hazards.exposure[3].iter().sum();
        // A block that was just written has lived for one unit as soon as anything can be said of it.
        assert!((sum - (300.0 + 4.0)).abs() < 2.0, "{sum}");
        assert!(
            hazards.exposure.iter().enumerate().all(|(class, of)| class == 3 || of.iter().all(|time| *time == 0.0))
        );
    }

    /// As much is left as a block is old, by median, where nothing is known.
    #[test]
    fn nothing_sets_a_scale_at_first() {
        let mut hazards = Hazards::new();
        hazards.conclude(1 << 22);
        for age in [4_u64, 64, 1 << 12, 1 << 20] {
            let octaves = hazards.rest(7, age) - (age as f64).log2();
            assert!((-0.5..2.5).contains(&octaves), "{age}: {octaves}");
        }
    }

    /// Blocks of one class live for 100 to 120, those of another for 10 000 to 12 000.
    #[test]
    fn what_is_left_follows_how_long_others_lived() {
        let mut hazards = Hazards::new();
        for i in 0..2000 {
            for (class, life) in [(6, 100 + i % 20), (13, 10_000 + i)] {
                hazards.lived(class, 0, life);
                hazards.died(class, life);
            }
        }
        hazards.conclude(20_000);
        let near = |rest: f64, of: f64| assert!((rest - f64::log2(of)).abs() < 1.0, "{} is not near {of}", rest.exp2());
        near(hazards.rest(6, 1), 110.0);
        near(hazards.rest(13, 1), 11_000.0);
        near(hazards.rest(13, 5000), 6000.0);
        assert!(hazards.rest(6, 1000) > hazards.rest(6, 1) + 1.0, "who outlives the others is another kind of block");
        assert!(hazards.rate(6, 1) > 20.0 * hazards.rate(13, 1));
    }

    /// Until the host has written 64 blocks more, or a quarter of what it has written.
    #[test]
    fn what_is_concluded_is_so_for_all_ages_until_the_next_time() {
        for now in [0_u64, 1, 65, 1 << 20] {
            let [mut soon, mut late] = [(); 2].map(|()| Hazards::new());
            soon.conclude(now);
            late.conclude(u64::MAX);
            let oldest = now + (now / 4).max(64);
            assert!((soon.rest(7, oldest) - late.rest(7, oldest)).abs() < 1e-9, "{now}");
        }
    }

    /// They have lived for no time.
    #[test]
    fn blocks_that_are_trimmed_as_soon_as_they_are_written_count() {
        let mut hazards = Hazards::new();
        hazards.died(7, 0);
        hazards.conclude(100);
        assert!(hazards.rest(7, 0) < hazards.rest(8, 0));
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let mut hazards = Hazards::new();
        let live = |hazards: &mut Hazards, life: u64| {
            (0..500).for_each(|_| {
                hazards.lived(6, 0, life);
                hazards.died(6, life);
            });
        };
        live(&mut hazards, 100);
        (0..40).for_each(|_| hazards.forget());
        live(&mut hazards, 5000);
        hazards.conclude(10_000);
        assert!((hazards.rest(6, 1) - f64::log2(5000.0)).abs() < 1.0, "{}", hazards.rest(6, 1));
    }
}
