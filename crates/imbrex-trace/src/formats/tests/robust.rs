//! No content, however wrong, makes a reader panic, hang or break a promise.

use proptest::prelude::*;

use super::examples::examples;
use super::*;
use crate::{BlockEvent, FORMATS};

/// Reads whatever comes, in every format; the requests handed out keep their promises.
fn survives(content: &[u8]) {
    let forced = FORMATS.iter().map(|info| Some(info.format));
    for format in [None].into_iter().chain(forced) {
        let event = (format == Some(TraceFormat::Blkparse)).then_some(BlockEvent::Issued);
        if let Ok((requests, source)) = drain_with(content.into(), 7, &FileOptions { format, event, volume: None }) {
            assert!(!requests.is_empty());
            assert_eq!(requests[0].arrival_ns, 0);
            assert!(requests.is_sorted_by_key(|r| r.arrival_ns));
            assert!(requests.iter().all(|r| r.bytes > 0 && r.blocks(512).blocks > 0));
            assert!(format.is_none_or(|format| source.info().format == format));
        }
    }
}

fn damage(mut content: Vec<u8>, changes: &[(prop::sample::Index, u8)]) -> Vec<u8> {
    for (at, byte) in changes {
        let at = at.index(content.len());
        content[at] = *byte;
    }
    content
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(content in prop::collection::vec(any::<u8>(), 0..300)) {
        for prefix in [&b""[..], b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08", b"\xfd7zXZ\0", &vscsi1(COMMANDS), &vscsi2(COMMANDS)] {
            survives(&[prefix, &content].concat());
        }
        for (_, text) in examples() {
            survives(&[text.as_bytes(), &content].concat());
        }
        for (_, content) in every_compression(&content) {
            survives(&content);
        }
    }

    #[test]
    fn lines_of_anything_never_panic(
        text in "([0-9]{1,12}|[0-9.,+\\- ]{0,12}|[A-Za-z,]{0,6}|[, \n]|[0-9]{18,21}|[QDRWrw]|Read|write|8,16|1\\.5|trim|wait){0,30}"
    ) {
        for (_, example) in examples() {
            survives(format!("{}\n{text}", example.lines().next().unwrap()).as_bytes());
        }
        survives(text.as_bytes());
    }

    #[test]
    fn damaged_traces_never_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        for content in [MSR.to_vec(), vscsi1(COMMANDS), vscsi2(COMMANDS)] {
            for (_, compressed) in every_compression(&content) {
                survives(&damage(compressed, &changes));
            }
            survives(&zstd(&damage(content, &changes)));
        }
    }

    #[test]
    fn damaged_text_never_panics(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"0199 ,.\n-+RWQx\xff".to_vec())), 1..8)
    ) {
        for (_, text) in examples() {
            survives(&damage(text.as_bytes().to_vec(), &changes));
        }
    }
}
