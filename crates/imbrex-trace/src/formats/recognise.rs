//! Which format a file is in, told by how it begins.
//!
//! Binary formats are told by the version in their records, or by what they begin with. Of a text, the first line that is
//! not empty decides, which must name the columns of a format or follow its form exactly. No line follows two forms:
//! `fio` begins with words, `blkparse` with `MAJOR,MINOR` and a blank, FIU has a word third, DiskSim has no comma; of
//! those with commas, the type is a letter or word in the second, third or fourth field, and a number only for Tencent.
//!
//! Lines of whole numbers alone are no mark. Many of them may be: all that are at hand must follow the form then.

use super::HEAD_BYTES;
use super::alibaba::Alibaba;
use super::blkparse::Blkparse;
use super::disksim::DiskSim;
use super::fio::Fio;
use super::fiu::Fiu;
use super::lines::LineFormat;
use super::msr::Msr;
use super::sac::Sac;
use super::spc::Spc;
use super::srt::Srt;
use super::ssdsim::SsdSim;
use super::systor17::Systor17;
use super::tencent::Tencent;
use super::vscsi::Vscsi;
use crate::TraceFormat;
use crate::format::PARQUET_MAGIC;

/// Fields that are looked at; no format needs more to be told.
const FIELDS: usize = 8;

/// What the beginning of a file tells.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Told {
    Format(TraceFormat),
    /// Lines that follow two formats with different units of time.
    Unclear,
    Nothing,
}

/// The format of a file that begins with `head`.
pub(super) fn recognise(head: &[u8]) -> Told {
    if head.starts_with(PARQUET_MAGIC) {
        return Told::Format(TraceFormat::Parquet);
    }
    if Srt::recognises(head) {
        return Told::Format(TraceFormat::Srt);
    }
    if let Some(format) = Vscsi::recognise(head).or_else(|| texts(head).next()) {
        return Told::Format(format);
    }
    numbers(&whole_lines(head))
}

/// The text formats whose form the first line of `head` follows.
pub(super) fn texts(head: &[u8]) -> impl Iterator<Item = TraceFormat> {
    let line = lines(head).find(|line| !line.is_empty() && !Blkparse::is_preface(line)).unwrap_or_default();
    let is_text = line.iter().all(|&byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
    let fields: Vec<_> = line.split(|&byte| byte == b',').take(FIELDS).collect();
    let forms = [
        (TraceFormat::Fio, Fio::recognises(line)),
        (TraceFormat::Blkparse, Blkparse::recognises(line)),
        (TraceFormat::Fiu, Fiu::recognises(line)),
        (TraceFormat::DiskSim, DiskSim::recognises(line)),
        (TraceFormat::Msr, Msr::is_heading(line) || Msr::recognises(&fields)),
        (TraceFormat::Spc, Spc::recognises(&fields)),
        (TraceFormat::Systor17, Systor17::is_heading(line) || Systor17::recognises(&fields)),
        (TraceFormat::Alibaba, Alibaba::is_heading(line) || Alibaba::recognises(&fields)),
        (TraceFormat::Tencent, Tencent::is_heading(line) || Tencent::recognises(&fields)),
    ];
    forms.into_iter().filter(move |(_, follows)| is_text && *follows).map(|(format, _)| format)
}

/// The format that lines of numbers are in. A time with a fraction is DiskSim's, also where the first has none.
fn numbers(lines: &[&[u8]]) -> Told {
    match lines.first() {
        _ if Sac::recognises(lines) => Told::Format(TraceFormat::Sac),
        _ if SsdSim::recognises(lines) => Told::Format(TraceFormat::SsdSim),
        Some(first) if SsdSim::may_be(first) => match lines.iter().any(|line| DiskSim::recognises(line)) {
            true => Told::Format(TraceFormat::DiskSim),
            false => Told::Unclear,
        },
        _ => Told::Nothing,
    }
}

/// What is to be said of the decision for `format`, which somebody `named` or the content told.
pub(super) fn remarks(head: &[u8], format: TraceFormat, named: bool) -> Vec<String> {
    let said = match (format, named) {
        (TraceFormat::SsdSim, false) => {
            "read as SSDsim's or MQSim's, with times in nanoseconds, by how far apart they are; --trace-format disksim \
             takes them for milliseconds"
        }
        (TraceFormat::DiskSim, true) if SsdSim::recognises(&whole_lines(head)) => {
            "its times look like nanoseconds, and DiskSim's are milliseconds; --trace-format ssdsim reads nanoseconds"
        }
        _ => return Vec::new(),
    };
    vec![said.to_owned()]
}

/// The lines of `head` that are not empty, but for a last one that may be cut short.
fn whole_lines(head: &[u8]) -> Vec<&[u8]> {
    let whole = match head.len() {
        HEAD_BYTES.. => head.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1),
        all => all,
    };
    lines(&head[..whole]).filter(|line| !line.is_empty()).collect()
}

fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}
