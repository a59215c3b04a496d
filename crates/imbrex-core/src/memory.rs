//! How much memory something takes.

use std::iter::Sum;
use std::ops::{Add, Mul};

/// The least capacity that a list of small things gets when the first of them comes.
const FIRST: u64 = 8;

/// Bytes of memory: when nothing has been put into something, and at most.
///
/// A bound, from the sizes of what is stored; the allocator's own comes on top. What only drives that lose blocks make
/// it grow by is left out.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Memory {
    /// From the start.
    pub empty: u64,
    /// Whatever is put into it.
    pub most: u64,
}

impl Memory {
    /// `count` values of type `T` that are there from the start.
    #[must_use]
    pub const fn of<T>(count: u64) -> Self {
        let bytes = count * size_of::<T>() as u64;
        Self { empty: bytes, most: bytes }
    }

    /// `count` values of type `T` that are zeros, or room for them: the system gives the memory as they are written.
    #[must_use]
    pub const fn room<T>(count: u64) -> Self {
        Self { empty: 0, most: count * size_of::<T>() as u64 }
    }

    /// At most `most` values of type `T` in a list that grows: it may have room for twice as many.
    #[must_use]
    pub const fn growing<T>(most: u64) -> Self {
        let count = if most == 0 { 0 } else { 2 * most };
        Self::room::<T>(if 0 < count && count < FIRST { FIRST } else { count })
    }

    /// At most `most` values of type `T` in a tree, whose nodes are at least half full.
    #[must_use]
    pub const fn tree<T>(most: u64) -> Self {
        // A node has room for 11, and an inner one for 12 children.
        let node = 11 * size_of::<T>() as u64 + 12 * size_of::<usize>() as u64 + 16;
        Self { empty: 0, most: most.div_ceil(5) * node }
    }
}

impl Add for Memory {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { empty: self.empty + other.empty, most: self.most + other.most }
    }
}

impl Mul<u64> for Memory {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self { empty: self.empty * times, most: self.most * times }
    }
}

impl Sum for Memory {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}
