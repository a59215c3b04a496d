//! Formats of one request a line, in columns.

use super::lines::{Line, by_completion, lines, view};
use super::{Kind, Request, Sample, View};

/// A format of columns.
pub(super) struct Columns {
    name: &'static str,
    key: &'static str,
    /// What one count of the stamp is worth.
    tick_ns: u64,
    /// The stamp of the first request.
    first_ticks: u64,
    /// Whether lines stand in the order in which requests were complete.
    by_completion: bool,
    /// A line that names the columns, with its end.
    heading: &'static str,
    /// How the two volumes are named where one is chosen.
    volumes: [&'static str; 2],
    line: fn(&Line) -> String,
}

pub(super) const FORMATS: &[Columns] = &[
    Columns {
        name: "msr.csv",
        key: "msr",
        tick_ns: 100,
        // The spring of 2007, in 100 ns since 1601.
        first_ticks: 128_200_000_012_345_678,
        by_completion: false,
        heading: "",
        volumes: ["alpha,0", "alpha,1"],
        line: msr,
    },
    Columns {
        name: "disksim.ascii",
        key: "disksim",
        tick_ns: 1,
        first_ticks: 17_301_000_000,
        by_completion: false,
        heading: "",
        volumes: ["0", "1"],
        line: disksim,
    },
    Columns {
        name: "ssdsim.ascii",
        key: "ssdsim",
        tick_ns: 1,
        first_ticks: 17_301_000_000,
        by_completion: false,
        heading: "",
        volumes: ["0", "1"],
        line: ssdsim,
    },
    Columns {
        name: "mqsim.trace",
        key: "mqsim",
        tick_ns: 1_000,
        first_ticks: 938_513_000,
        by_completion: false,
        heading: "",
        volumes: ["4", "5"],
        line: mqsim,
    },
    Columns {
        name: "fiu.blkparse",
        key: "fiu",
        tick_ns: 1,
        first_ticks: 89_968_195_792_462,
        by_completion: false,
        heading: "",
        volumes: ["6 0", "6 1"],
        line: fiu,
    },
    Columns {
        name: "spc.csv",
        key: "spc",
        tick_ns: 1_000,
        first_ticks: 5_000_017,
        by_completion: false,
        heading: "",
        volumes: ["0", "1"],
        line: spc,
    },
    Columns {
        name: "systor17.csv",
        key: "systor17",
        tick_ns: 1_000,
        first_ticks: 1_456_000_000_250_000,
        by_completion: true,
        heading: "Timestamp,Response,IOType,LUN,Offset,Size\n",
        volumes: ["0", "1"],
        line: systor17,
    },
    Columns {
        name: "alibaba.csv",
        key: "alibaba",
        tick_ns: 1_000,
        first_ticks: 1_577_800_000_000_007,
        by_completion: false,
        heading: "device_id,opcode,offset,length,timestamp\r\n",
        volumes: ["0", "1"],
        line: alibaba,
    },
    Columns {
        name: "tencent.csv",
        key: "tencent",
        tick_ns: 1_000_000_000,
        first_ticks: 1_538_000_000,
        by_completion: false,
        heading: "",
        volumes: ["0", "1"],
        line: tencent,
    },
];

/// `requests` in a format.
pub(super) fn sample(format: &Columns, requests: &[Request]) -> Sample {
    let mut lines = lines(requests, format.first_ticks, format.tick_ns, format.volumes.len());
    if format.by_completion {
        by_completion(&mut lines);
        // The volume of the first line is what a reader takes unless it is told.
        let first = lines.iter().position(|line| line.volume == 0).expect("a line of the first volume");
        lines.drain(..first);
    }
    let mut text = String::from(format.heading);
    lines.iter().for_each(|line| text += &(format.line)(line));
    let read = |volume, name| View { volume: name, ..view(&lines, volume, format.tick_ns, format.by_completion) };
    let views = vec![read(0, None), read(0, Some(format.volumes[0])), read(1, Some(format.volumes[1]))];
    Sample { name: format.name, format: format.key, content: text.into_bytes(), views }
}

fn letter(kind: Kind, letters: [&'static str; 2]) -> &'static str {
    letters[usize::from(kind == Kind::Write)]
}

/// A number of `10^-places` as a decimal fraction.
fn fraction(number: u64, places: u32) -> String {
    let one = 10u64.pow(places);
    format!("{}.{:0width$}", number / one, number % one, width = places as usize)
}

fn msr(line: &Line) -> String {
    let kind = letter(line.kind, ["Read", "Write"]);
    format!("{},alpha,{},{kind},{},{},{}\n", line.ticks, line.volume, line.offset_bytes, line.bytes, line.response)
}

/// Flags have more bits than that of a read.
fn disksim(line: &Line) -> String {
    let flags = letter(line.kind, ["1", if line.ticks.is_multiple_of(2) { "0" } else { "a" }]);
    let (time, volume) = (fraction(line.ticks, 6), line.volume);
    format!("{time}\t{volume}\t{}\t{}\t{flags}\n", line.offset_bytes / 512, line.bytes / 512)
}

fn ssdsim(line: &Line) -> String {
    let (operation, sector) = (letter(line.kind, ["1", "0"]), line.offset_bytes / 512);
    format!("{} {} {sector} {} {operation}\n", line.ticks, line.volume, line.bytes / 512)
}

/// Times are of microseconds, written in nanoseconds.
fn mqsim(line: &Line) -> String {
    let (operation, sector) = (letter(line.kind, ["1", "0"]), line.offset_bytes / 512);
    format!("{}000 {} {sector} {} {operation}\n", line.ticks, 4 + line.volume, line.bytes / 512)
}

/// Some names of processes have a blank. A digest is of 4 KiB; those after the first are left out here.
fn fiu(line: &Line) -> String {
    let (kind, place) = (letter(line.kind, ["R", "W"]), format!("{} {}", line.offset_bytes / 512, line.bytes / 512));
    let process = if line.ticks.is_multiple_of(3) { "a worker" } else { "gzip" };
    format!("{} 4242 {process} {place} {kind} 6 {} {:032x}\n", line.ticks, line.volume, line.offset_bytes)
}

fn spc(line: &Line) -> String {
    let letters = if line.volume == 0 { ["R", "W"] } else { ["r", "w"] };
    let (kind, time) = (letter(line.kind, letters), fraction(line.ticks, 6));
    format!("{},{},{},{kind},{time}\n", line.volume, line.offset_bytes / 512, line.bytes)
}

fn systor17(line: &Line) -> String {
    let (kind, time) = (letter(line.kind, ["R", "W"]), fraction(line.ticks, 6));
    // Some response times are not known.
    let response = if line.response.is_multiple_of(10) { String::new() } else { fraction(line.response, 6) };
    format!("{time}000,{response},{kind},{},{},{}\n", line.volume, line.offset_bytes, line.bytes)
}

fn alibaba(line: &Line) -> String {
    let kind = letter(line.kind, ["R", "W"]);
    format!("{},{kind},{},{},{}\r\n", line.volume, line.offset_bytes, line.bytes, line.ticks)
}

fn tencent(line: &Line) -> String {
    let kind = letter(line.kind, ["0", "1"]);
    format!("{},{},{},{kind},{}\n", line.ticks, line.offset_bytes / 512, line.bytes / 512, line.volume)
}
