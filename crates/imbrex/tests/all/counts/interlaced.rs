//! Bottom updates of the layers for interlaced disks, and the blocks they rewrite, against lists of tracks and arcs.
//!
//! The model places every block by enumerating tracks, and finds what lies over a write by comparing arcs one by one;
//! the circumference is counted in units of which every block of either kind of track takes a whole number.

use std::collections::HashSet;

use imbrex::block::Access;
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layers;
use imbrex::plan::Why;
use imbrex::replay::{BufferSize, ReplayOptions, Setup, replay};
use imbrex::trace::Workload;
use imbrex::trace::synthetic::SyntheticSpec;
use imbrex::tracks::{Overlap, Tracks};

use super::requests;

/// A track: group, number on the surface (even ones are bottom tracks) and block.
type Place = (u32, u32, u32);

#[derive(Debug, Default, PartialEq)]
struct Counts {
    updates: u64,
    rewritten: u64,
    host: u64,
}

struct Model {
    tracks: Tracks,
    places: Vec<Place>,
    allocated: HashSet<Place>,
    longest: u32,
    counts: Counts,
}

impl Model {
    fn new(tracks: Tracks, layer: &str, utilisation: f64, longest: u32) -> Self {
        let mut order: Vec<(u32, u32)> = Vec::new();
        let mut add = |numbers: Vec<u32>| {
            for group in 0..tracks.groups {
                order.extend(numbers.iter().map(|number| (group, *number)));
            }
        };
        add((0..tracks.bottom_tracks).map(|i| 2 * i).collect());
        let tops: Vec<u32> = (0..tracks.top_tracks).map(|j| 2 * j + 1).collect();
        match layer {
            "seagate" => {
                add(tops.iter().copied().step_by(2).collect());
                add(tops.iter().copied().skip(1).step_by(2).collect());
            }
            _ => add(tops),
        }
        let length = |number: u32| if number.is_multiple_of(2) { tracks.bottom_blocks } else { tracks.top_blocks };
        let mut places: Vec<Place> =
            order.iter().flat_map(|&(group, n)| (0..length(n)).map(move |block| (group, n, block))).collect();
        places.truncate((places.len() as f64 * utilisation) as usize);
        let allocated = places.iter().copied().collect();
        Self { tracks, places, allocated, longest, counts: Counts::default() }
    }

    /// Where a block begins on the circumference, and how long it is there.
    fn arc(&self, (_, number, block): Place) -> (u64, u64) {
        let (bottoms, tops) = (u64::from(self.tracks.bottom_blocks), u64::from(self.tracks.top_blocks));
        let width = if number.is_multiple_of(2) { tops } else { bottoms };
        let begin = u64::from(number / 2) * u64::from(self.tracks.skew_blocks) * bottoms;
        ((begin + u64::from(block) * width) % (bottoms * tops), width)
    }

    fn lies_over(&self, top: Place, bottom: Place) -> bool {
        let turn = u64::from(self.tracks.bottom_blocks) * u64::from(self.tracks.top_blocks);
        let ((a, long), (b, wide)) = (self.arc(top), self.arc(bottom));
        let after = |from: u64, to: u64| (to + turn - from) % turn;
        match self.tracks.overlap {
            Overlap::Angle => after(a, b) < long || after(b, a) < wide,
            Overlap::Block => after(a, b) < long,
            Overlap::Track => true,
        }
    }

    fn write(&mut self, first: u64, blocks: u64) {
        self.counts.host += blocks;
        let written = self.places[first as usize..(first + blocks) as usize].to_vec();
        for piece in written.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            for piece in piece.chunks(self.longest as usize) {
                self.write_piece(piece);
            }
        }
    }

    fn write_piece(&mut self, piece: &[Place]) {
        let (group, number, _) = piece[0];
        if !number.is_multiple_of(2) {
            return;
        }
        let beside = [number.checked_sub(1), Some(number + 1)].into_iter().flatten();
        let tops = beside.flat_map(|n| (0..self.tracks.top_blocks).map(move |block| (group, n, block)));
        let saved = tops
            .filter(|top| self.allocated.contains(top))
            .filter(|top| piece.iter().any(|bottom| self.lies_over(*top, *bottom)))
            .count() as u64;
        self.counts.rewritten += saved;
        self.counts.updates += u64::from(saved > 0);
    }
}

fn compare(workload: &Workload, tracks: Tracks, layer: &str, utilisation: f64, update_blocks: u32) -> Counts {
    let mut drive = DrivePreset::named("tiny-interlaced").unwrap();
    drive.media = MediaSpec::Interlaced(tracks);
    let config: toml::Table =
        format!("utilisation = {utilisation:?}\nupdate_blocks = {update_blocks}").parse().unwrap();
    let options = ReplayOptions { verify: true, ..ReplayOptions::default() };
    let info = layers::find(layer).unwrap();
    let setup = Setup { drive: &drive, layer: info, config: &config, buffer: BufferSize::Bytes(0), workload };
    let outcome = replay(&setup, &options, &mut ()).unwrap();
    let longest = if update_blocks == 0 { u32::MAX } else { update_blocks };
    let mut model = Model::new(tracks, layer, utilisation, longest);
    for request in requests(workload).iter().filter(|request| request.access == Access::Write) {
        let at = request.blocks(4096);
        model.write(at.start.0, u64::from(at.blocks));
    }
    let counts = Counts {
        updates: outcome.rmw,
        rewritten: outcome.media_write_blocks.get(Why::Neighbour),
        host: outcome.media_write_blocks.get(Why::Host),
    };
    assert_eq!(counts, model.counts, "{layer} at {utilisation}, {update_blocks}, {tracks:?}");
    assert_eq!(outcome.media_read_blocks.get(Why::Neighbour), counts.rewritten);
    counts
}

#[test]
fn bottom_updates_agree() {
    let spec = r#"
        name = "mixed"
        seed = 5
        requests = 2000
        range_bytes = 1310720
        write_ratio = 0.9
        sizes = [{ kib = 4, weight = 3 }, { kib = 28, weight = 1 }, { kib = 140, weight = 1 }]
        arrivals.mean_rate = 100.0
        streams = [
            { weight = 2, pattern = "uniform" },
            { weight = 1, pattern.sequential = { run_requests = 30.0 } },
        ]
    "#;
    let workload = Workload::Synthetic(SyntheticSpec::parse("mixed", spec).unwrap());
    let MediaSpec::Interlaced(tiny) = DrivePreset::named("tiny-interlaced").unwrap().media else { panic!() };
    let shapes = [
        tiny,
        Tracks { overlap: Overlap::Block, ..tiny },
        Tracks { overlap: Overlap::Track, skew_blocks: 0, ..tiny },
        Tracks { top_tracks: 7, top_blocks: 13, skew_blocks: 5, ..tiny },
        Tracks { groups: 1, bottom_tracks: 18, top_tracks: 17, bottom_blocks: 23, ..tiny },
    ];
    let mut seen = HashSet::new();
    for tracks in shapes {
        for layer in ["seagate", "seagate-two-phase"] {
            for (utilisation, update_blocks) in [(1.0, 0), (0.87, 0), (0.87, 3), (0.66, 1)] {
                let counts = compare(&workload, tracks, layer, utilisation, update_blocks);
                assert!(counts.updates > 20 && counts.rewritten >= counts.updates, "{counts:?}");
                seen.insert(counts.rewritten);
            }
        }
    }
    assert!(seen.len() > 25, "readings that differ must count differently: {seen:?}");
}
