//! Generated requests in formats of text say so by the name of their volume, so that the label survives in files that
//! Imbrex writes: the host in MSR lines, the LUN in SYSTOR '17 lines.

use super::SYNTHETIC_VOLUME;
use crate::TraceFormat;

/// Whether the requests of `volume` were generated. The volume is a `LUN` or `host,disk`.
pub(super) fn is_synthetic(format: TraceFormat, volume: Option<&[u8]>) -> bool {
    let first = volume.and_then(|name| name.split(|&byte| byte == b',').next());
    matches!(format, TraceFormat::Msr | TraceFormat::Systor17) && first == Some(SYNTHETIC_VOLUME.as_bytes())
}
