//! The layers that map whole tracks against lists of tracks and of what lies on them, for every rule.

mod model;

use imbrex::block::Access;
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layers;
use imbrex::plan::Why;
use imbrex::replay::{BufferSize, Outcome, ReplayOptions, Setup, replay};
use imbrex::trace::Workload;
use imbrex::tracks::{Overlap, Tracks};

use crate::counts::requests;
use crate::counts::tracklace::{tiny, workload};
use model::{Counts, Model, Rule};

fn counted(outcome: &Outcome) -> Counts {
    let written = |why| outcome.media_write_blocks.get(why);
    Counts {
        host: written(Why::Host),
        updates: outcome.rmw,
        rewritten: written(Why::Neighbour),
        hits: outcome.write_hit_blocks,
        exchanged: written(Why::Swap),
        copied: written(Why::Migrate),
        returned: written(Why::Destage),
    }
}

impl Rule {
    fn layer(self) -> &'static str {
        match self {
            Self::Flipping { .. } => "track-flipping",
            Self::Caching { .. } => "track-caching",
            Self::Mapping { .. } => "track-mapping",
        }
    }

    fn fields(self) -> String {
        match self {
            Self::Flipping { flip_after } => format!("flip_after = {flip_after}"),
            Self::Caching { reserved, cache_after, zone_tracks } => {
                format!("reserved = {reserved}\ncache_after = {cache_after}\nzone_tracks = {zone_tracks}")
            }
            Self::Mapping { zone_tracks, interval } => format!("zone_tracks = {zone_tracks}\ninterval = {interval}"),
        }
    }

    /// Updates of which the last may bring a change.
    fn updates(self) -> u32 {
        match self {
            Self::Flipping { flip_after: updates }
            | Self::Caching { cache_after: updates, .. }
            | Self::Mapping { interval: updates, .. } => updates,
        }
    }
}

fn replayed(workload: &Workload, tracks: Tracks, layer: &str, config: &str) -> Outcome {
    let mut drive = DrivePreset::named("tiny-interlaced").expect("a preset");
    drive.media = MediaSpec::Interlaced(tracks);
    let config = config.parse().expect("TOML");
    let options = ReplayOptions { verify: true, check_every: 64, prefill: 0.0, ..ReplayOptions::default() };
    let layer = layers::find(layer).expect("a layer");
    let setup = Setup { drive: &drive, layer, config: &config, buffer: BufferSize::Bytes(0), workload };
    replay(&setup, &options, &mut ()).expect("it replays")
}

fn compare(tracks: Tracks, rule: Rule, utilisation: f64, update_blocks: u32) -> Counts {
    let left = match rule {
        Rule::Caching { reserved, .. } => tracks.groups * tracks.top_tracks.div_ceil(reserved) * tracks.top_blocks,
        _ => 0,
    };
    let all = tracks.interlaced_blocks();
    let blocks = ((all as f64 * utilisation) as u64).min(all - u64::from(left));
    let workload = workload(blocks * 4096, 5);
    let config = format!("utilisation = {utilisation:?}\nupdate_blocks = {update_blocks}\n{}", rule.fields());
    let outcome = replayed(&workload, tracks, rule.layer(), &config);
    let longest = if update_blocks == 0 { u32::MAX } else { update_blocks };
    let mut model = Model::new(tracks, rule, utilisation, longest);
    for request in requests(&workload).iter().filter(|request| request.access == Access::Write) {
        let at = request.blocks(4096);
        model.write(at.start.0, u64::from(at.blocks));
    }
    assert_eq!(counted(&outcome), model.counts, "{config} on {tracks:?}");
    assert_eq!(outcome.media_read_blocks.get(Why::Neighbour), model.counts.rewritten);
    assert_eq!(outcome.media_read_blocks.get(Why::Swap), model.counts.exchanged);
    assert_eq!(outcome.evicted_blocks, model.counts.returned);
    // A change moves two cells at most, and comes after so many updates of a block or more.
    let Counts { host, exchanged, copied, returned, .. } = model.counts;
    let most = host / u64::from(rule.updates()) * 2 * u64::from(tracks.top_blocks);
    assert!(exchanged + copied + returned <= most, "{config} on {tracks:?}: {:?}", model.counts);
    model.counts
}

#[test]
fn every_rule_agrees() {
    let shapes = [
        tiny(),
        Tracks { overlap: Overlap::Track, skew_blocks: 0, top_tracks: 7, ..tiny() },
        Tracks { groups: 1, bottom_tracks: 18, top_tracks: 17, bottom_blocks: 23, ..tiny() },
    ];
    let rules = [
        Rule::Flipping { flip_after: 1 },
        Rule::Flipping { flip_after: 3 },
        Rule::Caching { reserved: 4, cache_after: 2, zone_tracks: 100 },
        Rule::Caching { reserved: 2, cache_after: 1, zone_tracks: 7 },
        Rule::Caching { reserved: 8, cache_after: 3, zone_tracks: 17 },
        Rule::Mapping { zone_tracks: 100, interval: 1 },
        Rule::Mapping { zone_tracks: 6, interval: 4 },
    ];
    let mut seen = Vec::new();
    for tracks in shapes {
        for rule in rules {
            for (utilisation, update_blocks) in [(1.0, 0), (0.9, 3), (0.75, 0), (0.7, 1)] {
                let counts = compare(tracks, rule, utilisation, update_blocks);
                let is_caching = matches!(rule, Rule::Caching { .. });
                assert_eq!(
                    (counts.exchanged > 0, counts.copied > 0),
                    (!is_caching, is_caching),
                    "{rule:?}: {counts:?}"
                );
                assert!(counts.hits > 0, "{rule:?}: {counts:?}");
                assert!(!seen.contains(&(tracks, counts)), "what differs must count differently: {rule:?} {counts:?}");
                seen.push((tracks, counts));
            }
        }
    }
    assert!(seen.iter().any(|(_, counts)| counts.returned > 0));
}

/// A layer that moves nothing is the other layer.
#[test]
fn without_a_change_they_count_as_seagate_does() {
    let workload = workload(tiny().interlaced_blocks() * 9 / 10 * 4096, 9);
    let seagate = counted(&replayed(&workload, tiny(), "seagate", "utilisation = 0.9"));
    let mapping = replayed(&workload, tiny(), "track-mapping", "utilisation = 0.9\ninterval = 1000000");
    assert_eq!(counted(&mapping), seagate);
}
