//! Space that a layer is asked for in the middle of a replay.

use imbrex::replay::Extension;
use imbrex::trace::TraceRange;

use crate::moment::Moment;
use crate::values::Size;
use crate::written::Written;

/// `SIZE@MOMENT`.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct SpaceAt {
    size: Size,
    at: Moment,
}

impl SpaceAt {
    /// What is asked for, on a workload of this range.
    #[must_use]
    pub fn of(self, range: &TraceRange) -> Extension {
        Extension { bytes: self.size.bytes(), at: self.at.of(range) }
    }
}

impl Written for SpaceAt {
    fn read(text: &str) -> Result<Self, String> {
        let remedy = || "write a size and a moment, such as 25GiB@10%, 25GiB@1000 or 25GiB@1h".to_owned();
        let (size, at) = text.split_once('@').ok_or_else(remedy)?;
        Ok(Self { size: Size::read(size)?, at: Moment::read(at)? })
    }

    fn text(&self) -> String {
        format!("{}@{}", self.size.text(), self.at.text())
    }
}
