//! An example of each format of text.

use super::*;

/// An example of each format of text with everything that it may hold, and what is read from it.
pub struct Example {
    pub format: TraceFormat,
    pub text: &'static str,
    pub volume: &'static str,
    pub requests: &'static [(u64, Access, u64, u32)],
    pub irregularities: Irregularities,
}

pub const READ: Access = Access::Read;
pub const WRITE: Access = Access::Write;
pub const NONE: Irregularities =
    Irregularities { out_of_order: 0, zero_size: 0, without_data: 0, reordered: 0, other_volumes: 0, unwritten: 0 };

pub const EXAMPLES: &[Example] = &[
    Example {
        format: TraceFormat::Msr,
        text: "Timestamp,Hostname,Disk,Type,Offset,Size,Response\n128166372003061629,hm,1,Read,4096,32768,413\n\
               128166372003061639,hm,0,Write,0,512,1\r\n128166372003061640,hm,1,write,8192,512,1\n",
        volume: "hm,1",
        requests: &[(0, READ, 4096, 32768), (1100, WRITE, 8192, 512)],
        irregularities: Irregularities { other_volumes: 1, ..NONE },
    },
    Example {
        format: TraceFormat::DiskSim,
        text: "26.214000\t0\t303574\t1\t0\n26.214001  0 8 2 1\n 26.2140015 1 8 2 0\n27.5 0 16 0 1\n1 0 9 1 0xB\n",
        volume: "0",
        requests: &[(0, WRITE, 303_574 * 512, 512), (1, READ, 4096, 1024), (1, READ, 9 * 512, 512)],
        irregularities: Irregularities { out_of_order: 1, zero_size: 1, other_volumes: 1, ..NONE },
    },
    Example {
        format: TraceFormat::SsdSim,
        text: "0 0 303567 7 0\n26214000 0 16 8 1\n26214000 1 16 8 1\n26214001 0 8 0 1\n 126214000\t0 24 8 0\r\n\
               126214000 0 32 8 0\n226214000 0 40 8 0\n326214000 0 48 8 0\n426214000 0 56 8 0\n426213999 0 64 8 0\n\
               526214000 0 72 8 0\n",
        volume: "0",
        requests: &[
            (0, WRITE, 303_567 * 512, 7 * 512),
            (26_214_000, READ, 16 * 512, 4096),
            (126_214_000, WRITE, 24 * 512, 4096),
            (126_214_000, WRITE, 32 * 512, 4096),
            (226_214_000, WRITE, 40 * 512, 4096),
            (326_214_000, WRITE, 48 * 512, 4096),
            (426_214_000, WRITE, 56 * 512, 4096),
            (426_214_000, WRITE, 64 * 512, 4096),
            (526_214_000, WRITE, 72 * 512, 4096),
        ],
        irregularities: Irregularities { out_of_order: 1, zero_size: 1, other_volumes: 1, ..NONE },
    },
    Example {
        format: TraceFormat::Fiu,
        text: "89968195792462 20782 gzip 283193184 8 R 6 0 56f11b711d91a065a2b6458eca924523\n\
               89968195792463 4892 a b 1 c 16 8 W 6 0 531e779e39068c10f3988515559f0c8b 01\n\
               89968195792464 1 init 16 8 W 6 1 531e779e39068c10f3988515559f0c8b\n\
               89968195792462 1 init 24 0 R 6 0\n 89968195792562\t1 init 24 8 r 6 0\n",
        volume: "6 0",
        requests: &[(0, READ, 283_193_184 * 512, 4096), (1, WRITE, 8192, 4096), (100, READ, 24 * 512, 4096)],
        irregularities: Irregularities { zero_size: 1, other_volumes: 1, ..NONE },
    },
    Example {
        format: TraceFormat::Spc,
        text: "0,20941264,8192,W,0.551706\n0,8,512,r,0.551706001,more,and,more\n1,8,512,r,1\n0,9,0,R,2\n0,7,1,w,3.5\n",
        volume: "0",
        requests: &[(0, WRITE, 20_941_264 * 512, 8192), (1, READ, 4096, 512), (2_948_294_000, WRITE, 3584, 1)],
        irregularities: Irregularities { zero_size: 1, other_volumes: 1, ..NONE },
    },
    Example {
        format: TraceFormat::Blkparse,
        text: "Input file sdb.blktrace.0 added\n\n\
               \x20 8,16   5        1     0.000000000 18615  A   R 1444645666 + 256 <- (8,17) 1444645632\n\
               \x20 8,16   5        2     0.000001850 18615  Q   R 1444645666 + 256 [java]\n\
               \x20 8,16   5        4     0.000008750 18615  P   N [java]\n\
               \x20 8,16   5        0     0.000012990     0  m   N cfq18615S / insert_request\n\
               \x20 8,16   5        6     0.000031865 18615  D   R 1444645666 + 512 [java]\n\
               \x20 8,16   5        7     0.000031866 18615  Q FWS [jbd2/sdb-8]\n\
               \x20 8,16   5        8     0.000031867 18615  Q FWS 0 + 0 [jbd2/sdb-8]\n\
               \x20 8,16   5        9     0.000031868 18615  Q   D 0 + 4294967295 [fstrim]\n\
               \x20 8,16   5       10     0.000031869 18615  Q   R 255 (12 00 00) [smartctl]\n\
               \x20 8,17   5       11     0.000031870 18615  Q  WS 8 + 8 [java]\n\
               \x20 8,16   5       12     1.000001850 18615  Q WBS 16 + 8 [a b c]\n\
               \x20 8,16   5       13     1.000001850 18615  Q FWFS 24 + 8 (     123) [java]\n\
               CPU0 (8,16):\n Reads Queued:           2,        8KiB\t Writes Queued:           0,        0KiB\n\
               \nTotal (8,16):\n Read depth:             1\n\nThroughput (R/W): 0KiB/s / 0KiB/s\nEvents (8,16): 9 entries\n\
               Skips: 0 forward (0 -   0.0%)\n",
        volume: "8,16",
        requests: &[
            (0, READ, 1_444_645_666 * 512, 256 * 512),
            (1_000_000_000, WRITE, 8192, 4096),
            (1_000_000_000, WRITE, 12288, 4096),
        ],
        irregularities: Irregularities { without_data: 4, other_volumes: 1, ..NONE },
    },
    Example {
        format: TraceFormat::Systor17,
        text: "Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.133076000,0.000806000,R,0,899056122368,131072\n\
               1456095145.126285000,0.008044000,W,0,4096,512\n1456095146,,R,2,0,512\n1456095147.1,0.1,R,0,512,0\n",
        volume: "0",
        requests: &[(0, WRITE, 4096, 512), (6_791_000, READ, 899_056_122_368, 131_072)],
        irregularities: Irregularities { reordered: 1, zero_size: 1, other_volumes: 1, ..NONE },
    },
    Example {
        format: TraceFormat::Alibaba,
        text: "device_id,opcode,offset,length,timestamp\n419,W,8792731648,16384,1577808144360767\n\
               725,R,0,512,1577808144360813\n419,R,0,0,1577808144360814\n419,R,1,3,1577808144360815\n",
        volume: "419",
        requests: &[(0, WRITE, 8_792_731_648, 16384), (48_000, READ, 1, 3)],
        irregularities: Irregularities { zero_size: 1, other_volumes: 1, ..NONE },
    },
    Example {
        format: TraceFormat::Tencent,
        text: "Timestamp,Offset,Size,IOType,VolumeID\n1538323200,4247200,128,1,1058\n1538323199,8,8,0,1058\n\
               1538323199,8,8,0,1063\n1538323202,8,8,0,1058\n",
        volume: "1058",
        requests: &[(0, WRITE, 4_247_200 * 512, 65536), (0, READ, 4096, 4096), (2_000_000_000, READ, 4096, 4096)],
        irregularities: Irregularities { out_of_order: 1, other_volumes: 1, ..NONE },
    },
    Example {
        format: TraceFormat::Fio,
        text: "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb wait 99 0\n/dev/sdb write 4096 512\n\
               /dev/sdb wait 100 0\n/dev/sdc read 0 512\n/dev/sdb sync 0 0\n/dev/sdb wait 1000\n/dev/sdb trim 0 1048576\n\
               /dev/sdb datasync\n/dev/sdb read 0 0\n/dev/sdb close\n",
        volume: "/dev/sdb",
        requests: &[(0, WRITE, 4096, 512), (1_100_000, Access::Trim, 0, 1 << 20)],
        irregularities: Irregularities { zero_size: 1, without_data: 2, other_volumes: 1, ..NONE },
    },
    Example {
        format: TraceFormat::Fio,
        text: "fio version 3 iolog\n7 a add\n8 a open\n10 a write 4096 512\n12 b read 0 512\n13 a sync 0 0\n\
               15 a read 8 512\n99 a close\n",
        volume: "a",
        requests: &[(0, WRITE, 4096, 512), (5_000, READ, 8, 512)],
        irregularities: Irregularities { without_data: 1, other_volumes: 1, ..NONE },
    },
];

pub fn examples() -> impl Iterator<Item = (TraceFormat, &'static str)> {
    EXAMPLES.iter().map(|example| (example.format, example.text))
}
