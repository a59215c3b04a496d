//! What is decided where nobody says it: the unit of time, the volume, the events that are requests.

use super::examples::{READ, WRITE};
use super::*;
use crate::BlockEvent;

fn in_format(format: TraceFormat) -> FileOptions {
    FileOptions { format: Some(format), ..FileOptions::default() }
}

/// Lines of five numbers whose times are `gap` apart.
fn lines(gap: u64, count: u64) -> String {
    (0..count).map(|i| format!("{} 0 {} 8 {}\n", i * gap, i * 8, i % 2)).collect()
}

#[test]
fn nanoseconds_are_told_from_milliseconds_or_the_format_is_asked_for() {
    for (gap, count) in [(9_999, 50), (10_000, 9), (0, 50), (1, 1)] {
        assert_eq!(
            error(lines(gap, count)),
            "t has five whole numbers a line, times in nanoseconds (SSDsim, MQSim) or in milliseconds (DiskSim), and does \
             not tell which; say --trace-format ssdsim or --trace-format disksim"
        );
        for (format, unit) in [(TraceFormat::SsdSim, 1), (TraceFormat::DiskSim, 1_000_000)] {
            let (requests, _) = drain_with(lines(gap, count).into(), 9, &in_format(format)).unwrap();
            assert_eq!(requests.last().unwrap().arrival_ns, gap * unit * (count - 1));
        }
    }
    let (requests, source) = drain(lines(10_000, 10).into(), 9).unwrap();
    assert_eq!(requests[1], request(10_000, READ, 4096, 4096));
    assert_eq!(requests[2], request(20_000, WRITE, 8192, 4096));
    assert!(source.remarks()[0].contains("nanoseconds") && source.remarks()[0].contains("--trace-format disksim"));
    // Who names the format is told only of what contradicts it.
    let remarks = |format| drain_with(lines(10_000, 10).into(), 9, &in_format(format)).unwrap().1.remarks().to_vec();
    assert_eq!(remarks(TraceFormat::SsdSim), [""; 0]);
    assert!(remarks(TraceFormat::DiskSim)[0].starts_with("its times look like nanoseconds"));
}

#[test]
fn a_fraction_on_any_line_tells_milliseconds() {
    let text = format!("{}900000.5 0 0 8 1\n", lines(90_000, 10));
    let (requests, source) = drain(text.into(), 9).unwrap();
    assert_eq!((source.info().format, source.remarks().len()), (TraceFormat::DiskSim, 0));
    assert_eq!(requests.last().unwrap().arrival_ns, 900_000_500_000);
}

#[test]
fn a_line_that_does_not_fit_leaves_the_format_open() {
    for odd in ["5 0 0 8 2\n", "5 0 0 8 b\n"] {
        assert!(error(format!("{}{odd}", lines(90_000, 10))).starts_with("t has five whole numbers a line"), "{odd}");
    }
    let text = format!("{}5 0 0 8\n", lines(90_000, 10));
    assert!(error(text).starts_with("t has five whole numbers a line"));
}

#[test]
fn requests_of_sac_are_told_by_many_lines() {
    let line = |i: u64| format!("{} 7 {}\n", i % 2, i * 3);
    let many: String = (0..10).map(line).collect();
    let (requests, source) = drain(many.clone().into(), 9).unwrap();
    assert_eq!(requests[..2], [request(0, READ, 0, 4096), request(0, WRITE, 3 * 4096, 4096)]);
    assert_eq!((source.info().format, source.volume()), (TraceFormat::Sac, None));
    let few: String = (0..9).map(line).collect();
    assert!(error(few.clone()).starts_with("t is in no trace format"));
    assert_eq!(drain_with(few.into(), 9, &in_format(TraceFormat::Sac)).unwrap().0.len(), 9);
    let of_volume = FileOptions { volume: Some("0".into()), ..FileOptions::default() };
    assert_eq!(error_with(many, &of_volume), "t is SAC requests, which has no volume to choose; leave out --volume");
}

#[test]
fn the_busiest_volume_is_read() {
    // The second has more requests, the third as many; one of no bytes is none.
    let text = "3,0,512,w,0\n1,8,512,w,1\n2,8,512,w,1\n1,8,512,w,2\n2,8,512,w,2\n3,0,0,w,2\n3,0,0,w,2\n";
    let (requests, source) = drain(text.into(), 9).unwrap();
    assert_eq!((requests.len(), source.volume().as_deref()), (2, Some("1")));
    assert_eq!(source.irregularities().other_volumes, 5);
}

#[test]
fn what_lies_beyond_the_look_does_not_decide() {
    let line = |volume: u64| format!("{volume},0,512,w,0.123456\n");
    let long = LOOK_BYTES / line(1).len();
    // The last line of the look is cut: what is left of its volume is another one.
    let text = format!("{}{}", line(10), line(22).repeat(long * 2));
    assert_eq!(drain(text.into(), 4096).unwrap().1.volume().as_deref(), Some("22"));
    let text = format!("{}{}", line(1).repeat(long), line(2).repeat(long * 2));
    for (_, content) in every_compression(text.as_bytes()) {
        let (requests, source) = drain(content, 4096).unwrap();
        assert_eq!((requests.len(), source.volume().as_deref()), (long, Some("1")));
    }
}

#[test]
fn a_stream_that_breaks_within_the_look_is_read_up_to_there() {
    let long =
        zstd(&(0..20_000).map(|i| format!("{i},h,{},Write,0,512,0\n", i * 7_919)).collect::<String>().into_bytes());
    let cut = long[..long.len() - 9].to_vec();
    let mut source = read_with("t", Cursor::new(cut), &FileOptions::default()).unwrap();
    let (mut batch, mut all) = (Vec::new(), 0);
    let broken = loop {
        match source.fill(&mut batch, 1) {
            Ok(()) => all += batch.len(),
            Err(error) => break error.to_string(),
        }
    };
    assert!(all == 1 && broken.starts_with("the zstd stream of t does not decode ("), "{all}: {broken}");
}

#[test]
fn issued_requests_are_taken_where_none_is_queued() {
    let event = |action: &str, sector: u64| {
        format!("8,16 5 2 0.00000185{} 18615 {action} W {sector} + 8 [java]\n", sector % 10)
    };
    let issued = format!("{}{}{}", event("P", 1), event("D", 2), event("D", 3));
    let (requests, source) = drain(issued.clone().into(), 9).unwrap();
    assert_eq!(requests.len(), 2);
    assert!(source.remarks()[0].contains("issued to the drive (D)") && source.remarks()[0].contains("--event"));
    let both = format!("{issued}{}", event("Q", 4));
    let (requests, source) = drain(both.into(), 9).unwrap();
    assert_eq!((requests, source.remarks().len()), (vec![request(0, WRITE, 2048, 4096)], 0));
    let chosen = FileOptions { event: Some(BlockEvent::Queued), ..FileOptions::default() };
    assert!(error_with(issued, &chosen).starts_with("t holds no Q event"));
    let neither = event("P", 1);
    assert!(error(neither).starts_with("t holds no Q event"));
}

#[test]
fn a_flush_with_data_keeps_its_write() {
    let text = "8,16 5 2 0.1 1 Q FWFS 24 + 8 [java]\n8,16 5 2 0.1 1 Q FWS [java]\n8,16 5 2 0.1 1 Q FF 32 + 8 [java]\n";
    let (requests, source) = drain(text.into(), 9).unwrap();
    assert_eq!(requests, [request(0, WRITE, 24 * 512, 4096)]);
    assert_eq!(source.irregularities().without_data, 2);
}
