//! Addresses and extents: the two block number spaces, kept apart by type.

use std::fmt;

/// Bits of a [`Pba`] that number a block inside its device; the bits above name the device.
const DEVICE_SHIFT: u32 = 56;

/// A logical block number, as the host counts.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lba(pub u64);

/// A physical block number: a device and a block on it. Device 0 is RAM.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Pba(u64);

impl Pba {
    /// The device number of RAM: volatile, free of charge, `ram_blocks()` long.
    pub const RAM: u8 = 0;
    /// The device number of the only disk of a set-up without a stack.
    pub const DISK: u8 = 1;

    /// Block `block` of device `device`.
    #[must_use]
    #[inline]
    pub const fn new(device: u8, block: u64) -> Self {
        debug_assert!(block >> DEVICE_SHIFT == 0);
        Self((device as u64) << DEVICE_SHIFT | block)
    }

    /// Block `block` of RAM.
    #[must_use]
    #[inline]
    pub const fn ram(block: u64) -> Self {
        Self::new(Self::RAM, block)
    }

    /// Block `block` of the only disk.
    #[must_use]
    #[inline]
    pub const fn disk(block: u64) -> Self {
        Self::new(Self::DISK, block)
    }

    /// The device this block lies on.
    #[must_use]
    #[inline]
    pub const fn device(self) -> u8 {
        (self.0 >> DEVICE_SHIFT) as u8
    }

    /// The block number inside its device.
    #[must_use]
    #[inline]
    pub const fn block(self) -> u64 {
        self.0 & ((1 << DEVICE_SHIFT) - 1)
    }

    /// Whether the block lies in RAM and so vanishes with the power.
    #[must_use]
    #[inline]
    pub const fn is_ram(self) -> bool {
        self.device() == Self::RAM
    }

    /// The number that encodes device and block together, as journals store it.
    #[must_use]
    #[inline]
    pub const fn to_raw(self) -> u64 {
        self.0
    }

    /// The address that [`Pba::to_raw`] encoded.
    #[must_use]
    #[inline]
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }
}

impl fmt::Debug for Lba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{}", self.0)
    }
}

impl fmt::Debug for Pba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P{}:{}", self.device(), self.block())
    }
}

/// What [`Lba`] and [`Pba`] share, so that extents are written once.
pub trait Address: Copy + Ord + fmt::Debug {
    /// The address `blocks` further on.
    #[must_use]
    fn plus(self, blocks: u64) -> Self;
    /// Blocks from `earlier` to `self`. Both lie on one device and `earlier <= self`.
    fn since(self, earlier: Self) -> u64;
}

impl Address for Lba {
    fn plus(self, blocks: u64) -> Self {
        Self(self.0 + blocks)
    }
    fn since(self, earlier: Self) -> u64 {
        debug_assert!(earlier <= self);
        self.0 - earlier.0
    }
}

impl Address for Pba {
    fn plus(self, blocks: u64) -> Self {
        debug_assert!(self.block() + blocks < 1 << DEVICE_SHIFT);
        Self(self.0 + blocks)
    }
    fn since(self, earlier: Self) -> u64 {
        debug_assert!(earlier <= self && earlier.device() == self.device());
        self.0 - earlier.0
    }
}

/// A run of blocks.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Extent<A> {
    /// The first block.
    pub start: A,
    /// How many blocks; at least one wherever an extent is an argument.
    pub blocks: u32,
}

impl<A: Address> Extent<A> {
    /// `blocks` blocks from `start`.
    #[inline]
    pub const fn new(start: A, blocks: u32) -> Self {
        Self { start, blocks }
    }

    /// The blocks from `start` up to but not including `end`.
    ///
    /// # Panics
    /// When the run is longer than `u32::MAX` blocks.
    #[inline]
    pub fn between(start: A, end: A) -> Self {
        let blocks = u32::try_from(end.since(start)).expect("an extent holds at most u32::MAX blocks");
        Self { start, blocks }
    }

    /// The block after the last.
    #[inline]
    pub fn end(&self) -> A {
        self.start.plus(u64::from(self.blocks))
    }

    /// Whether no block is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// Whether `at` is one of its blocks.
    #[inline]
    pub fn contains(&self, at: A) -> bool {
        self.start <= at && at < self.end()
    }

    /// Whether the two share a block.
    #[inline]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start < other.end() && other.start < self.end()
    }

    /// The blocks both hold, if any.
    #[inline]
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let start = self.start.max(other.start);
        let end = self.end().min(other.end());
        (start < end).then(|| Self::between(start, end))
    }

    /// What remains without the first `blocks` blocks.
    #[must_use]
    #[inline]
    pub fn skip(&self, blocks: u32) -> Self {
        debug_assert!(blocks <= self.blocks);
        Self { start: self.start.plus(u64::from(blocks)), blocks: self.blocks - blocks }
    }

    /// The first `blocks` blocks, or all of them if there are fewer.
    #[must_use]
    #[inline]
    pub fn first(&self, blocks: u32) -> Self {
        Self { start: self.start, blocks: self.blocks.min(blocks) }
    }

    /// Its blocks, one by one.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = A> + use<A> {
        let start = self.start;
        (0..u64::from(self.blocks)).map(move |i| start.plus(i))
    }
}

impl Extent<Lba> {
    /// Whether all its blocks lie below `capacity`. Unlike [`Extent::end`] it takes unchecked extents.
    #[must_use]
    #[inline]
    pub fn is_within(&self, capacity: u64) -> bool {
        self.start.0.checked_add(u64::from(self.blocks)).is_some_and(|end| end <= capacity)
    }
}

impl<A: fmt::Debug> fmt::Debug for Extent<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}+{}", self.start, self.blocks)
    }
}

/// The unit of `unit_blocks` blocks that `block` lies in, and its offset there. Units are few enough to number in 32
/// bits.
///
/// Asked several times for each block that is replayed. Nearly all units are powers of two, and a shift takes a tenth
/// of the time of a division.
#[inline]
#[must_use]
pub fn unit_and_offset(block: u64, unit_blocks: u32) -> (u32, u32) {
    if unit_blocks.is_power_of_two() {
        ((block >> unit_blocks.trailing_zeros()) as u32, block as u32 & (unit_blocks - 1))
    } else {
        let unit_blocks = u64::from(unit_blocks);
        ((block / unit_blocks) as u32, (block % unit_blocks) as u32)
    }
}

/// What a request asks for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Access {
    /// Read blocks.
    Read,
    /// Write blocks.
    Write,
    /// Declare the content of blocks unneeded.
    Trim,
}

/// A request of the host in whole blocks.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// What is asked for.
    pub access: Access,
    /// Where.
    pub at: Extent<Lba>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_and_block_survive_packing() {
        let p = Pba::new(3, 1 << 40);
        assert_eq!((p.device(), p.block()), (3, 1 << 40));
        assert_eq!(Pba::from_raw(p.to_raw()), p);
        assert!(Pba::ram(5).is_ram() && !Pba::disk(5).is_ram());
    }

    #[test]
    fn units_of_any_length_divide_blocks() {
        for unit_blocks in [1, 3, 64, 65_536, u32::MAX] {
            for block in [0, 1, 63, 64, 1 << 30, 0xffff_ffff] {
                let (unit, offset) = unit_and_offset(block, unit_blocks);
                assert!(offset < unit_blocks);
                assert_eq!(u64::from(unit) * u64::from(unit_blocks) + u64::from(offset), block);
            }
        }
    }

    #[test]
    fn extents_cut_and_meet() {
        let e = Extent::new(Lba(10), 5);
        assert_eq!(e.end(), Lba(15));
        assert_eq!(e.skip(2), Extent::new(Lba(12), 3));
        assert_eq!(e.first(2), Extent::new(Lba(10), 2));
        assert_eq!(e.intersection(&Extent::new(Lba(14), 9)), Some(Extent::new(Lba(14), 1)));
        assert_eq!(e.intersection(&Extent::new(Lba(15), 9)), None);
        assert!(!e.overlaps(&Extent::new(Lba(5), 5)));
        assert_eq!(e.iter().count(), 5);
    }
}
