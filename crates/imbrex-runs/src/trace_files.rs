//! What a trace file leaves open.

use clap::Args;
use imbrex::trace::{BlockEvent, FORMATS, FileOptions, TraceFormat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::written::{self, Written};

/// How trace files are read; see docs/traces.md.
#[derive(Clone, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TraceFiles {
    /// The format of the trace files, from `imbrex list formats`; otherwise the content tells
    #[arg(long, value_name = "NAME")]
    #[serde(with = "written::optional")]
    #[schemars(with = "Option<String>")]
    pub trace_format: Option<TraceFormat>,
    /// Take the requests of this volume of a trace; otherwise of the busiest at its beginning
    #[arg(long, value_name = "NAME")]
    pub volume: Option<String>,
    /// The blkparse events that are requests, Q (queued) or D (issued); otherwise Q, or D where none is Q
    #[arg(long, value_name = "Q|D")]
    #[serde(with = "written::optional")]
    #[schemars(with = "Option<String>")]
    pub event: Option<BlockEvent>,
}

impl TraceFiles {
    /// What was chosen.
    #[must_use]
    pub fn options(&self) -> FileOptions {
        FileOptions { format: self.trace_format, volume: self.volume.clone(), event: self.event }
    }
}

impl Written for TraceFormat {
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|e| format!("{e}"))
    }

    fn text(&self) -> String {
        FORMATS.iter().find(|info| info.format == *self).map_or_else(|| self.to_string(), |info| info.key.to_owned())
    }
}

impl Written for BlockEvent {
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|e| format!("{e}"))
    }

    fn text(&self) -> String {
        self.letter().to_string()
    }
}
