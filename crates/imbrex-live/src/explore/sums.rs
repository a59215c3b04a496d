//! Whether images that are explored have checksums.

/// How checksums are explored.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Sums {
    /// There are none.
    #[default]
    None,
    /// They are kept as on a volume that is served.
    Kept,
    /// No region is marked as being written, and the explorer should find what that breaks.
    WithoutIntents,
    /// There are none, and bytes change all the same: the explorer should find that.
    Missing,
}

impl Sums {
    /// Whether blocks have checksums.
    pub(super) fn are_kept(self) -> bool {
        matches!(self, Self::Kept | Self::WithoutIntents)
    }
}
