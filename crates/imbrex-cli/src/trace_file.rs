//! How a command lets one choose what a trace file leaves open.

use clap::Args;
use imbrex::trace::{BlockEvent, FileOptions, TraceFormat};

/// How trace files are read; see docs/traces.md.
#[derive(Args)]
pub struct TraceFileArguments {
    /// The format of the trace files, from `imbrex list formats`; otherwise the content tells
    #[arg(long, value_name = "NAME")]
    trace_format: Option<TraceFormat>,
    /// Take the requests of this volume of a trace; otherwise those of its first request's volume
    #[arg(long, value_name = "NAME")]
    volume: Option<String>,
    /// The blkparse events that are requests, Q (queued) or D (issued); otherwise Q
    #[arg(long, value_name = "Q|D")]
    event: Option<BlockEvent>,
}

impl TraceFileArguments {
    /// What was chosen.
    pub fn options(&self) -> FileOptions {
        FileOptions { format: self.trace_format, volume: self.volume.clone(), event: self.event }
    }
}
