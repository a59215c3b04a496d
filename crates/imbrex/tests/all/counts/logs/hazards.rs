//! How likely blocks of each class are to die at an age, and what that leaves of their lives: each life half octave by
//! half octave, and each sum from its beginning.

/// Classes of blocks: those that lived for so many octaves the last time, and three more.
pub const CLASSES: usize = 32;
/// Half octaves of ages.
const HALVES: usize = 70;
/// What is presumed of a hazard counts for so many deaths.
const PRESUMED: f64 = 1.0;
/// A block is so many times as old as its half octave begins.
const WITHIN: f64 = 1.2;

pub struct Hazards {
    /// Where the half octaves begin, and where the last one ends.
    starts: Vec<f64>,
    /// The binary logarithm of what a block has left that is in the first half octave and dies in the second.
    left: Vec<Vec<f64>>,
    /// By class and half octave.
    deaths: Vec<Vec<f64>>,
    exposure: Vec<Vec<f64>>,
    rest: Vec<Vec<f64>>,
}

impl Hazards {
    pub fn new() -> Self {
        let start = |half: usize| 2f64.powi(half as i32 / 2) * if half.is_multiple_of(2) { 1.0 } else { 1.5 };
        let starts: Vec<f64> = (0..=HALVES).map(start).collect();
        let left = |is: usize, dies: usize| {
            let here = WITHIN * starts[is];
            let from = if dies == is { here } else { starts[dies] };
            libm::log2(((from + starts[dies + 1]) / 2.0 - here).max(0.5))
        };
        let left = (0..HALVES).map(|is| (0..HALVES).map(|dies| left(is, dies)).collect()).collect();
        let zeros = vec![vec![0.0; HALVES]; CLASSES];
        let mut hazards = Self { starts, left, deaths: zeros.clone(), exposure: zeros.clone(), rest: zeros };
        hazards.conclude();
        hazards
    }

    fn half(&self, age: u64) -> usize {
        self.starts[1..HALVES].iter().take_while(|&&start| start <= age as f64).count()
    }

    /// The octave of a life.
    pub fn octave(&self, life: u64) -> usize {
        self.half(life) / 2
    }

    /// A block of a class has grown from one age to another.
    pub fn lived(&mut self, class: usize, from: u64, to: u64) {
        for half in 0..=self.half(to) {
            let begins = if half == 0 { 0.0 } else { self.starts[half] };
            let there = self.starts[half + 1].min(to as f64) - begins.max(from as f64);
            self.exposure[class][half] += there.max(0.0);
        }
    }

    pub fn died(&mut self, class: usize, age: u64) {
        let half = self.half(age);
        self.deaths[class][half] += 1.0;
    }

    pub fn forget(&mut self) {
        let kept = libm::exp2(-0.25);
        self.deaths.iter_mut().chain(&mut self.exposure).flatten().for_each(|count| *count *= kept);
    }

    /// Works out what is left of lives.
    pub fn conclude(&mut self) {
        let of_all: Vec<f64> = (0..HALVES)
            .map(|half| {
                let all = |of: &[Vec<f64>]| of.iter().map(|class| class[half]).sum::<f64>();
                towards(0.5 / (WITHIN * self.starts[half]), all(&self.deaths), all(&self.exposure))
            })
            .collect();
        for class in 0..CLASSES {
            let hazard = |half: usize| {
                let (deaths, exposure) = (self.deaths[class][half], self.exposure[class][half]);
                towards(towards(of_all[half], deaths, exposure), deaths, exposure)
            };
            let hazards: Vec<f64> = (0..HALVES).map(hazard).collect();
            self.rest[class] = self.rest_of(&hazards);
        }
    }

    /// What is left of a life by the half octave of age, under such hazards.
    fn rest_of(&self, hazards: &[f64]) -> Vec<f64> {
        let survive = |half: usize, from: f64| libm::exp(-hazards[half] * (self.starts[half + 1] - from));
        let whole: Vec<f64> = (0..HALVES).map(|half| survive(half, self.starts[half])).collect();
        let rest = |is: usize| {
            let (mut alive, mut rest) = (1.0, 0.0);
            for (dies, &whole) in whole.iter().enumerate().skip(is) {
                let through = if dies == is { survive(is, WITHIN * self.starts[is]) } else { whole };
                let die = alive * (1.0 - through);
                rest += die * self.left[is][dies];
                alive -= die;
                if alive < 0.0001 {
                    break;
                }
            }
            rest + alive * 35.0
        };
        (0..HALVES).map(rest).collect()
    }

    /// The mean of the binary logarithm of what is left of the life of a block.
    pub fn rest(&self, class: usize, age: u64) -> f64 {
        self.rest[class][self.half(age)]
    }
}

/// A hazard where another one is presumed.
fn towards(presumed: f64, deaths: f64, exposure: f64) -> f64 {
    (deaths + PRESUMED) / (exposure + PRESUMED / presumed)
}
