//! A drive preset of what was found, as `imbrex compare --drive FILE` takes it.

use imbrex::bands::BandRun;
use imbrex::drive::{DrivePreset, MediaSpec, TimingSpec};
use imbrex::mechanics::{FlashSpec, LayoutSpec, MechanicsSpec, RecordingSpec, SECTOR_BYTES, SeekSpec};

use crate::bands::BandPlace;
use crate::disk::ProbeError;
use crate::found::{Found, Kind};

/// Recording zones of a disk whose tracks get shorter inwards.
const RECORDING_ZONES: u32 = 24;
/// Cylinders that a drive has at most here: it has as many heads as that takes.
const MOST_CYLINDERS: f64 = 500_000.0;
/// Pages of an erase block, and how long one takes to be erased: no timing of reads tells.
const PAGES: u32 = 64;
const ERASE_MS: f64 = 1.5;

impl Found {
    /// The drive that was found, called `name`.
    ///
    /// # Errors
    /// When too little was found.
    pub fn preset(&self, name: &str) -> Result<DrivePreset, ProbeError> {
        // Zones may be those of flash.
        let is_flash = self.kind == Kind::Flash || self.facts.zones.is_some() && self.reads.turn_ms.is_none();
        let timing = if is_flash { TimingSpec::Flash(self.flash()) } else { TimingSpec::Disk(self.mechanics()?) };
        let preset = DrivePreset {
            name: name.to_owned(),
            description: format!("{}, as it was probed", self.facts.model.as_deref().unwrap_or("a disk")),
            block_bytes: self.facts.block_bytes,
            media: self.media()?,
            timing,
        };
        preset.validate().map_err(|e| ProbeError::Preset(e.to_string()))?;
        Ok(preset)
    }

    fn media(&self) -> Result<MediaSpec, ProbeError> {
        let (blocks, block_bytes) = (self.facts.blocks(), u64::from(self.facts.block_bytes));
        let refuse = |why: &str| Err(ProbeError::Preset(why.to_owned()));
        match (self.kind, self.facts.zones) {
            (Kind::HostManaged | Kind::HostAware, Some(zones)) => Ok(MediaSpec::Zoned {
                zones: zones.conventional + zones.sequential,
                zone_blocks: (zones.writable_bytes / block_bytes) as u32,
                conventional_zones: zones.conventional,
                max_open: zones.max_open,
                max_active: zones.max_active,
            }),
            (Kind::Conventional, _) => Ok(MediaSpec::Conventional { blocks }),
            (Kind::Flash, _) => Ok(MediaSpec::Flash {
                erase_blocks: (blocks / u64::from(PAGES)) as u32,
                pages: PAGES,
                rewritable_erase_blocks: (blocks / u64::from(PAGES) / 64) as u32,
            }),
            (Kind::DriveManaged, _) => {
                let cache = self.cache.as_ref().and_then(|cache| cache.bytes);
                let (Some(cache), Some(bands)) = (cache, &self.bands) else {
                    return refuse("neither its cache nor its bands were found");
                };
                let bands = runs(&bands.places, blocks, block_bytes);
                Ok(MediaSpec::Banded { cache_blocks: (cache / block_bytes) as u32, bands })
            }
            (Kind::Hybrid, _) => refuse("which zones of a hybrid disk take the place of which is not reported"),
            (Kind::Interlaced, _) => refuse("which tracks of an interlaced disk lie over which was not found"),
            _ => refuse("whether it is shingled inside is not known; --write finds out, and destroys what it holds"),
        }
    }

    /// One surface or a few of them, whose tracks follow each other as fast as blocks were read.
    fn mechanics(&self) -> Result<MechanicsSpec, ProbeError> {
        let unknown = || ProbeError::Preset("how fast it turns was not found".to_owned());
        let reads = &self.reads;
        let (turn, seek) = reads.turn_ms.zip(reads.seek_ms).ok_or_else(unknown)?;
        let (first, last) = reads.places.first().zip(reads.places.last()).ok_or_else(unknown)?;
        let tracks = first.track_bytes.zip(last.track_bytes);
        let [outer, inner] = tracks.map(|(outer, inner)| [outer, inner]).ok_or_else(unknown)?;
        // From one track to the next takes what is missing between the rate within a track and that of many.
        let passed_ms = outer / first.bytes_per_second * 1e3;
        let step = (passed_ms - turn).clamp(0.01, turn / 2.0);
        let settle = self.writes.filter(|_| self.kind == Kind::Conventional);
        let settle = settle.map_or(0.0, |writes| (writes.mean_ms - reads.random_ms).clamp(0.0, step / 2.0));
        // The skew of tracks covers a step and the settling of a write.
        let single = (step - settle).min(seek).max(0.01);
        // What a curve through three points can be.
        let full = reads.seeks.last().map_or(seek, |seek| seek.ms);
        let least = (15.0 * seek - 7.0 * single) / 8.0;
        let full = full.clamp(least, (3.0 * seek - 2.0 * single).max(least));
        let sectors = |bytes: f64| (bytes / f64::from(SECTOR_BYTES)).round().max(1.0) as u32;
        let cylinders = self.facts.bytes as f64 / ((outer + inner) / 2.0);
        Ok(MechanicsSpec {
            rpm: None,
            rotation_ms: Some(rounded(turn)),
            heads: (cylinders / MOST_CYLINDERS).ceil().max(1.0) as u32,
            head_switch_ms: rounded(single),
            write_settle_ms: rounded(settle),
            seek: SeekSpec::ThreePoint {
                single_cylinder_ms: rounded(single),
                average_ms: rounded(seek),
                full_stroke_ms: (full * 1e3).ceil() / 1e3,
            },
            layout: LayoutSpec::CylinderMajor {},
            recording: RecordingSpec::Linear {
                outer_sectors_per_track: sectors(outer.max(inner)),
                inner_sectors_per_track: sectors(inner.min(outer)),
                zones: RECORDING_ZONES,
            },
        })
    }

    /// Pages take what random blocks take; as many of them are read at a time as a sequential read is faster.
    fn flash(&self) -> FlashSpec {
        let reads = &self.reads;
        let rate = reads.places.iter().map(|place| place.bytes_per_second).fold(0.0, f64::max);
        let in_a_row_ms = f64::from(self.facts.block_bytes) / rate.max(1.0) * 1e3;
        FlashSpec {
            read_ms: rounded(reads.random_ms),
            program_ms: rounded(self.writes.map_or(reads.random_ms, |writes| writes.median_ms)),
            erase_ms: ERASE_MS,
            channels: (reads.random_ms / in_a_row_ms).round().clamp(1.0, 4096.0) as u32,
            program_channels: None,
        }
    }
}

/// To a µs.
fn rounded(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}

/// Bands of `blocks` blocks, each place's as far as the middle to the next one, and one more of the longest to be
/// rewritten in.
fn runs(places: &[BandPlace], blocks: u64, block_bytes: u64) -> Vec<BandRun> {
    let length = |place: &BandPlace| (place.band_bytes / block_bytes as f64).round().max(1.0) as u32;
    let (mut runs, mut begun) = (Vec::new(), 0);
    for (number, place) in places.iter().enumerate() {
        let next = places.get(number + 1).map(|next| (place.offset + next.offset) / 2 / block_bytes);
        let end = next.unwrap_or(blocks).max(begun);
        let band_blocks = length(place);
        let bands = (end - begun).div_ceil(band_blocks.into()) as u32;
        begun = begun.saturating_add(u64::from(bands) * u64::from(band_blocks));
        runs.push(BandRun { bands, band_blocks });
    }
    runs.retain(|run| run.bands > 0);
    let longest = runs.iter().max_by_key(|run| run.band_blocks).map(|run| run.band_blocks);
    runs.iter_mut().find(|run| Some(run.band_blocks) == longest).into_iter().for_each(|run| run.bands += 1);
    runs
}
