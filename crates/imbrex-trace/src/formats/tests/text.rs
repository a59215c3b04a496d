//! The formats of text: what is read, and that none is taken for another.

use super::examples::{EXAMPLES, NONE, READ, WRITE, examples};
use super::*;
use crate::{BlockEvent, FORMATS};

fn in_format(format: TraceFormat) -> FileOptions {
    FileOptions { format: Some(format), ..FileOptions::default() }
}

fn of_volume(name: &str) -> FileOptions {
    FileOptions { volume: Some(name.into()), ..FileOptions::default() }
}

#[test]
fn every_format_is_read() {
    for example in EXAMPLES {
        for options in [FileOptions::default(), in_format(example.format), of_volume(example.volume)] {
            let (requests, source) = drain_with(example.text.into(), 2, &options).unwrap();
            let expected: Vec<_> =
                example.requests.iter().map(|&(ns, access, at, n)| request(ns, access, at, n)).collect();
            assert_eq!(requests, expected, "{}", example.format);
            assert_eq!(source.info().format, example.format);
            assert_eq!(source.volume().as_deref(), Some(example.volume));
            assert_eq!(source.irregularities(), example.irregularities, "{}", example.format);
        }
    }
}

#[test]
fn every_format_of_text_has_an_example() {
    // SAC's requests have no volume; `chosen` has them.
    let others = ["vscsi1", "vscsi2", "parquet", "srt", "sac"];
    let of_text = FORMATS.iter().filter(|info| !others.contains(&info.key));
    for info in of_text {
        assert!(examples().any(|(format, _)| format == info.format), "{} has no example", info.name);
        assert_eq!(info.key.parse::<TraceFormat>().unwrap(), info.format);
    }
}

#[test]
fn no_line_follows_two_forms() {
    for (format, text) in examples().filter(|(format, _)| *format != TraceFormat::SsdSim) {
        // From every line on that is followed as this format, no other is recognised.
        let mut rest = text;
        while let Some((_, after)) = rest.split_once('\n') {
            let found: Vec<_> = recognise::texts(rest.as_bytes()).collect();
            assert!(found.iter().all(|other| *other == format) && found.len() <= 1, "{rest:?} is {found:?}");
            rest = after;
        }
        assert_eq!(recognise::recognise(text.as_bytes()), Told::Format(format));
    }
    for content in [vscsi1(COMMANDS), vscsi2(COMMANDS)] {
        assert_eq!(recognise::texts(&content).count(), 0);
    }
}

#[test]
fn what_could_be_anything_is_no_format_unless_named() {
    for (format, text) in
        [(TraceFormat::Tencent, "200,4247200,128,1,1058\n"), (TraceFormat::Tencent, "15383232001,4247200,128,1,1058\n")]
    {
        assert!(error(text).starts_with("t is in no trace format that can be told by its content; name the format"));
        assert_eq!(drain_with(text.into(), 9, &in_format(format)).unwrap().0.len(), 1);
    }
    for text in ["1,2,3,4,5\n", "1538323200,1,2,3,4\n", "1.5 2 3 4\n", "a,R,1,2,3\n", "0,1,2,X,3\n", "fio version 2\n"]
    {
        assert!(error(text).starts_with("t is in no trace format"), "{text}");
    }
}

#[test]
fn volumes_are_chosen() {
    let text = "0,0,512,w,0.0\n2,8,512,w,0.1\n1,16,512,w,0.2\n2,24,512,w,0.3\n";
    let (requests, source) = drain_with(text.into(), 9, &of_volume("2")).unwrap();
    assert_eq!(requests, [request(0, WRITE, 4096, 512), request(200_000_000, WRITE, 12288, 512)]);
    assert_eq!((source.volume(), source.irregularities().other_volumes), (Some("2".into()), 2));
    let message = "t holds no request of volume 7; choose one it has with --volume, such as 0 or 2 or 1";
    assert_eq!(error_with(text, &of_volume("7")), message);
    assert_eq!(
        error_with(vscsi1(COMMANDS), &of_volume("0")),
        "t is VSCSI v1, which has no volume to choose; leave out --volume"
    );
    // A request that is left out does not decide which volume is read.
    assert_eq!(drain(b"0,0,0,w,0\n1,8,512,w,1\n".into(), 9).unwrap().1.volume(), Some("1".into()));
}

#[test]
fn the_event_that_counts_is_chosen() {
    let text = EXAMPLES.iter().find(|example| example.format == TraceFormat::Blkparse).unwrap().text;
    let issued = FileOptions { event: Some(BlockEvent::Issued), ..FileOptions::default() };
    let (requests, _) = drain_with(text.into(), 9, &issued).unwrap();
    assert_eq!(requests, [request(0, READ, 1_444_645_666 * 512, 512 * 512)]);
    let only_queued: String =
        text.lines().filter(|line| !line.contains(" D ")).map(|line| format!("{line}\n")).collect();
    assert_eq!(
        error_with(only_queued, &issued),
        "t holds no D event of a read or write; count another event with --event, or name another trace"
    );
    assert_eq!(error_with(MSR, &issued), "t is MSR CSV, which has no event to choose; leave out --event");
    assert!("C".parse::<BlockEvent>().unwrap_err().to_string().contains("write Q (queued) or D (issued)"));
}

#[test]
fn requests_in_order_of_completion_are_put_in_order_of_arrival() {
    let line = |seconds: u64| format!("{seconds},0.1,R,0,{},512\n", seconds * 512);
    let window = SORT_WINDOW as u64;
    // The first in time comes last of a full window, and another one too late for it.
    let text: String = (1..window).chain([0]).chain(window..2 * window).chain([2]).map(line).collect();
    let (requests, source) = drain(text.into_bytes(), 100).unwrap();
    let expected = (0..=window).chain(window + 1..2 * window);
    let mut offsets: Vec<_> = requests.iter().map(|r| r.offset_bytes / 512).collect();
    let late = offsets.iter().rposition(|&sector| sector == 2).unwrap();
    assert_eq!(requests[late].arrival_ns, requests[late - 1].arrival_ns);
    offsets.remove(late);
    assert!(offsets.into_iter().eq(expected));
    assert_eq!(source.irregularities(), Irregularities { reordered: 2, out_of_order: 1, ..NONE });
    // Requests of one moment stay in the order of the file.
    let same = "5,0,R,0,1,512\n5,0,R,0,2,512\n4,0,R,0,3,512\n4,0,R,0,4,512\n5,0,R,0,5,512\n";
    let (requests, _) = drain(same.into(), 9).unwrap();
    assert!(requests.iter().map(|r| r.offset_bytes).eq([3, 4, 1, 2, 5]));
}
