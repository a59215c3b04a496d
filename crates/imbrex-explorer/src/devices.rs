//! What a run stands on: devices that can lose their power, and how a layer is formatted and opened on them.

use bytes::Bytes;

use super::dice::Dice;
use imbrex_core::block::{Extent, Pba};
use imbrex_core::layer::Unwritten;
use imbrex_core::media::Media;
use imbrex_core::plan::Unit;
use imbrex_engine::rules::Rules;
use imbrex_engine::{IoKind, IoResult, Stack};

/// Why devices cannot be made or used, in words of their own.
pub type DevicesError = Box<dyn std::error::Error + Send + Sync>;

/// The drives of a run and what is on them. Drives are numbered from 0.
pub trait Devices {
    /// Formats the drives and begins to serve them.
    ///
    /// # Errors
    /// What was lost or refused.
    fn format(&mut self, dice: &mut Dice) -> Result<Stack, DevicesError>;

    /// Opens what was formatted, after the power was cut.
    ///
    /// # Errors
    /// What was lost or refused.
    fn open(&mut self, dice: &mut Dice) -> Result<Stack, DevicesError>;

    /// Blocks that the host sees.
    fn capacity(&self) -> u64;

    /// What a block reads as that was never written.
    fn unwritten(&self) -> Unwritten;

    /// The rules of each drive's recording.
    fn media(&self, drive: usize) -> Box<dyn Media>;

    /// How many drives there are.
    fn drives(&self) -> usize;

    /// Where the journal of the layer on a drive lies.
    fn journal(&self, drive: usize) -> Vec<Extent<Pba>>;

    /// Carries an operation out.
    ///
    /// # Errors
    /// When it is illegal: the runner, the layer or the drive has a bug.
    fn perform(&mut self, drive: usize, kind: &IoKind) -> Result<IoResult, DevicesError>;

    /// Lets an operation fail half-way, in a way that only these devices know. False when there is none, and nothing
    /// was done.
    fn partial_fault(&mut self, _drive: usize, _kind: &IoKind, _dice: &mut Dice) -> bool {
        false
    }

    /// Damages something that has a copy, for devices that keep copies of what is not the host's.
    fn damage(&mut self, _dice: &mut Dice) {}

    /// What a block holds, if that is durable.
    fn settled(&self, drive: usize, block: Pba) -> Option<Bytes>;

    /// Makes a block unreadable until it is written again.
    fn make_unreadable(&mut self, drive: usize, block: Pba);

    /// Whether a copy that an epoch has made of a block may count in a later one, though the block can be read elsewhere
    /// until then: if the copy became unreadable meanwhile, the block is lost when it does.
    fn copies_outlive_epochs(&self) -> bool {
        false
    }

    /// Makes a unit read-only.
    fn wear_out(&mut self, drive: usize, unit: Unit);

    /// Power cuts of a run, unless something is found.
    fn cuts(&self) -> u64 {
        8
    }

    /// Cuts the power: what was not flushed survives in part.
    fn cut(&mut self, dice: &mut Dice);

    /// What they are, for a report.
    fn describe(&self) -> String;
}

/// Makes random devices for a run, with the rules that are kept.
pub type MakeDevices = dyn Fn(Rules, &mut Dice) -> Result<Box<dyn Devices>, DevicesError> + Send + Sync;
