//! What stands in a trace of several volumes, line by line, before any format gives it its form.

use super::{Kind, Mended, Request, View};

/// A line: a request, by its stamp in ticks of the format since some moment, and its volume's number.
#[derive(Copy, Clone, Debug)]
pub(super) struct Line {
    pub ticks: u64,
    /// How long the request took, in ticks.
    pub response: u64,
    pub volume: usize,
    pub kind: Kind,
    pub offset_bytes: u64,
    pub bytes: u32,
}

/// How far a stamp goes back that goes back, in ns.
const BACK_NS: u64 = 2_500_000_000;
/// The longest that a request takes, in ns.
const RESPONSE_NS: u64 = 80_000_000;

/// The lines of `requests` on volume 0, among them requests of no bytes and ones whose stamps go back; between them,
/// where there are several volumes, requests of volume 1.
pub(super) fn lines(requests: &[Request], first_ticks: u64, tick_ns: u64, volumes: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for (i, &Request { arrival_ns, kind, offset_bytes, bytes }) in requests.iter().enumerate() {
        let ticks = first_ticks + arrival_ns / tick_ns;
        let back = if i % 40 == 13 { (BACK_NS / tick_ns).max(1) } else { 0 };
        let response = (1 + i as u64 * 7_654_321 % RESPONSE_NS) / tick_ns;
        let line = Line { ticks: ticks - back, response, volume: 0, kind, offset_bytes, bytes };
        lines.push(line);
        if i % 50 == 20 {
            lines.push(Line { bytes: 0, ticks, ..line });
        }
        if volumes > 1 && i % 6 == 4 {
            lines.push(Line { volume: 1, ticks, offset_bytes: offset_bytes / 1024 * 512, ..line });
        }
    }
    lines
}

/// Puts lines in the order in which their requests were complete.
pub(super) fn by_completion(lines: &mut [Line]) {
    lines.sort_by_key(|line| line.ticks + line.response);
}

/// What is read of one volume: in the order of the lines, a request whose stamp goes back arriving with the one before;
/// or, `sorted`, in the order of the stamps.
pub(super) fn view(lines: &[Line], volume: usize, tick_ns: u64, sorted: bool) -> View {
    let (own, others): (Vec<&Line>, Vec<&Line>) = lines.iter().partition(|line| line.volume == volume);
    let mut mended = Mended { other_volumes: others.len() as u64, ..Mended::default() };
    let (mut with_bytes, without): (Vec<&Line>, Vec<&Line>) = own.into_iter().partition(|line| line.bytes > 0);
    mended.zero_size = without.len() as u64;
    let mut latest = with_bytes[0].ticks;
    let mut arrivals = Vec::new();
    for line in &with_bytes {
        let goes_back = u64::from(line.ticks < latest);
        *(if sorted { &mut mended.reordered } else { &mut mended.out_of_order }) += goes_back;
        latest = latest.max(line.ticks);
        arrivals.push(latest);
    }
    if sorted {
        with_bytes.sort_by_key(|line| line.ticks);
        arrivals = with_bytes.iter().map(|line| line.ticks).collect();
    }
    let requests = arrivals.iter().zip(&with_bytes).map(|(&ticks, line)| Request {
        arrival_ns: (ticks - arrivals[0]) * tick_ns,
        kind: line.kind,
        offset_bytes: line.offset_bytes,
        bytes: line.bytes,
    });
    View { requests: requests.collect(), mended, ..View::default() }
}
