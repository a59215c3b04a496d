//! Units in the order of how many blocks each has, as blocks come and go one by one.

/// Units by a count of each, the largest first.
pub struct Ranking {
    /// The units, by descending count.
    ranked: Vec<u32>,
    /// Where each unit stands there.
    place: Vec<u32>,
    count: Vec<u32>,
    /// For each count, how many units have at least as many.
    at_least: Vec<u32>,
}

impl Ranking {
    /// So many units that have nothing.
    pub fn new(units: u32) -> Self {
        let (ranked, count) = ((0..units).collect(), vec![0; units as usize]);
        Self { ranked, place: (0..units).collect(), count, at_least: vec![units] }
    }

    /// A unit has one more.
    pub fn add(&mut self, unit: u32) {
        let more = self.count[unit as usize] as usize + 1;
        if self.at_least.len() <= more {
            self.at_least.push(0);
        }
        // It changes places with the first that has as many, which then is the last that has more.
        self.swap(unit, self.at_least[more]);
        self.at_least[more] += 1;
        self.count[unit as usize] += 1;
    }

    /// A unit has one less.
    pub fn remove(&mut self, unit: u32) {
        let count = self.count[unit as usize] as usize;
        self.at_least[count] -= 1;
        self.swap(unit, self.at_least[count]);
        self.count[unit as usize] -= 1;
    }

    /// The units that have something, and what they have: the largest first.
    pub fn ranked(&self) -> impl Iterator<Item = (u32, u32)> {
        let units = self.ranked.iter().map(|&unit| (unit, self.count[unit as usize]));
        units.take_while(|(_, count)| *count > 0)
    }

    /// No unit has anything any more. Takes as long as there are units that have something.
    pub fn clear(&mut self) {
        let some = self.at_least.get(1).copied().unwrap_or(0);
        self.ranked[..some as usize].iter().for_each(|&unit| self.count[unit as usize] = 0);
        self.at_least.truncate(1);
    }

    fn swap(&mut self, unit: u32, to: u32) {
        let (from, other) = (self.place[unit as usize], self.ranked[to as usize]);
        self.ranked.swap(from as usize, to as usize);
        self.place[unit as usize] = to;
        self.place[other as usize] = from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stand_by_what_they_have() {
        let mut ranking = Ranking::new(4);
        let mut counts = [0u32; 4];
        let mut state = 1u64;
        for _ in 0..2000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (unit, grows) = ((state >> 40) as usize % 4, (state >> 50) % 7 > 2);
            if grows {
                ranking.add(unit as u32);
                counts[unit] += 1;
            } else if counts[unit] > 0 {
                ranking.remove(unit as u32);
                counts[unit] -= 1;
            }
            if (state >> 33).is_multiple_of(97) {
                ranking.clear();
                counts = [0; 4];
            }
            let ranked: Vec<_> = ranking.ranked().collect();
            assert!(ranked.windows(2).all(|two| two[0].1 >= two[1].1), "{ranked:?}");
            assert!(ranked.iter().all(|&(unit, count)| counts[unit as usize] == count));
            assert_eq!(ranked.len(), counts.iter().filter(|count| **count > 0).count());
        }
    }
}
