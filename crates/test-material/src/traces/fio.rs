//! fio's iologs, in which every tenth write is a trim and a sync follows now and then.

use std::fmt::Write;

use super::lines::{Line, lines, view};
use super::{Kind, Mended, Request, Sample, View, since_first};

const TICK_NS: u64 = 1_000;
const FILES: [&str; 2] = ["/dev/sdq", "/dev/sdr"];
/// The shortest wait of version 2 that is one, in µs.
const SHORTEST_WAIT_US: u64 = 100;

fn action(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Trim => "trim",
    }
}

fn with_trims(requests: &[Request]) -> Vec<Request> {
    let trims = |(i, request): (usize, &Request)| {
        let trims = request.kind == Kind::Write && i % 10 == 3;
        Request { kind: if trims { Kind::Trim } else { request.kind }, ..*request }
    };
    requests.iter().enumerate().map(trims).collect()
}

/// Every action has its stamp.
pub(super) fn version_3(requests: &[Request]) -> Sample {
    let lines = lines(&with_trims(requests), 5_000_000, TICK_NS, 2);
    let mut text = String::from("fio version 3 iolog\n");
    FILES.iter().for_each(|file| text += &format!("1 {file} add\n2 {file} open\n"));
    let mut syncs = 0;
    for (i, Line { ticks, volume, kind, offset_bytes, bytes, .. }) in lines.iter().enumerate() {
        let file = FILES[*volume];
        writeln!(text, "{ticks} {file} {} {offset_bytes} {bytes}", action(*kind)).expect("a string takes all");
        if i % 25 == 9 {
            syncs += 1;
            writeln!(text, "{ticks} {file} datasync 0 0").expect("a string takes all");
        }
    }
    let read = |volume: usize, name| {
        let mut view = View { volume: name, ..view(&lines, volume, TICK_NS, false) };
        view.mended.without_data = syncs;
        view
    };
    let views = vec![read(0, None), read(1, Some(FILES[1]))];
    Sample { name: "fio3.log", format: "fio", content: text.into_bytes(), views }
}

/// Time passes in waits only, and those below 100 µs are none.
pub(super) fn version_2(requests: &[Request]) -> Sample {
    let file = FILES[0];
    let mut text = format!("fio version 2 iolog\n{file} add\n{file} open\n");
    let (mut waited_us, mut before_us) = (0, 0);
    let mut read = Vec::new();
    for request in with_trims(requests) {
        let gap = request.arrival_ns / TICK_NS - before_us;
        before_us += gap;
        waited_us += if gap >= SHORTEST_WAIT_US { gap } else { 0 };
        read.push(Request { arrival_ns: waited_us * TICK_NS, ..request });
        let Request { kind, offset_bytes, bytes, .. } = request;
        writeln!(text, "{file} wait {gap} 0\n{file} {} {offset_bytes} {bytes}", action(kind)).expect("a string");
    }
    text += &format!("{file} sync 0 0\n{file} read 4096 0\n{file} close\n");
    let mended = Mended { zero_size: 1, without_data: 1, ..Mended::default() };
    let views = vec![View { requests: since_first(read), mended, ..View::default() }];
    Sample { name: "fio2.log", format: "fio", content: text.into_bytes(), views }
}
