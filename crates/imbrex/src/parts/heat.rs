//! How often each block has been overwritten, in pages that take memory only where some block was.

const PAGE: u64 = 2048;

/// A counter for each number, all of them zero at first.
#[derive(Clone, Debug)]
pub struct Heat {
    pages: Vec<Option<Box<[u16; PAGE as usize]>>>,
}

impl Heat {
    /// Counters of the numbers below `length`.
    #[must_use]
    pub fn new(length: u64) -> Self {
        Self { pages: vec![None; length.div_ceil(PAGE) as usize] }
    }

    /// The heat of `at`.
    #[inline]
    #[must_use]
    pub fn get(&self, at: u64) -> u32 {
        self.pages[(at / PAGE) as usize].as_ref().map_or(0, |page| u32::from(page[(at % PAGE) as usize]))
    }

    /// One more. Not counted further than a counter holds.
    pub fn raise(&mut self, at: u64) {
        let page = self.pages[(at / PAGE) as usize].get_or_insert_with(|| Box::new([0; PAGE as usize]));
        let heat = &mut page[(at % PAGE) as usize];
        *heat = heat.saturating_add(1);
    }

    /// At most `left` again.
    pub fn cool(&mut self, at: u64, left: u32) {
        if let Some(page) = &mut self.pages[(at / PAGE) as usize] {
            let heat = &mut page[(at % PAGE) as usize];
            *heat = (*heat).min(u16::try_from(left).unwrap_or(u16::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_until_cooled_and_takes_memory_where_it_counts() {
        let mut heat = Heat::new(3 * PAGE + 1);
        heat.cool(3 * PAGE, 0);
        assert_eq!(heat.get(3 * PAGE), 0);
        (0..70_000).for_each(|_| heat.raise(PAGE + 7));
        heat.raise(PAGE + 8);
        assert_eq!([6, 7, 8, 9].map(|at| heat.get(PAGE + at)), [0, u32::from(u16::MAX), 1, 0]);
        heat.cool(PAGE + 7, 9);
        heat.cool(PAGE + 8, 9);
        assert_eq!([7, 8].map(|at| heat.get(PAGE + at)), [9, 1]);
        heat.cool(PAGE + 7, 0);
        assert_eq!([7, 8].map(|at| heat.get(PAGE + at)), [0, 1]);
        assert_eq!(heat.pages.iter().flatten().count(), 1);
    }
}
