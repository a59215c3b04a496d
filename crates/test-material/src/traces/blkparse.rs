//! What blkparse prints: each request as the events of its life, merged with the next where that goes on at its end.

use std::fmt::Write;

use super::{Kind, Mended, Request, Sample, View, since_first};

const DISK: &str = "8,32";
const OTHER: &str = "8,33";
/// The kernel merges requests up to this many bytes.
const MERGED_BYTES: u32 = 512 << 10;
/// From being queued to being issued, in ns, if nothing else is merged in.
const ISSUE_NS: u64 = 9_000;

/// The text so far, with the number of the next event.
struct Events {
    text: String,
    sequence: u32,
}

impl Events {
    fn push(&mut self, disk: &str, at_ns: u64, action: &str, rest: &str) {
        self.sequence += 1;
        let (s, ns, sequence) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000, self.sequence);
        writeln!(self.text, "{disk:>6} {:>3} {sequence:>8} {s:>5}.{ns:09} {:>5} {action:>2} {rest}", 3, 4242)
            .expect("a string takes all");
    }

    fn request(&mut self, disk: &str, at_ns: u64, action: &str, request: &Request) {
        let rwbs = match (request.kind, request.offset_bytes % 3) {
            (Kind::Write, 0) => " WS",
            (Kind::Write, 1) => "FWFS",
            (Kind::Write, _) => "  W",
            (_, 0) => " RA",
            _ => "  R",
        };
        let (sector, sectors) = (request.offset_bytes / 512, request.bytes / 512);
        self.push(disk, at_ns, action, &format!("{rwbs} {sector} + {sectors} [work er]"));
    }
}

/// `requests` as queued, with a view of them as issued.
pub(super) fn sample(requests: &[Request]) -> Sample {
    let mut events = Events { text: String::from("Input file sdc.blktrace.0 added\n\n"), sequence: 0 };
    let (mut issued, mut waiting) = (Vec::new(), None::<Request>);
    let (mut flushes, mut others) = (0, Vec::new());
    for (i, request) in requests.iter().enumerate() {
        let now = request.arrival_ns + 1_850;
        if let Some(merged) = waiting.and_then(|before| merged(before, request)) {
            events.request(DISK, now, "Q", request);
            events.request(DISK, now + 700, "M", request);
            waiting = Some(merged);
        } else {
            issued.extend(waiting.take().map(|before| issue(&mut events, &before)));
            events.request(DISK, now, "Q", request);
            events.request(DISK, now + 500, "G", request);
            events.push(DISK, now + 600, "m", "  N cfq4242S / insert_request");
            events.request(DISK, now + 800, "I", request);
            waiting = Some(*request);
        }
        if i % 20 == 11 {
            flushes += 1;
            events.push(DISK, now + 801, "Q", "FWS [journal]");
        }
        if i % 9 == 2 {
            events.request(OTHER, now + 802, "Q", request);
            others.push(Request { arrival_ns: now + 802, ..*request });
        }
    }
    issued.extend(waiting.map(|before| issue(&mut events, &before)));
    events.text += "CPU3 (8,32):\n Reads Queued:           7,      128KiB\t Writes Queued:           9,      144KiB\n\n\
                    Total (8,32):\n Read depth:             2\n\nThroughput (R/W): 1KiB/s / 2KiB/s\n\
                    Skips: 0 forward (0 -   0.0%)\n";
    let queued = |other_volumes| Mended { without_data: flushes, other_volumes, ..Mended::default() };
    let views = vec![
        View { requests: requests.to_vec(), mended: queued(others.len() as u64), ..View::default() },
        View {
            volume: Some(OTHER),
            mended: queued(requests.len() as u64),
            requests: since_first(others),
            ..View::default()
        },
        View { event: Some('D'), requests: since_first(issued), ..View::default() },
    ];
    Sample { name: "blkparse.txt", format: "blkparse", content: events.text.into_bytes(), views }
}

/// `before` with `next` at its end, where the kernel would do that.
fn merged(before: Request, next: &Request) -> Option<Request> {
    let adjoins = before.kind == next.kind && before.offset_bytes + u64::from(before.bytes) == next.offset_bytes;
    let bytes = before.bytes + next.bytes;
    let arrival_ns = next.arrival_ns;
    (adjoins && bytes <= MERGED_BYTES).then_some(Request { arrival_ns, bytes, ..before })
}

/// Issues `request`, whose arrival is that of the last one merged into it, and says so in `events`.
fn issue(events: &mut Events, request: &Request) -> Request {
    let at_ns = request.arrival_ns + ISSUE_NS;
    events.request(DISK, at_ns, "D", request);
    events.request(DISK, at_ns + 4_000_000, "C", request);
    Request { arrival_ns: at_ns, ..*request }
}
