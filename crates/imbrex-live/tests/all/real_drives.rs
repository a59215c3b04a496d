//! Every layer can be formatted on the whole of every preset of its kind of the size of real drives, if it can do with the
//! zones there, and on one of 18 TB.

use std::sync::Arc;

use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layers::{self, Family, LayerInfo};
use imbrex::recording::Recording;
use imbrex::replay::{Configured, ReplayOptions};
use imbrex_live::backing::Nowhere;
use imbrex_live::image::Image;
use imbrex_live::sums::Checksums;
use imbrex_live::volume::{self, FormatOptions, Members, VolumeError};

/// Bytes from which on a preset is taken for a real drive.
const REAL: u64 = 1 << 36;
/// Bytes of a large one.
const LARGE: u64 = 18_000_000_000_000;

/// What is not stretched.
const NEARLY_LARGE: u64 = LARGE / 10 * 9;

/// The presets on which a layer for drives of that kind is made.
fn drives(recording: Recording) -> Vec<DrivePreset> {
    let kind = match recording {
        Recording::WholeZones => Recording::Zoned,
        Recording::Cached => Recording::Banded,
        recording => recording,
    };
    let presets = DrivePreset::built_in().iter().map(|(name, _)| DrivePreset::named(name).unwrap());
    let of_kind: Vec<_> = presets.filter(|preset| preset.recording() == kind && preset.bytes() >= REAL).collect();
    let small = of_kind.iter().find(|preset| preset.bytes() < NEARLY_LARGE);
    let large = small.map(|preset| preset.with_capacity(LARGE).unwrap());
    of_kind.into_iter().chain(large).collect()
}

fn formatted(info: &'static LayerInfo, drive: &DrivePreset, sums: Option<Checksums>) -> Result<(), VolumeError> {
    let config = toml::Table::new();
    let options = FormatOptions { layer: info, config: &config, buffer: None, journal_blocks: None, map_memory: None };
    let is_cache = info.recording == Recording::Cached;
    let drive = volume::roomy(drive, usize::from(is_cache), &options, sums)?;
    let flash = is_cache.then(|| DrivePreset::named("ssd-pore").unwrap());
    let draft = |drive: &DrivePreset| Arc::new(Image::<Nowhere>::draft(drive).unwrap()) as _;
    let members: Members = flash.iter().chain([&drive]).map(draft).collect();
    volume::validate_with(&members, &options, sums)
}

/// Where few zones may be partly written, and none are conventional, a layer that cannot do with that is told what it
/// needs.
fn may_be_refused(what: &str, info: &LayerInfo, formatted: Result<(), VolumeError>) {
    match formatted {
        Ok(()) => assert_eq!(info.family, Some(Family::Banded), "{what}"),
        Err(e) => {
            assert_ne!(info.name, "log-greedy", "{what}: {e}");
            let told = e.to_string();
            assert!(told.contains("active zones") || told.contains("conventional"), "{what}: {told}");
        }
    }
}

#[test]
fn every_layer_is_formatted_on_real_drives() {
    for info in layers::ALL {
        let mut drives = drives(info.recording);
        if info.recording == Recording::Flash {
            // Flash is as large as a cache has it.
            drives = vec![DrivePreset::named("ssd-pore").unwrap()];
        }
        assert!(!drives.is_empty(), "{}", info.name);
        for drive in drives {
            let what = format!("{} on {} of {} bytes", info.name, drive.name, drive.bytes());
            if matches!(drive.media, MediaSpec::Zoned { max_active: 1.., .. }) {
                may_be_refused(&what, info, formatted(info, &drive, None));
                continue;
            }
            formatted(info, &drive, None).unwrap_or_else(|e| panic!("{what}: {e}"));
            if info.recording == Recording::Interlaced {
                let options = ReplayOptions { as_live: true, ..ReplayOptions::default() };
                let simulated = Configured { layer: info, config: &toml::Table::new(), buffer_blocks: 0 }
                    .capacity(&drive, &options);
                simulated.unwrap_or_else(|e| panic!("{what}, simulated: {e}"));
                let sums = Some(Checksums::default());
                formatted(info, &drive, sums).unwrap_or_else(|e| panic!("{what}, with checksums: {e}"));
            }
        }
    }
}
