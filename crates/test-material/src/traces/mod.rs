//! A sample of each trace format, with the quirks of the published ones: lines that name the columns, requests of other
//! volumes and of no bytes, stamps that go back, commands without data.
//!
//! A sample is made from requests that are known, so what a reader must find in it is known too.

mod blkparse;
mod columns;
mod fio;
mod lines;
mod packed;
mod sac;
mod srt;
mod vscsi;

pub use packed::{Packing, packed};

/// What a request does.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims; only fio's logs have it.
    Trim,
}

/// A request as it is to be read.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// When it arrives, in ns since the first.
    pub arrival_ns: u64,
    /// What it does.
    pub kind: Kind,
    /// Its first byte, a multiple of 512.
    pub offset_bytes: u64,
    /// Its length, a multiple of 512.
    pub bytes: u32,
}

/// How often a reader has to mend something, as `docs/traces.md` defines it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Mended {
    /// Requests stamped earlier than one before.
    pub out_of_order: u64,
    /// Requests stamped earlier than one before, in a format written in order of completion.
    pub reordered: u64,
    /// Requests of no bytes.
    pub zero_size: u64,
    /// Commands that neither read nor write.
    pub without_data: u64,
    /// Requests of other volumes.
    pub other_volumes: u64,
}

/// What is read from a sample under one choice of options.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct View {
    /// The volume that is asked for; none for the busiest.
    pub volume: Option<&'static str>,
    /// The letter of the event that is asked for; none for the default.
    pub event: Option<char>,
    /// The requests.
    pub requests: Vec<Request>,
    /// What is mended on the way.
    pub mended: Mended,
}

/// A trace file and what is to be read from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The file's name.
    pub name: &'static str,
    /// The format, as `--trace-format` names it.
    pub format: &'static str,
    /// The file.
    pub content: Vec<u8>,
    /// What is read from it; the first without any options.
    pub views: Vec<View>,
}

/// A sample of every format but Parquet, of `count` requests each, at least 20 so that every quirk is there.
#[must_use]
pub fn samples(count: usize) -> Vec<Sample> {
    let requests = requests(count);
    let columns = columns::FORMATS.iter().map(|format| columns::sample(format, &requests));
    let others = [vscsi::version_1(&requests), vscsi::version_2(&requests), blkparse::sample(&requests)];
    let others = others.into_iter().chain([sac::sample(&requests), srt::sample(&requests)]);
    columns.chain(others).chain([fio::version_2(&requests), fio::version_3(&requests)]).collect()
}

/// The sample whose format is called `format`.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn sample(format: &str, count: usize) -> Sample {
    samples(count).into_iter().find(|sample| sample.format == format).expect("a format that has a sample")
}

/// Bytes of the volume that the requests go to.
const VOLUME_BYTES: u64 = 40 << 30;
/// Bytes at its beginning that half of the requests go to.
const HOT_BYTES: u64 = 96 << 20;

/// Reads and writes in bursts: to a hot place, in runs, and anywhere; a good part not aligned to 4 KiB.
#[must_use]
pub fn requests(count: usize) -> Vec<Request> {
    let mut random = Random(20_080_221);
    let (mut now, mut run) = (0, 0);
    let mut next = |_| {
        let bytes = [512, 4096, 4096, 8192, 20_480, 65_536, 131_072][random.below(7) as usize];
        let anywhere = |below: u64, random: &mut Random| random.below((below - (1 << 20)) / 512) * 512;
        let offset_bytes = match random.below(8) {
            0..4 => anywhere(HOT_BYTES, &mut random) / 4096 * 4096,
            4..6 => run,
            _ => anywhere(VOLUME_BYTES, &mut random),
        };
        run = if offset_bytes + 2 * u64::from(bytes) < VOLUME_BYTES { offset_bytes + u64::from(bytes) } else { 0 };
        let kind = if random.below(9) < 5 { Kind::Write } else { Kind::Read };
        let request = Request { arrival_ns: now, kind, offset_bytes, bytes };
        // Now and then a pause of a second or more; else up to 30 ms, some of them next to nothing.
        now += match random.below(20) {
            0 => 1_000_000_000 + random.below(4_000_000_000),
            1..8 => random.below(200_000),
            _ => random.below(30_000_000),
        };
        request
    };
    (0..count).map(&mut next).collect()
}

/// Knuth's linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// `requests` with their arrivals counted from the first.
fn since_first(mut requests: Vec<Request>) -> Vec<Request> {
    let first = requests.first().map_or(0, |request| request.arrival_ns);
    requests.iter_mut().for_each(|request| request.arrival_ns -= first);
    requests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_small_and_have_their_quirks() {
        let samples = samples(400);
        let bytes: usize = samples.iter().map(|sample| sample.content.len()).sum();
        assert!(bytes < 950_000, "{bytes} bytes");
        let mut all = Mended::default();
        for view in samples.iter().flat_map(|sample| &sample.views) {
            assert!(view.requests.len() >= 20, "{view:?}");
            all.out_of_order += view.mended.out_of_order;
            all.reordered += view.mended.reordered;
            all.zero_size += view.mended.zero_size;
            all.without_data += view.mended.without_data;
            all.other_volumes += view.mended.other_volumes;
        }
        let Mended { out_of_order, reordered, zero_size, without_data, other_volumes } = all;
        assert!([out_of_order, reordered, zero_size, without_data, other_volumes].into_iter().all(|times| times > 20));
    }
}
