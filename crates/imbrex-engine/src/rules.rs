//! The ordering rules by number, and a switch for each.
//!
//! The crash explorer is only worth its name if it finds the loss when a rule is not kept. So each rule can be switched
//! off, for `imbrex explore --without RULE` and for the tests that watch the explorer find it. The switches are in builds
//! with the feature `rule-switches` alone; any other keeps every rule, and has no code that asks.

/// An ordering rule of `docs/architecture.md`.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rule {
    /// 1. Plans are numbered as they are made.
    PlansInOrder,
    /// 2. Operations that touch the same blocks run in planning order.
    ConflictsInOrder,
    /// 3. Records become durable after the Moves planned before them.
    RecordsAfterMoves,
    /// 4. A Reset or Free takes effect after the records planned before it are durable.
    ReuseAfterRecords,
    /// 5. Redo moves are in the journal before the first of them is written, and recovery replays them.
    RedoFirst,
    /// 6. What lies in RAM is not recorded.
    NoRecordOfRam,
    /// 7. A recorded place is overwritten only by newer host data of its block, or by a redo move.
    NoOverwrite,
    /// 8. A flush is answered when everything replied to is durable.
    FlushWaits,
    /// 9. A power cut leaves old or new, sector by sector.
    WholeSectors,
    /// 10. An operation that fails ends the layer's epoch.
    FailuresEnd,
    /// 11. A page of the map goes home when the records of all that is in it are durable.
    PagesAfterRecords,
    /// 12. The journal's tail passes a record when the page that it changed is at home.
    PagesBeforeTail,
    /// 13. A page goes to the block that does not hold its newest durable version.
    OtherBlock,
}

impl Rule {
    /// Every rule, by number.
    pub const ALL: [Self; 13] = [
        Self::PlansInOrder,
        Self::ConflictsInOrder,
        Self::RecordsAfterMoves,
        Self::ReuseAfterRecords,
        Self::RedoFirst,
        Self::NoRecordOfRam,
        Self::NoOverwrite,
        Self::FlushWaits,
        Self::WholeSectors,
        Self::FailuresEnd,
        Self::PagesAfterRecords,
        Self::PagesBeforeTail,
        Self::OtherBlock,
    ];

    /// Whether it is about pages of a map, and of no meaning for a layer that has all of its map in memory.
    #[must_use]
    pub fn is_about_pages(self) -> bool {
        self >= Self::PagesAfterRecords
    }

    /// The rule's number, from 1.
    #[must_use]
    pub fn number(self) -> u8 {
        self as u8 + 1
    }

    /// One line.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::PlansInOrder => "plans are numbered as they are made",
            Self::ConflictsInOrder => "operations that touch the same blocks run in planning order",
            Self::RecordsAfterMoves => "records become durable after the moves planned before them",
            Self::ReuseAfterRecords => "resets and frees take effect after the records planned before them are durable",
            Self::RedoFirst => "redo moves are journaled before the first of them is written, and replayed",
            Self::NoRecordOfRam => "what lies in RAM is not recorded",
            Self::NoOverwrite => {
                "a recorded place is overwritten only by newer host data of its block or by a redo move"
            }
            Self::FlushWaits => "a flush is answered when everything replied to is durable",
            Self::WholeSectors => "a power cut leaves old or new, sector by sector",
            Self::FailuresEnd => "an operation that fails ends the layer's epoch",
            Self::PagesAfterRecords => "a page of the map goes home when the records of all that is in it are durable",
            Self::PagesBeforeTail => "the journal's tail passes a record when the page that it changed is at home",
            Self::OtherBlock => "a page goes to the block that does not hold its newest durable version",
        }
    }
}

/// The rules that are kept.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    #[cfg(feature = "rule-switches")]
    off: Option<Rule>,
}

impl Rules {
    /// All rules are kept.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// All rules but one are kept; none in a build without the feature `rule-switches`.
    #[must_use]
    pub fn without(rule: Rule) -> Option<Self> {
        switched::without(rule)
    }

    /// Whether `rule` is kept.
    #[must_use]
    #[inline]
    pub fn keeps(self, rule: Rule) -> bool {
        switched::keeps(self, rule)
    }
}

#[cfg(feature = "rule-switches")]
mod switched {
    use super::{Rule, Rules};

    pub fn without(rule: Rule) -> Option<Rules> {
        Some(Rules { off: Some(rule) })
    }

    pub fn keeps(rules: Rules, rule: Rule) -> bool {
        rules.off != Some(rule)
    }
}

#[cfg(not(feature = "rule-switches"))]
mod switched {
    use super::{Rule, Rules};

    pub const fn without(_: Rule) -> Option<Rules> {
        None
    }

    pub const fn keeps(_: Rules, _: Rule) -> bool {
        true
    }
}
