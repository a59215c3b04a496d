//! How much room the journal of a layer needs, so that no commit ever finds it full.
//!
//! All that make a journal ask here: formatting, a simulation that prices one, and the crash explorer;
//! and the runner, before it uses one.

use std::fmt;

use super::journal::{self, Coding};
use imbrex_core::layer::{JournalFacts, REGION_RECORDS, TranslationLayer};

/// Records gathered before a commit starts of its own accord, unless a number is chosen.
pub const GATHER: usize = 1024;

/// Blocks of a journal that a drive with room to spare gets at least: group commits are then not hurried.
const ROOMY: u64 = 4096;
/// The part of the conventional space that this may take.
const ROOMY_SHARE: u64 = 64;
/// How often a journal is enlarged before it is given up to find a size that suits the map.
const ATTEMPTS: usize = 32;
/// Redo plans whose images have room at a time: three while a checkpoint is completed, five while one is under way.
pub(super) const REDO_PLANS: (u64, u64) = (3, 5);

/// Journal blocks that an entry with this number of redo images takes; none without any.
pub(super) fn redo_entry_blocks(block_bytes: usize, images: u32) -> usize {
    if images == 0 { 0 } else { journal::entry_blocks(0, images as usize, block_bytes) }
}

/// Journal blocks that a checkpoint takes at most: those that its records fill, and a quarter more for what is left in
/// entries, and in commits of which each carries a part of it.
fn checkpoint_blocks(
    &JournalFacts { records, in_order, .. }: &JournalFacts,
    block_bytes: usize,
    coding: Coding,
) -> u64 {
    let payload = journal::payload_bytes(block_bytes) as u64;
    let others = records.saturating_sub(in_order.records) * journal::RECORD_BYTES as u64;
    let filled = match coding {
        // What a volume was formatted with must go on to be enough.
        Coding::Plain => records.div_ceil(payload / journal::RECORD_BYTES as u64),
        Coding::Compact => (others + journal::bytes_in_order(in_order)).div_ceil(payload),
    };
    filled * 5 / 4 + 1
}

/// What the journal of a layer needs, in blocks of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JournalNeed {
    /// A whole checkpoint, entries that are not filled up included.
    checkpoint: u64,
    /// A commit that carries as much of a checkpoint as its records ask for.
    usual: u64,
    /// The images of a redo plan.
    redo: u64,
    /// Records of a checkpoint, and blocks that a redo plan writes, at most.
    most: (u64, u32),
    /// What the layer says would make it less.
    remedy: &'static str,
}

impl JournalNeed {
    /// What a layer needs in blocks of `block_bytes`, with `gather` records gathered before a commit.
    #[must_use]
    pub fn of(facts: &JournalFacts, block_bytes: usize, gather: usize, coding: Coding) -> Self {
        let regions = journal::entry_blocks(2 * 2 * gather + REGION_RECORDS, 0, block_bytes);
        let records = journal::entry_blocks(2 * gather, 0, block_bytes);
        let most = (facts.records, facts.redo_blocks);
        Self {
            checkpoint: checkpoint_blocks(facts, block_bytes, coding),
            usual: (records + regions + 1) as u64,
            redo: redo_entry_blocks(block_bytes, most.1) as u64,
            most,
            remedy: facts.remedy,
        }
    }

    /// Blocks that a copy of the journal must have: what is kept free, and what is in use when a checkpoint that came
    /// bit by bit is complete.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.reserve() + self.checkpoint * 3 / 2 + self.usual + REDO_PLANS.1 * self.redo
    }

    /// What must be free when a commit begins. Else it completes a checkpoint; and since the commit before took no more
    /// than is usual, there is room for one from its first region on, as a new epoch has to write it.
    pub(super) fn reserve(&self) -> u64 {
        self.checkpoint + 2 * self.usual + REDO_PLANS.0 * self.redo
    }

    /// Whether a journal that has room for `have` blocks is long enough.
    ///
    /// # Errors
    /// [`JournalTooShort`] says what takes the room.
    pub fn check(&self, have: u64) -> Result<(), JournalTooShort> {
        if self.blocks() <= have {
            Ok(())
        } else {
            Err(JournalTooShort { need: Box::new(self.clone()), have, full: None })
        }
    }
}

/// A journal has no room for what a layer may write to it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct JournalTooShort {
    need: Box<JournalNeed>,
    have: u64,
    /// What is said of the drive when there is no room for a longer one.
    full: Option<String>,
}

impl fmt::Display for JournalTooShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JournalNeed { checkpoint, usual, redo, most: (records, images), remedy, .. } = *self.need;
        let (blocks, plans) = (self.need.blocks(), REDO_PLANS.0 + REDO_PLANS.1);
        let mut parts = [
            (checkpoint + checkpoint * 3 / 2, format!("checkpoints of a map of up to {records} records")),
            (plans * redo, format!("the images of {plans} redo plans, each of up to {images} blocks")),
            (3 * usual, "commits".to_owned()),
        ];
        parts.sort_by_key(|(blocks, _)| std::cmp::Reverse(*blocks));
        let is_layers = parts[0].0 > 3 * usual;
        let parts = parts.iter().filter(|(blocks, _)| *blocks > 0);
        let parts: Vec<String> = parts.map(|(blocks, what)| format!("{blocks} for {what}")).collect();
        let (have, parts) = (self.have, parts.join(", "));
        if let Some(full) = &self.full {
            return write!(
                f,
                "{full}. A journal needs {blocks} blocks: {parts}; there is room for {have}. Choose {remedy}"
            );
        }
        write!(f, "a journal of {have} blocks is too short, since it needs {blocks}: {parts}; ")?;
        write!(f, "choose --journal-blocks {blocks} or more")?;
        // Nothing that a user may choose makes commits smaller.
        if is_layers { write!(f, ", or {remedy}") } else { Ok(()) }
    }
}

/// How long each copy of a journal is to be, in blocks.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum JournalLength {
    /// This length, or an error.
    Exactly(u32),
    /// This length, or longer where the layer needs it.
    AtLeast(u32),
}

impl JournalLength {
    /// The length that was chosen; or what the layer needs, and a roomy journal on a drive that has the room
    /// among its conventional blocks.
    #[must_use]
    pub fn chosen(blocks: Option<u32>, conventional_blocks: u64) -> Self {
        let roomy = (conventional_blocks / ROOMY_SHARE).min(ROOMY) as u32;
        blocks.map_or(Self::AtLeast(roomy), Self::Exactly)
    }

    /// The length at which the layer that `make` makes beside a journal of that length has what it needs, with `gather`
    /// records gathered before a commit; and that layer. The more the journal takes, the less may be left to map, so
    /// that this comes to an end.
    ///
    /// # Errors
    /// What `make` fails with for the first length, and [`JournalTooShort`].
    pub fn settle<E: From<JournalTooShort> + fmt::Display>(
        self,
        block_bytes: u32,
        gather: usize,
        mut make: impl FnMut(u32) -> Result<Box<dyn TranslationLayer>, E>,
    ) -> Result<(u32, Box<dyn TranslationLayer>), E> {
        let (Self::Exactly(mut blocks) | Self::AtLeast(mut blocks)) = self;
        let (mut attempts, mut made) = (0, None);
        loop {
            let layer = match (make(blocks), made) {
                (Ok(layer), _) => layer,
                (Err(error), None) => return Err(error),
                (Err(error), Some((at, need))) => {
                    let (have, full) = (longest(at, blocks, make), Some(error.to_string()));
                    return Err(JournalTooShort { need: Box::new(need), have: have.into(), full }.into());
                }
            };
            let need = JournalNeed::of(&layer.facts().journal, block_bytes as usize, gather, Coding::Compact);
            let Err(too_short) = need.check(blocks.into()) else { return Ok((blocks, layer)) };
            attempts += 1;
            made = Some((blocks, need.clone()));
            blocks = match (self, u32::try_from(need.blocks())) {
                (Self::AtLeast(_), Ok(longer)) if attempts < ATTEMPTS => longer,
                _ => return Err(too_short.into()),
            };
        }
    }
}

/// The longest journal beside which a layer can be made: one of the first length can, of the second none.
fn longest<T, E>(mut fits: u32, mut too_long: u32, mut make: impl FnMut(u32) -> Result<T, E>) -> u32 {
    while too_long - fits > 1 {
        let between = fits + (too_long - fits) / 2;
        *(if make(between).is_ok() { &mut fits } else { &mut too_long }) = between;
    }
    fits
}
