//! What layers count that no move shows: events that several of them have, and counters of a layer's own.

use serde::Serialize;
use serde::ser::SerializeMap;

/// What happened that no Move shows.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Event {
    /// Blocks of a write that updated a block already buffered.
    WriteHit,
    /// Blocks of a read that were served from the buffer.
    ReadHit,
    /// Blocks of a write that went straight to their zone's write pointer, or past a cache that could take none.
    Direct,
    /// Blocks of a write that were let into a buffer which might have let them pass; some buffers let in everything and
    /// do not say so.
    Admitted,
    /// A zone was read, merged and rewritten; on an interlaced disk, a write to a bottom track rewrote what lies over
    /// it.
    Rmw,
    /// A zone took its buffered blocks by appending at its write pointer, or in place.
    RmwFree,
    /// Blocks that left the buffer for their native place.
    Evicted,
    /// A zone's space was made into zones of another kind.
    Converted,
    /// What the layer's own counter of this number counts, see [`crate::counters`].
    Own(u8),
}

impl Event {
    /// Every event that several layers have, in the order in which results list them.
    pub const SHARED: [Self; 8] = [
        Self::WriteHit,
        Self::ReadHit,
        Self::Direct,
        Self::Admitted,
        Self::Rmw,
        Self::RmwFree,
        Self::Evicted,
        Self::Converted,
    ];

    /// How many different ones there are, those of a layer's own included.
    pub const COUNT: usize = Self::SHARED.len() + MOST_COUNTERS;

    /// Its number, below [`Event::COUNT`]: that in [`Event::SHARED`], and behind these the layer's own.
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::WriteHit => 0,
            Self::ReadHit => 1,
            Self::Direct => 2,
            Self::Admitted => 3,
            Self::Rmw => 4,
            Self::RmwFree => 5,
            Self::Evicted => 6,
            Self::Converted => 7,
            Self::Own(number) => Self::SHARED.len() + number as usize,
        }
    }

    /// The name used in results, of a layer with these counters of its own.
    #[must_use]
    pub fn name(self, own: &[Counter]) -> &'static str {
        match self {
            Self::WriteHit => "write_hits",
            Self::ReadHit => "read_hits",
            Self::Direct => "direct",
            Self::Admitted => "admitted",
            Self::Rmw => "rmw",
            Self::RmwFree => "rmw_free",
            Self::Evicted => "evicted",
            Self::Converted => "converted_zones",
            Self::Own(number) => own.get(usize::from(number)).map_or("undeclared", |counter| counter.key),
        }
    }
}

/// The most counters that a layer may declare.
pub const MOST_COUNTERS: usize = 16;

/// A counter that one layer declares, in [`crate::layer::Facts::counters`]. Results have it as `counters.<key>`.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Counter {
    /// Its name in results, in snake case.
    pub key: &'static str,
    /// What is counted, in the plural: blocks, zones, times.
    pub unit: &'static str,
    /// What it means, as a part of a sentence.
    pub meaning: &'static str,
}

/// Declares the counters of a layer: a constant for each, which is the [`Event`] that a plan counts, and
/// `ALL`, which is what the layer's facts say.
///
/// # Examples
/// ```
/// # extern crate imbrex_core as imbrex;
/// mod counters {
///     imbrex::counters! {
///         STOLEN = "stolen_zones", "zones", "taken from the neighbour";
///         RETURNED = "returned_zones", "zones", "given back to it";
///     }
/// }
///
/// let mut plan = imbrex::plan::Plan::new();
/// plan.count(counters::RETURNED, 3);
/// assert_eq!(counters::ALL[1].key, "returned_zones");
/// ```
#[macro_export]
macro_rules! counters {
    ($($name:ident = $key:literal, $unit:literal, $meaning:literal;)+) => {
        #[allow(clippy::upper_case_acronyms, non_camel_case_types, reason = "they are called as the constants are")]
        enum Number { $($name),+ }
        $(
            #[doc = concat!("Counts ", $unit, ": ", $meaning, ".")]
            pub const $name: $crate::event::Event = $crate::event::Event::Own(Number::$name as u8);
        )+
        /// All of them, in the order of their numbers.
        pub const ALL: &[$crate::event::Counter] =
            &[$($crate::event::Counter { key: $key, unit: $unit, meaning: $meaning }),+];
        const _: () = assert!(ALL.len() <= $crate::event::MOST_COUNTERS, "too many counters for one layer");
    };
}

/// What the counters of a layer came to, in the order in which it declares them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counted(Vec<(Counter, u64)>);

impl Counted {
    /// The counts of the declared counters, by their numbers.
    ///
    /// # Panics
    /// With debug assertions, if something was counted that is not declared.
    #[must_use]
    pub fn new(declared: &[Counter], counts: &[u64]) -> Self {
        let lost = counts.iter().skip(declared.len()).position(|count| *count > 0);
        debug_assert_eq!(lost, None, "a counter behind the last of {declared:?} was counted");
        Self(declared.iter().copied().zip(counts.iter().copied()).collect())
    }

    /// What the counter `key` came to; nothing if the layer has none of that name.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<u64> {
        self.0.iter().find(|(counter, _)| counter.key == key).map(|(_, count)| *count)
    }

    /// Each with what it came to.
    pub fn iter(&self) -> impl Iterator<Item = (Counter, u64)> + '_ {
        self.0.iter().copied()
    }

    /// Whether the layer declares none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Counted {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (counter, count) in &self.0 {
            map.serialize_entry(counter.key, count)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: &[Counter] = &[Counter { key: "stolen_zones", unit: "zones", meaning: "taken" }];

    #[test]
    fn what_is_declared_is_found_by_its_name() {
        let counted = Counted::new(DECLARED, &[3, 0]);
        assert_eq!((counted.get("stolen_zones"), counted.get("others")), (Some(3), None));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "a counter behind the last")]
    fn what_is_not_declared_is_not_lost_silently() {
        let _ = Counted::new(DECLARED, &[3, 1]);
    }
}
