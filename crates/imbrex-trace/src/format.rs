//! The formats of traces by name.

use std::fmt;
use std::str::FromStr;

/// How requests are written down.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TraceFormat {
    /// MSR Cambridge CSV.
    Msr,
    /// CloudPhysics VSCSI, version 1.
    Vscsi1,
    /// CloudPhysics VSCSI, version 2.
    Vscsi2,
    /// DiskSim's ASCII traces.
    DiskSim,
    /// SSDsim's ASCII traces, which MQSim's are like.
    SsdSim,
    /// HP's SRT.
    Srt,
    /// FIU's traces with digests.
    Fiu,
    /// The requests that SAC's authors publish.
    Sac,
    /// The Storage Performance Council's trace format.
    Spc,
    /// What `blkparse` prints.
    Blkparse,
    /// SYSTOR '17 CSV.
    Systor17,
    /// Alibaba block traces.
    Alibaba,
    /// Tencent CBS traces.
    Tencent,
    /// fio's iolog, versions 2 and 3.
    Fio,
    /// Parquet with the columns that `docs/parquet.md` describes.
    Parquet,
    /// Columns in the memory of a program that embeds the library.
    Arrow,
    /// The generator of [`synthetic`](super::synthetic).
    Synthetic,
}

/// A name that is no format's.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no trace format {name:?}; the formats are {known}")]
pub struct NoSuchFormat {
    /// What was asked for.
    pub name: String,
    /// What there is.
    pub known: String,
}

/// A format of trace files as it is listed and chosen.
#[derive(Copy, Clone, Debug)]
pub struct FormatInfo {
    /// Which one.
    pub format: TraceFormat,
    /// What it is called where it is chosen.
    pub key: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What tells it from the others.
    pub recognised: &'static str,
    /// What a file of it holds.
    pub holds: &'static str,
}

/// What a Parquet file begins with.
pub(super) const PARQUET_MAGIC: &[u8] = b"PAR1";

/// The formats of trace files.
pub const FORMATS: &[FormatInfo] = &[
    FormatInfo {
        format: TraceFormat::Msr,
        key: "msr",
        name: "MSR CSV",
        recognised: "7 fields, the fourth Read or Write",
        holds: "MSR Cambridge: timestamp (100 ns), host, disk, type, offset (B), size (B), response time",
    },
    FormatInfo {
        format: TraceFormat::Vscsi1,
        key: "vscsi1",
        name: "VSCSI v1",
        recognised: "version in a record",
        holds: "CloudPhysics, binary records of 32 bytes",
    },
    FormatInfo {
        format: TraceFormat::Vscsi2,
        key: "vscsi2",
        name: "VSCSI v2",
        recognised: "version in a record",
        holds: "CloudPhysics, binary records of 40 bytes",
    },
    FormatInfo {
        format: TraceFormat::DiskSim,
        key: "disksim",
        name: "DiskSim ASCII",
        recognised: "5 fields between blanks, the first with a point",
        holds: "time (ms), device, sector, sectors, flags (hexadecimal; odd is a read)",
    },
    FormatInfo {
        format: TraceFormat::SsdSim,
        key: "ssdsim",
        name: "SSDsim/MQSim ASCII",
        recognised: "5 whole numbers between blanks on many lines, the first far apart, the last 0 or 1",
        holds: "time (ns), device, sector, sectors, 0 write or 1 read",
    },
    FormatInfo {
        format: TraceFormat::SsdSim,
        key: "mqsim",
        name: "SSDsim/MQSim ASCII",
        recognised: "as ssdsim, whose other name it is",
        holds: "the same",
    },
    FormatInfo {
        format: TraceFormat::Spc,
        key: "spc",
        name: "SPC",
        recognised: "5 or more fields, the fourth r or w",
        holds: "Storage Performance Council, UMass: ASU, LBA (512 B), size (B), opcode, timestamp (s)",
    },
    FormatInfo {
        format: TraceFormat::Blkparse,
        key: "blkparse",
        name: "blkparse",
        recognised: "MAJOR,MINOR and six more columns",
        holds: "blkparse's default output: one event a line, sectors of 512 B",
    },
    FormatInfo {
        format: TraceFormat::Systor17,
        key: "systor17",
        name: "SYSTOR'17 CSV",
        recognised: "6 fields, the third R or W",
        holds: "timestamp (s), response time, type, LUN, offset (B), size (B); put in order of time",
    },
    FormatInfo {
        format: TraceFormat::Alibaba,
        key: "alibaba",
        name: "Alibaba CSV",
        recognised: "5 fields, the second R or W",
        holds: "Alibaba block traces: device, opcode, offset (B), length (B), timestamp (us)",
    },
    FormatInfo {
        format: TraceFormat::Tencent,
        key: "tencent",
        name: "Tencent CSV",
        recognised: "5 numbers, the first of 10 digits, the fourth 0 or 1",
        holds: "Tencent CBS: timestamp (s), offset (512 B), size (512 B), 0 read or 1 write, volume",
    },
    FormatInfo {
        format: TraceFormat::Fio,
        key: "fio",
        name: "fio iolog",
        recognised: "the first line, 'fio version N iolog'",
        holds: "versions 2 and 3: file, action, offset (B), length (B)",
    },
    FormatInfo {
        format: TraceFormat::Fiu,
        key: "fiu",
        name: "FIU",
        recognised: "8 or more fields between blanks, the sixth R or W",
        holds: "time (ns), pid, process, lba (512 B), size (512 B), type, major, minor, digests",
    },
    FormatInfo {
        format: TraceFormat::Sac,
        key: "sac",
        name: "SAC requests",
        recognised: "3 whole numbers between blanks on many lines, the first 0 or 1",
        holds: "0 read or 1 write, a number, block (4096 B); no times",
    },
    FormatInfo {
        format: TraceFormat::Srt,
        key: "srt",
        name: "HP SRT",
        recognised: "$$TR_IOREC at the beginning",
        holds: "a text that describes the machine, then binary records; sectors as the text says",
    },
    FormatInfo {
        format: TraceFormat::Parquet,
        key: "parquet",
        name: "Parquet",
        recognised: "PAR1 at the beginning",
        holds: "columns arrival_ns, offset_bytes, bytes, write; see docs/parquet.md",
    },
];

impl TraceFormat {
    /// The entry of this format among [`FORMATS`]; none for what is not a file's.
    fn info(self) -> Option<&'static FormatInfo> {
        FORMATS.iter().find(|info| info.format == self)
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_memory = if *self == Self::Arrow { "Arrow" } else { "synthetic" };
        f.write_str(self.info().map_or(in_memory, |info| info.name))
    }
}

impl FromStr for TraceFormat {
    type Err = NoSuchFormat;

    fn from_str(key: &str) -> Result<Self, NoSuchFormat> {
        let found = FORMATS.iter().find(|info| info.key == key);
        found.map(|info| info.format).ok_or_else(|| NoSuchFormat {
            name: key.into(),
            known: FORMATS.iter().map(|info| info.key).collect::<Vec<_>>().join(", "),
        })
    }
}
