//! Which format a file is in, told by how it begins.
//!
//! Binary formats are told by the version in their records. Of a text, the first line that is not empty decides, which
//! must name the columns of a format or follow its form exactly. No line follows two forms: `fio` begins with words,
//! `blkparse` with `MAJOR,MINOR` and a blank, DiskSim has no comma; of those with commas, the type is a letter or word
//! in the second, third or fourth field, and a number only for Tencent.

use super::alibaba::Alibaba;
use super::blkparse::Blkparse;
use super::disksim::DiskSim;
use super::fio::Fio;
use super::lines::LineFormat;
use super::msr::Msr;
use super::spc::Spc;
use super::systor17::Systor17;
use super::tencent::Tencent;
use super::vscsi::Vscsi;
use crate::TraceFormat;
use crate::format::PARQUET_MAGIC;

/// Fields that are looked at; no format needs more to be told.
const FIELDS: usize = 8;

/// The format of a file that begins with `head`.
pub(super) fn recognise(head: &[u8]) -> Option<TraceFormat> {
    if head.starts_with(PARQUET_MAGIC) {
        return Some(TraceFormat::Parquet);
    }
    Vscsi::recognise(head).or_else(|| texts(head).next())
}

/// The text formats whose form the first line of `head` follows.
pub(super) fn texts(head: &[u8]) -> impl Iterator<Item = TraceFormat> {
    let mut lines = head.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let line = lines.find(|line| !line.is_empty() && !Blkparse::is_preface(line)).unwrap_or_default();
    let is_text = line.iter().all(|&byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
    let fields: Vec<_> = line.split(|&byte| byte == b',').take(FIELDS).collect();
    let forms = [
        (TraceFormat::Fio, Fio::recognises(line)),
        (TraceFormat::Blkparse, Blkparse::recognises(line)),
        (TraceFormat::DiskSim, DiskSim::recognises(line)),
        (TraceFormat::Msr, Msr::is_heading(line) || Msr::recognises(&fields)),
        (TraceFormat::Spc, Spc::recognises(&fields)),
        (TraceFormat::Systor17, Systor17::is_heading(line) || Systor17::recognises(&fields)),
        (TraceFormat::Alibaba, Alibaba::is_heading(line) || Alibaba::recognises(&fields)),
        (TraceFormat::Tencent, Tencent::is_heading(line) || Tencent::recognises(&fields)),
    ];
    forms.into_iter().filter(move |(_, follows)| is_text && *follows).map(|(format, _)| format)
}
