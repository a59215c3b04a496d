//! Generated requests in formats of text say so by the name of their volume, so that the label survives in files that
//! Imbrex writes: the host in MSR lines, the LUN in SYSTOR '17 lines. Where volumes are chosen from, the chosen one
//! counts.

use super::SYNTHETIC_VOLUME;
use super::lines::{Line, LineFormat};
use super::msr::Msr;
use super::systor17::Systor17;
use crate::TraceFormat;

/// Whether the requests of the volume called `chosen`, or else of that of the first request in `head`, were generated.
pub(super) fn is_synthetic(format: TraceFormat, head: &[u8], chosen: Option<&str>) -> bool {
    let named = |first: Option<&[u8]>| chosen.map(str::as_bytes).or(first).is_some_and(says_synthetic);
    match format {
        TraceFormat::Msr => named(first_volume(Msr, head)),
        TraceFormat::Systor17 => named(first_volume(Systor17, head)),
        _ => false,
    }
}

/// Whether a volume, `LUN` or `host,disk`, is that of generated requests.
fn says_synthetic(volume: &[u8]) -> bool {
    volume.split(|&byte| byte == b',').next() == Some(SYNTHETIC_VOLUME.as_bytes())
}

/// The volume that is read if none is chosen.
fn first_volume<L: LineFormat>(mut format: L, head: &[u8]) -> Option<&[u8]> {
    let lines = head.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let lines = lines.enumerate().filter(|(i, line)| !line.is_empty() && (*i > 0 || !L::is_heading(line)));
    for (_, line) in lines {
        match format.parse(line).ok()? {
            Line::Request(request) if request.bytes > 0 => return Some(request.volume),
            _ => {}
        }
    }
    None
}
