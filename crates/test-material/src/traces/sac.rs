//! The requests that SAC's authors publish: a block of 4 KiB each, without times.

use super::{Kind, Request, Sample, View};

const BLOCK_BYTES: u32 = 4096;

/// Every block that `requests` touch.
pub(super) fn sample(requests: &[Request]) -> Sample {
    let block_bytes = u64::from(BLOCK_BYTES);
    let (mut text, mut read) = (String::new(), Vec::new());
    for (number, request) in requests.iter().enumerate() {
        let end = (request.offset_bytes + u64::from(request.bytes)).div_ceil(block_bytes);
        for block in request.offset_bytes / block_bytes..end {
            text += &format!("{} {} {block}\n", u8::from(request.kind == Kind::Write), number % 7);
            read.push(Request { arrival_ns: 0, offset_bytes: block * block_bytes, bytes: BLOCK_BYTES, ..*request });
        }
    }
    let views = vec![View { requests: read, ..View::default() }];
    Sample { name: "volume.csv.req", format: "sac", content: text.into_bytes(), views }
}
