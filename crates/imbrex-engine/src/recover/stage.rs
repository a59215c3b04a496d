//! What the stages of recovery have in common.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::found::NewEpoch;
use crate::core::Core;
use crate::fatal::Fatal;
use crate::{IoKind, IoResult, Setup};
use imbrex_core::block::{Extent, Pba};

/// What the drive is asked for, each under a number of the stage's own.
pub(super) type Asked = BTreeMap<u64, IoKind>;

/// Make what was written durable: what several stages ask for, and what is said of a drive that fails it.
pub(super) const DURABLE: &str = "to make durable what was written";
/// What is asked for, and said of a drive that does not report its zones.
pub(super) const ZONES: &str = "to say how its zones stand";

/// The write of a block, under its place's number.
pub(super) fn block_write(at: Pba, content: Bytes) -> (u64, IoKind) {
    (at.to_raw(), IoKind::Write(Extent::new(at, 1), content))
}

/// The reads of parts of the journal, under their first places' numbers.
pub(super) fn reads(parts: Vec<Extent<Pba>>) -> Asked {
    parts.into_iter().map(|part| (part.start.to_raw(), IoKind::Read(part))).collect()
}

/// What a read has given, if anything.
pub(super) fn content(result: &IoResult) -> Option<&Bytes> {
    if let IoResult::Data(data) = result { Some(data) } else { None }
}

/// A stage of recovery. It asks the drive for something until it has what it needs, and makes the next stage of it.
pub(super) trait Stage: Send {
    /// What it asks of the drive now that everything it asked for before has been answered; nothing when it is over.
    fn ask(&mut self, setup: &Setup) -> Asked;

    /// Takes an answer.
    fn answered(&mut self, core: &mut Core, number: u64, result: IoResult);

    /// What follows on this stage when it is over.
    ///
    /// # Errors
    /// Why the store cannot be used.
    fn next(self: Box<Self>, core: &mut Core) -> Result<Next, Fatal>;

    /// A device has failed operations without anything being wrong with them. Only a stage that takes a failure for a
    /// fact about the device has to know.
    fn device_restarted(&mut self) {}
}

/// What follows on a stage.
pub(super) enum Next {
    Stage(Box<dyn Stage>),
    /// The drive has failed to do what is said here, which is tried again from this stage on.
    Retry(Box<dyn Stage>, &'static str),
    /// Recovery is over.
    Epoch(Box<NewEpoch>),
}

impl Next {
    pub fn stage(stage: impl Stage + 'static) -> Self {
        Self::Stage(Box::new(stage))
    }

    pub fn epoch(epoch: NewEpoch) -> Self {
        Self::Epoch(Box::new(epoch))
    }

    pub fn retry(stage: impl Stage + 'static, failed_to: &'static str) -> Self {
        Self::Retry(Box::new(stage), failed_to)
    }
}

/// A single operation that a stage cannot do without.
pub(super) struct Single {
    /// The operation, until it is asked for.
    kind: Option<IoKind>,
    failed: bool,
}

impl Single {
    pub fn new(kind: IoKind) -> Self {
        Self { kind: Some(kind), failed: false }
    }

    pub fn ask(&mut self) -> Asked {
        self.kind.take().map(|kind| (0, kind)).into_iter().collect()
    }

    pub fn answered(&mut self, result: &IoResult) {
        self.failed = matches!(result, IoResult::Failed);
    }

    pub fn has_failed(&self) -> bool {
        self.failed
    }
}
