//! What a profile's figures come to: every number that the generator needs.

use super::lengths::{LONGEST_BLOCKS, Lengths};
use super::{Figures, Profile};
use crate::TraceError;

pub(super) const BLOCK_BYTES: u64 = 4096;

/// Blocks of a 256 MiB zone.
pub(super) const ZONE_BLOCKS: u64 = 65_536;

/// Blocks of a 1 MiB slot.
pub(super) const SLOT_BLOCKS: u64 = 256;

/// Blocks of a GiB.
const GIB_BLOCKS: f64 = 262_144.0;

const _: () = assert!(LONGEST_BLOCKS <= SLOT_BLOCKS, "the longest extent fits a slot");

/// The largest range: extents store their first block in 32 bits.
const MOST_BLOCKS: u64 = 1 << 32;

/// A volume to generate. Lengths are in blocks of 4 KiB.
#[derive(Clone, Debug)]
pub struct Volume {
    /// Requests of the whole volume.
    pub whole: u64,
    /// Requests to generate.
    pub requests: u64,
    /// Share of requests that write.
    pub write_ratio: f64,
    /// The address range.
    pub range_blocks: u64,
    /// Share of writes to new extents.
    pub new_write_share: f64,
    /// Share of new written extents that are hot.
    pub hot_share: f64,
    /// Share of reads of new extents.
    pub new_read_share: f64,
    /// Requests a second.
    pub rate: f64,
    pub(super) hot: Lengths,
    pub(super) once: Lengths,
    pub(super) read: Lengths,
}

impl Volume {
    /// Works out the volume of a profile, and refuses what cannot be generated.
    pub fn of(profile: &Profile) -> Result<Self, TraceError> {
        let known = Known(profile);
        let whole = known.need("requests", |f| f.requests)?;
        let requests = profile.shortened.unwrap_or(whole);
        if requests == 0 || whole == 0 {
            return Err(profile.wrong("requests", "must not be 0"));
        }
        let write_ratio = match profile.published.writes {
            Some(writes) => writes as f64 / whole as f64,
            None => known.share("write_ratio", |f| f.write_ratio)?,
        };
        let (writes, reads) = (whole as f64 * write_ratio, whole as f64 * (1.0 - write_ratio));
        let length = known.write_length(writes)?;
        let update = known.update_ratio(writes * length)?;
        let model = &profile.model;
        let ratio = model.new_length_ratio;
        if !(1.0..=100.0).contains(&ratio) {
            return Err(profile.wrong("model.new_length_ratio", "must be between 1 and 100"));
        }
        let new_write_share = 1.0 / (1.0 + ratio * update / (1.0 - update));
        let new = length * (1.0 - update + ratio * update);
        let again = new / ratio;
        let hot_lba = known.share("hot_lba_share", |f| f.hot_lba_share)?;
        let hot_share = hot_lba * ratio / model.rewritten;
        if !(0.0..1.0).contains(&hot_share) {
            let must = "must be below model.rewritten / model.new_length_ratio";
            return Err(profile.wrong("hot_lba_share", must));
        }
        let once = (new - hot_share * again) / (1.0 - hot_share);
        let new_read_share = known.new_read_share(writes * new_write_share, reads)?;
        // Reads of written extents are as long as these; the others make up for it.
        let of_written = (1.0 - new_read_share) * model.reads_of_written;
        let read = (known.read_length(writes * length, reads)? - of_written * again) / (1.0 - of_written);
        let volume = Self {
            whole,
            requests,
            write_ratio,
            range_blocks: known.range_blocks()?,
            new_write_share,
            hot_share,
            new_read_share,
            rate: whole as f64 / (3600.0 * known.need("duration_hours", |f| f.duration_hours)?),
            hot: known.lengths("rewritten extents", again)?,
            once: known.lengths("extents written once", once)?,
            read: known.lengths("reads", read)?,
        };
        volume.check_model(profile)?;
        volume.check_space(profile, writes * length * (1.0 - update))?;
        Ok(volume)
    }

    /// The address range in bytes.
    #[must_use]
    pub fn range_bytes(&self) -> u64 {
        self.range_blocks * BLOCK_BYTES
    }

    /// Distinct offsets among the requests to generate.
    #[must_use]
    pub fn unique_offsets(&self) -> f64 {
        let writes = self.write_ratio * self.new_write_share;
        self.requests as f64 * (writes + (1.0 - self.write_ratio) * self.new_read_share)
    }

    fn check_model(&self, profile: &Profile) -> Result<(), TraceError> {
        let model = &profile.model;
        if !(1.0..=1e6).contains(&model.run_extents) {
            return Err(profile.wrong("model.run_extents", "must be between 1 and a million"));
        }
        if !(model.growth > 0.0 && model.growth <= 1.0) {
            return Err(profile.wrong("model.growth", "must be above 0 and at most 1"));
        }
        if !(1.0..=1e6).contains(&model.rewrite_run) {
            return Err(profile.wrong("model.rewrite_run", "must be between 1 and a million"));
        }
        if !(0.0..=10.0).contains(&model.zone_skew) {
            return Err(profile.wrong("model.zone_skew", "must be between 0 and 10"));
        }
        let shares = [
            ("written_zones", model.written_zones),
            ("fill", model.fill),
            ("reads_of_written", model.reads_of_written),
            ("distant", model.distant),
            ("scan", model.scan),
            ("zone_persistence", model.zone_persistence),
            ("excursions", model.excursions),
        ];
        for (field, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                return Err(profile.wrong(format!("model.{field}"), "must be between 0 and 1"));
            }
        }
        Ok(())
    }

    /// Extents that do not overlap need room; a tenth is left for what packing wastes.
    fn check_space(&self, profile: &Profile, written_blocks: f64) -> Result<(), TraceError> {
        let range = self.range_blocks;
        if !(4 * ZONE_BLOCKS..=MOST_BLOCKS).contains(&range) {
            return Err(profile.wrong("range_zones", "must be between 4 and 65536"));
        }
        let model = &profile.model;
        let room = range as f64 * 0.9;
        if written_blocks > room * model.written_zones * model.fill {
            let share = written_blocks / room;
            return Err(profile.wrong("model.written_zones", format!("times model.fill must be above {share:.3}")));
        }
        let read_blocks = self.whole as f64 * (1.0 - self.write_ratio) * self.new_read_share * self.read.mean();
        if read_blocks > room * (1.0 - model.written_zones) {
            let share = read_blocks / room;
            return Err(profile.wrong("model.written_zones", format!("must leave {share:.3} of the range to reads")));
        }
        Ok(())
    }
}

/// The figures of a profile, published or chosen.
struct Known<'a>(&'a Profile);

impl Known<'_> {
    fn get<T>(&self, figure: impl Fn(&Figures) -> Option<T>) -> Option<T> {
        figure(&self.0.published).or_else(|| figure(&self.0.chosen))
    }

    fn need<T>(&self, name: &str, figure: impl Fn(&Figures) -> Option<T>) -> Result<T, TraceError> {
        if figure(&self.0.published).is_some() && figure(&self.0.chosen).is_some() {
            return Err(self.0.wrong(name, "is published and must not be chosen as well"));
        }
        self.get(figure).ok_or_else(|| self.0.wrong(name, "must be published or chosen"))
    }

    fn share(&self, name: &str, figure: impl Fn(&Figures) -> Option<f64>) -> Result<f64, TraceError> {
        let share = self.need(name, figure)?;
        if (0.0..=1.0).contains(&share) { Ok(share) } else { Err(self.0.wrong(name, "must be between 0 and 1")) }
    }

    /// Mean length of a write.
    fn write_length(&self, writes: f64) -> Result<f64, TraceError> {
        match self.get(|f| f.written_gib) {
            Some(gib) if self.get(|f| f.write_len_sectors).is_none() => Ok(gib * GIB_BLOCKS / writes),
            _ => Ok(self.need("write_len_sectors", |f| f.write_len_sectors)? / 8.0),
        }
    }

    /// Mean length of a read.
    fn read_length(&self, written_blocks: f64, reads: f64) -> Result<f64, TraceError> {
        match self.get(|f| f.blocks_4k) {
            Some(all) => Ok((all as f64 - written_blocks) / reads),
            None => Ok(self.need("read_len_sectors", |f| f.read_len_sectors)? / 8.0),
        }
    }

    fn update_ratio(&self, written_blocks: f64) -> Result<f64, TraceError> {
        let ratio = match self.get(|f| f.footprint_gib) {
            Some(gib) => 1.0 - gib * GIB_BLOCKS / written_blocks,
            None => self.share("update_ratio", |f| f.update_ratio)?,
        };
        if (0.0..1.0).contains(&ratio) { Ok(ratio) } else { Err(self.0.wrong("update_ratio", "must be below 1")) }
    }

    fn range_blocks(&self) -> Result<u64, TraceError> {
        match self.get(|f| f.range_gb) {
            Some(gb) if self.get(|f| f.range_zones).is_none() => Ok((gb * 1e9) as u64 / BLOCK_BYTES),
            _ => Ok(self.need("range_zones", |f| f.range_zones)?.saturating_mul(ZONE_BLOCKS)),
        }
    }

    fn new_read_share(&self, new_writes: f64, reads: f64) -> Result<f64, TraceError> {
        let profile = self.0;
        let share = match (self.get(|f| f.unique_offsets), profile.model.new_read_share) {
            (Some(unique), None) => (unique as f64 - new_writes) / reads,
            (None, Some(share)) => share,
            _ => return Err(profile.wrong("model.new_read_share", "must be there unless unique_offsets is")),
        };
        if (0.0..=1.0).contains(&share) {
            return Ok(share);
        }
        let must = format!("leaves a share of {share:.3} of the reads new; change model.new_length_ratio");
        Err(profile.wrong("unique_offsets", must))
    }

    fn lengths(&self, of: &str, mean: f64) -> Result<Lengths, TraceError> {
        let must = || format!("have a mean length of {mean:.2} blocks, which must be between 1 and {LONGEST_BLOCKS}");
        Lengths::with_mean(mean).ok_or_else(|| self.0.wrong(of, must()))
    }
}
