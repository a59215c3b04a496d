//! Traces as lines of text.
//!
//! What the formats ask for and a trace does not say is filled in: response times are 0, the volume is number 0 of a
//! host `trace`, or of a host `synthetic`; LUN 0, or a LUN `synthetic`. Arrivals count from 0.

use std::io::{self, Write};

use super::{TraceWriter, WriteError, WriteFormat, Written, refuse_trims};
use crate::TraceRequest;
use crate::compression::Encoder;
use crate::formats::SYNTHETIC_VOLUME;
use imbrex_core::block::Access;

/// Nanoseconds of a tick of MSR traces.
const MSR_TICK_NS: u64 = 100;

/// The form of a line.
#[derive(Copy, Clone)]
pub(super) enum Line {
    /// `ticks,host,0,Read|Write,offset,size,response`
    Msr {
        /// The host's name.
        host: &'static str,
    },
    /// `seconds,response,R|W,lun,offset,size`
    Systor17 {
        /// The LUN, a number but for generated requests.
        lun: &'static str,
    },
}

impl Line {
    pub(super) fn msr(synthetic: bool) -> Self {
        Self::Msr { host: if synthetic { SYNTHETIC_VOLUME } else { "trace" } }
    }

    pub(super) fn systor17(synthetic: bool) -> Self {
        Self::Systor17 { lun: if synthetic { SYNTHETIC_VOLUME } else { "0" } }
    }

    fn format(self) -> WriteFormat {
        match self {
            Self::Msr { .. } => WriteFormat::Msr,
            Self::Systor17 { .. } => WriteFormat::Systor17,
        }
    }

    fn header(self) -> &'static str {
        match self {
            Self::Msr { .. } => "",
            Self::Systor17 { .. } => "Timestamp,Response,IOType,LUN,Offset,Size\n",
        }
    }

    /// Whether the arrival can be written as it is.
    fn is_exact(self, request: &TraceRequest) -> bool {
        match self {
            Self::Msr { .. } => request.arrival_ns.is_multiple_of(MSR_TICK_NS),
            Self::Systor17 { .. } => true,
        }
    }

    fn write(self, request: &TraceRequest, to: &mut impl Write) -> io::Result<()> {
        let TraceRequest { arrival_ns, offset_bytes, bytes, access } = *request;
        match self {
            Self::Msr { host } => {
                let ticks = arrival_ns / MSR_TICK_NS;
                let access = if access == Access::Write { "Write" } else { "Read" };
                writeln!(to, "{ticks},{host},0,{access},{offset_bytes},{bytes},0")
            }
            Self::Systor17 { lun } => {
                let (seconds, ns) = (arrival_ns / 1_000_000_000, arrival_ns % 1_000_000_000);
                let access = if access == Access::Write { "W" } else { "R" };
                writeln!(to, "{seconds}.{ns:09},0.000000000,{access},{lun},{offset_bytes},{bytes}")
            }
        }
    }
}

/// Writes a line for each request.
pub(super) struct TextWriter<W: Write> {
    line: Line,
    to: Encoder<W>,
    text: Vec<u8>,
    written: Written,
}

impl<W: Write> TextWriter<W> {
    pub(super) fn begin(line: Line, mut to: Encoder<W>) -> io::Result<Self> {
        to.write_all(line.header().as_bytes())?;
        Ok(Self { line, to, text: Vec::new(), written: Written::default() })
    }
}

impl<W: Write> TraceWriter for TextWriter<W> {
    fn write(&mut self, requests: &[TraceRequest]) -> Result<(), WriteError> {
        refuse_trims(self.line.format(), self.written.requests, requests)?;
        self.text.clear();
        for request in requests {
            self.line.write(request, &mut self.text)?;
            self.written.rounded += u64::from(!self.line.is_exact(request));
        }
        self.written.requests += requests.len() as u64;
        Ok(self.to.write_all(&self.text)?)
    }

    fn finish(self: Box<Self>) -> Result<Written, WriteError> {
        self.to.finish()?;
        Ok(self.written)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use crate::write::{WriteFormat, Written, begin};
    use crate::{Compression, TraceFormat, TraceInfo, TraceRequest, formats};
    use imbrex_core::block::Access;

    const REQUESTS: [TraceRequest; 3] = [
        TraceRequest { arrival_ns: 0, offset_bytes: 4096, bytes: 512, access: Access::Read },
        TraceRequest { arrival_ns: 1_250, offset_bytes: 1 << 60, bytes: u32::MAX, access: Access::Write },
        TraceRequest { arrival_ns: 12_000_000_700, offset_bytes: 0, bytes: 1, access: Access::Write },
    ];

    fn written(format: WriteFormat, compression: Compression, synthetic: bool) -> (Vec<u8>, Written) {
        let info = TraceInfo { name: "t".into(), format: TraceFormat::Vscsi1, compression, synthetic };
        let mut bytes = Vec::new();
        let mut writer = begin(format, compression, &info, &mut bytes).unwrap();
        writer.write(&REQUESTS[..1]).unwrap();
        writer.write(&REQUESTS[1..]).unwrap();
        let written = writer.finish().unwrap();
        (bytes, written)
    }

    fn text(format: WriteFormat, synthetic: bool) -> String {
        String::from_utf8(written(format, Compression::None, synthetic).0).unwrap()
    }

    #[test]
    fn requests_become_lines() {
        assert_eq!(
            text(WriteFormat::Msr, false),
            "0,trace,0,Read,4096,512,0\n12,trace,0,Write,1152921504606846976,4294967295,0\n\
             120000007,trace,0,Write,0,1,0\n"
        );
        assert_eq!(
            text(WriteFormat::Systor17, false),
            "Timestamp,Response,IOType,LUN,Offset,Size\n0.000000000,0.000000000,R,0,4096,512\n\
             0.000001250,0.000000000,W,0,1152921504606846976,4294967295\n12.000000700,0.000000000,W,0,0,1\n"
        );
    }

    #[test]
    fn cut_arrivals_are_counted() {
        assert_eq!(written(WriteFormat::Msr, Compression::None, false).1, Written { requests: 3, rounded: 1 });
        assert_eq!(written(WriteFormat::Systor17, Compression::None, false).1, Written { requests: 3, rounded: 0 });
    }

    #[test]
    fn every_compression_is_read_again_and_keeps_the_label() {
        for compression in [Compression::None, Compression::Zstd, Compression::Gzip, Compression::Xz] {
            for (format, unit_ns) in [(WriteFormat::Msr, 100), (WriteFormat::Systor17, 1)] {
                for synthetic in [false, true] {
                    let (bytes, _) = written(format, compression, synthetic);
                    assert_eq!(bytes, written(format, compression, synthetic).0);
                    let mut source = formats::read("t", Cursor::new(bytes)).unwrap();
                    assert_eq!((source.info().compression, source.info().is_synthetic()), (compression, synthetic));
                    let mut batch = Vec::new();
                    source.fill(&mut batch, 9).unwrap();
                    let cut = REQUESTS.map(|r| TraceRequest { arrival_ns: r.arrival_ns / unit_ns * unit_ns, ..r });
                    assert_eq!(batch, cut);
                }
            }
        }
    }

    #[test]
    fn names_tell_compressions() {
        assert_eq!(Compression::of_name("a.csv.zst"), (Compression::Zstd, "a.csv"));
        assert_eq!(Compression::of_name("a.gz"), (Compression::Gzip, "a"));
        assert_eq!(Compression::of_name("b.xz.csv"), (Compression::None, "b.xz.csv"));
    }

    #[test]
    fn what_cannot_be_said_is_refused() {
        let info = TraceInfo {
            name: "t".into(),
            format: TraceFormat::Synthetic,
            compression: Compression::None,
            synthetic: true,
        };
        let mut writer = begin(WriteFormat::Msr, Compression::None, &info, Vec::new()).unwrap();
        let trim = writer.write(&[REQUESTS[0], TraceRequest { access: Access::Trim, ..REQUESTS[1] }]);
        assert!(trim.unwrap_err().to_string().starts_with("request 1 is a trim, which MSR CSV cannot hold"));
    }
}
