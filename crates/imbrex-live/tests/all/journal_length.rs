//! One rule for the length of a journal: what a simulation that prices it accepts, a volume can be formatted with, and
//! what the one refuses the other refuses, for the same reason.

use std::sync::Arc;

use imbrex::buffer_size::BufferSize;
use imbrex::drive::DrivePreset;
use imbrex::layers::{self, LayerInfo};
use imbrex::recording::Recording;
use imbrex::replay::{Configured, ReplayError, ReplayOptions};
use imbrex_live::backing::Nowhere;
use imbrex_live::image::Image;
use imbrex_live::volume::{self, FormatOptions, Members, VolumeError};

const BUFFER: u32 = 2000;

/// More blocks than the journal of such a layer needs.
fn enough(recording: Recording) -> u32 {
    match recording {
        Recording::Interlaced => 16_384,
        Recording::Flash => 5000,
        _ => 3000,
    }
}

fn drive(recording: Recording) -> DrivePreset {
    let (name, bytes) = match recording {
        Recording::Conventional => ("conventional-7200", 1 << 30),
        Recording::Zoned | Recording::WholeZones => ("small-zoned", 1 << 28),
        Recording::Banded | Recording::Cached => ("st8000as0002", 1 << 38),
        Recording::Interlaced => ("imr-tracklace", 1 << 32),
        Recording::Hybrid => ("small-hybrid", 1 << 28),
        Recording::Flash => ("ssd-pore", 1 << 30),
    };
    DrivePreset::named(name).unwrap().with_capacity(bytes).unwrap()
}

fn simulated(info: &LayerInfo, config: &toml::Table, journal_blocks: u32) -> Result<(), ReplayError> {
    let options = ReplayOptions { as_live: true, journal_blocks: Some(journal_blocks), ..ReplayOptions::default() };
    let buffer = if info.buffered { BUFFER } else { 0 };
    Configured { layer: info, config, buffer_blocks: buffer }.capacity(&drive(info.recording), &options).map(drop)
}

fn formatted(info: &'static LayerInfo, config: &toml::Table, journal_blocks: u32) -> Result<(), VolumeError> {
    let draft = |recording| Arc::new(Image::<Nowhere>::draft(&drive(recording)).unwrap()) as _;
    let members: Members = match info.recording {
        Recording::Cached => vec![draft(Recording::Flash), draft(Recording::Banded)],
        recording => vec![draft(recording)],
    };
    let buffer = info.buffered.then_some(BufferSize::Bytes(u64::from(BUFFER) * 4096));
    let options = FormatOptions { layer: info, config, buffer, journal_blocks: Some(journal_blocks), map_memory: None };
    volume::validate(&members, &options)
}

/// The configurations that runs vary, one field at a time.
fn configs(info: &LayerInfo) -> Vec<toml::Table> {
    let of = |key: &str, sample: &str| format!("{key} = {sample}").parse().unwrap();
    let fields = info.fields.iter().flat_map(|field| field.samples.iter().map(move |sample| of(field.key, sample)));
    [toml::Table::new()].into_iter().chain(fields).collect()
}

#[test]
fn a_simulation_accepts_what_a_volume_does() {
    for info in layers::ALL {
        let mut compared = 0;
        for config in configs(info) {
            if let Err(e) = simulated(info, &config, enough(info.recording)) {
                println!("{} {config:?}: {e}", info.name);
                continue;
            }
            // The fewest blocks that do.
            let (mut short, mut long) = (0, enough(info.recording));
            while long - short > 1 {
                let blocks = short.midpoint(long);
                *(if simulated(info, &config, blocks).is_ok() { &mut long } else { &mut short }) = blocks;
            }
            let what = format!("{} {config:?} with {long} blocks", info.name);
            formatted(info, &config, long).unwrap_or_else(|e| panic!("{what}: {e}"));
            let refused = formatted(info, &config, short).unwrap_err();
            assert!(matches!(refused, VolumeError::Journal(_)), "{what}: {refused}");
            let simulated = simulated(info, &config, short).unwrap_err();
            assert!(matches!(simulated, ReplayError::Journal(_)), "{what}: {simulated}");
            println!("{what}: {simulated}");
            assert_eq!(simulated.to_string(), refused.to_string());
            compared += 1;
        }
        assert!(compared > 0, "{}", info.name);
    }
}

#[test]
fn the_message_names_what_takes_the_room() {
    let message = |layer: &str, config: &str| {
        let (info, config) = (layers::find(layer).unwrap(), config.parse().unwrap());
        simulated(info, &config, 100).unwrap_err().to_string()
    };
    let tracks = message("seagate", "");
    assert!(tracks.contains(": 10") && tracks.contains("for the images of 8 redo plans"), "{tracks}");
    assert!(tracks.ends_with("or more, or a smaller update_blocks"), "{tracks}");
    let log = message("log-greedy", "");
    assert!(log.contains("for checkpoints of a map of up to"), "{log}");
    assert!(!log.contains("images") && log.ends_with("or more, or a smaller drive or buffer"), "{log}");
    let commits = message("conventional", "");
    assert!(commits.contains(": 111 for commits") && commits.ends_with("or more"), "{commits}");
}
