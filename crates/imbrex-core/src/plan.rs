//! Plans: the ordered physical operations a layer hands to its runner.
//!
//! A plan says what moves where and why, which map entries change, which units are reset and which space is free again.
//! It performs nothing. The simulating runner prices a plan, the live engine carries it out under the ordering
//! rules of `docs/architecture.md`.

use crate::block::{Extent, Lba, Pba};
pub use crate::event::Event;

/// A unit of reset: a zone, a band, an erase block. A hybrid disk has units beyond its zones whose reset is the
/// activation of a realm's span ([`crate::zones::Realms`]).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit {
    /// The device it belongs to.
    pub device: u8,
    /// Its number on that device.
    pub index: u32,
}

impl Unit {
    /// Unit `index` of the only disk.
    #[must_use]
    #[inline]
    pub const fn disk(index: u32) -> Self {
        Self { device: Pba::DISK, index }
    }
}

impl std::fmt::Debug for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "U{}:{}", self.device, self.index)
    }
}

/// One end of a [`Op::Move`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// Block of the request being served, counted from the front of the extent that was passed to the layer.
    Host(u32),
    /// A physical block; RAM is device 0.
    At(Pba),
    /// A source of zeros.
    Zero,
    /// A source whose content is known to be lost. A read of it is an I/O error, never zeros.
    Lost,
}

/// Why a Move is made. All byte counts are sums over these.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Data of the host's request, to or from its place.
    Host,
    /// Cleaning reads what it is about to destage or rewrite.
    Collect,
    /// Cleaning writes blocks to their native place: buffered ones and the ones around them.
    Destage,
    /// Two places exchange their content.
    Swap,
    /// Data moves to another place of its kind because its space is wanted otherwise: a unit that is converted, a log's
    /// tail.
    Migrate,
    /// Neighbour tracks saved and written back around a write that destroys them.
    Neighbour,
    /// Padding that keeps a zone sequential.
    Pad,
    /// The translation layer's own maps and journal.
    Metadata,
    /// A cache takes a copy of what the host reads. No record may depend on it: it is left out if that cannot be read.
    Promote,
}

impl Why {
    /// Every reason, in the order in which results list them.
    pub const ALL: [Self; 9] = [
        Self::Host,
        Self::Collect,
        Self::Destage,
        Self::Swap,
        Self::Migrate,
        Self::Neighbour,
        Self::Pad,
        Self::Metadata,
        Self::Promote,
    ];

    /// Whether blocks move because a layer cleans or rewrites, and not because somebody asks for them.
    #[must_use]
    pub const fn is_cleaning(self) -> bool {
        matches!(self, Self::Collect | Self::Destage | Self::Swap | Self::Migrate | Self::Neighbour)
    }

    /// The name used in results.
    #[must_use]
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Collect => "collect",
            Self::Destage => "destage",
            Self::Swap => "swap",
            Self::Migrate => "migrate",
            Self::Neighbour => "neighbour",
            Self::Pad => "pad",
            Self::Metadata => "metadata",
            Self::Promote => "promote",
        }
    }
}

/// A change of a layer's durable state: absolute, idempotent, of fixed size.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Record {
    /// The blocks `at` lie at `to` and the blocks after it.
    Map {
        /// Logical blocks.
        at: Extent<Lba>,
        /// Where the first of them lies.
        to: Pba,
    },
    /// Copies of the blocks `at` lie at `to` and the blocks after it. Where the blocks lie has not changed.
    Copy {
        /// Logical blocks.
        at: Extent<Lba>,
        /// Where the copy of the first of them lies.
        to: Pba,
    },
    /// The blocks have no mapped place: they lie where the layer puts unmapped blocks, and are not lost.
    Unmap(Extent<Lba>),
    /// The content of the blocks is lost; they read as an error until they are overwritten.
    Lost(Extent<Lba>),
    /// The role of a unit changed; the layer defines what `is` means.
    Unit {
        /// The unit.
        unit: Unit,
        /// Its role.
        is: u32,
    },
    /// A number under a key; the layer defines both.
    Note {
        /// Which number.
        key: u32,
        /// Its value.
        value: u64,
    },
}

/// One operation of a plan.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// Copy `blocks` blocks.
    Move {
        /// The first source block.
        from: Place,
        /// The first target block.
        to: Place,
        /// How many blocks.
        blocks: u32,
        /// Why.
        why: Why,
        /// Whether the content must be safe in the journal before the target is overwritten (ordering rule 5).
        redo: bool,
    },
    /// Change the map.
    Record {
        /// The change, which the layer has already applied to itself.
        record: Record,
        /// Whether it belongs to the plan's redo entry (ordering rule 5).
        redo: bool,
    },
    /// Empty a unit. Destroys its content; takes effect once every record planned before it is durable.
    Reset(Unit),
    /// Nothing of the layer's is there any more; takes effect once every record planned before it is durable.
    Free(Extent<Pba>),
    /// Something happened `u32` times.
    Count(Event, u32),
}

/// An ordered list of operations. The runner reuses one vector, so that planning does not allocate.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    ops: Vec<Op>,
}

impl Plan {
    /// An empty plan.
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// The operations, in planning order.
    #[must_use]
    #[inline]
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Whether nothing was planned.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Forgets the operations and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.ops.clear();
    }

    /// Adds any operation.
    #[inline]
    pub fn push(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// Copies `blocks` blocks; joins the Move before it when both ends continue there.
    ///
    /// Always inlined: places passed through memory are written in parts and read whole, which stalls.
    #[inline(always)]
    pub fn copy(&mut self, from: Place, to: Place, blocks: u32, why: Why) {
        if let Some(Op::Move { from: f, to: t, blocks: n, why: w, redo: false }) = self.ops.last_mut()
            && *w == why
            && u64::from(*n) + u64::from(blocks) <= u64::from(u32::MAX)
            && f.continued(*n) == from
            && t.continued(*n) == to
        {
            *n += blocks;
            return;
        }
        self.ops.push(Op::Move { from, to, blocks, why, redo: false });
    }

    /// Copies `blocks` blocks with a Move that joins none before it: the one before may end where a unit begins that can
    /// only be written by itself. A Count behind it parts it from what follows.
    #[inline]
    pub fn copy_apart(&mut self, from: Place, to: Place, blocks: u32, why: Why) {
        self.ops.push(Op::Move { from, to, blocks, why, redo: false });
    }

    /// Copies `blocks` blocks through the plan's redo entry.
    #[inline]
    pub fn redo_copy(&mut self, from: Place, to: Place, blocks: u32, why: Why) {
        self.ops.push(Op::Move { from, to, blocks, why, redo: true });
    }

    /// Notes a change of the map.
    #[inline]
    pub fn record(&mut self, record: Record) {
        self.ops.push(Op::Record { record, redo: false });
    }

    /// Notes a change of the map that is durable together with the plan's other redo records and its redo moves, if it
    /// has any.
    #[inline]
    pub fn redo_record(&mut self, record: Record) {
        self.ops.push(Op::Record { record, redo: true });
    }

    /// Empties a unit.
    #[inline]
    pub fn reset(&mut self, unit: Unit) {
        self.ops.push(Op::Reset(unit));
    }

    /// Gives space back; joins the Free before it when it continues there.
    #[inline]
    pub fn free(&mut self, space: Extent<Pba>) {
        if let Some(Op::Free(last)) = self.ops.last_mut()
            && last.end() == space.start
            && last.blocks.checked_add(space.blocks).is_some()
        {
            last.blocks += space.blocks;
            return;
        }
        self.ops.push(Op::Free(space));
    }

    /// Counts an event, unless it happened no times.
    #[inline]
    pub fn count(&mut self, event: Event, times: u32) {
        if times > 0 {
            self.ops.push(Op::Count(event, times));
        }
    }

    /// Counts an event that happened more often than an operation can say.
    #[inline]
    pub fn count_all(&mut self, event: Event, mut times: u64) {
        while times > 0 {
            let some = u32::try_from(times).unwrap_or(u32::MAX);
            self.count(event, some);
            times -= u64::from(some);
        }
    }
}

impl Place {
    /// The place `blocks` blocks further on.
    #[inline]
    #[must_use]
    pub fn continued(self, blocks: u32) -> Self {
        use crate::block::Address;
        match self {
            Self::Host(i) => Self::Host(i + blocks),
            Self::At(pba) => Self::At(pba.plus(u64::from(blocks))),
            Self::Zero => Self::Zero,
            Self::Lost => Self::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_stay_small() {
        assert!(size_of::<Op>() <= 40, "an operation takes {} bytes", size_of::<Op>());
    }

    #[test]
    fn what_is_counted_too_often_for_one_operation_takes_more() {
        let mut plan = Plan::new();
        plan.count_all(Event::Evicted, 0);
        plan.count_all(Event::Evicted, (1 << 32) + 4);
        let of = |times| Op::Count(Event::Evicted, times);
        assert_eq!(plan.ops(), [of(u32::MAX), of(5)]);
    }

    #[test]
    fn neighbouring_moves_and_frees_join() {
        let mut plan = Plan::new();
        plan.copy(Place::Host(0), Place::At(Pba::disk(7)), 1, Why::Host);
        plan.copy(Place::Host(1), Place::At(Pba::disk(8)), 2, Why::Host);
        plan.copy(Place::Host(3), Place::At(Pba::disk(20)), 1, Why::Host);
        plan.free(Extent::new(Pba::disk(1), 1));
        plan.free(Extent::new(Pba::disk(2), 3));
        assert_eq!(
            plan.ops(),
            [
                Op::Move { from: Place::Host(0), to: Place::At(Pba::disk(7)), blocks: 3, why: Why::Host, redo: false },
                Op::Move { from: Place::Host(3), to: Place::At(Pba::disk(20)), blocks: 1, why: Why::Host, redo: false },
                Op::Free(Extent::new(Pba::disk(1), 4)),
            ]
        );
    }
}
