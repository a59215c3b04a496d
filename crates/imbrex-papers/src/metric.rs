//! What a run is measured by.

use imbrex::replay::CleaningTime;
use imbrex_runs::row::Row;
use imbrex_terminal::table::{bytes, count, milliseconds, number, percent};

/// A number that a run gives, or does not.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Metric {
    /// Mean time from arrival to completion, reads and writes, in milliseconds.
    Latency,
    /// Mean time from arrival to completion of reads, in milliseconds.
    ReadLatency,
    /// Mean time from arrival to completion of writes, in milliseconds.
    WriteLatency,
    /// What 99 of 100 reads and writes do not exceed.
    P99,
    /// What 999 of 1000 do not exceed.
    P999,
    /// The longest.
    Longest,
    /// Times that a write waited until a cache had given up blocks.
    Reclaims,
    /// How long each of these took, on average, in milliseconds.
    Migration,
    /// The part of the time in which the flash of a cache was busy.
    FlashBusy,
    /// How far the head travelled, in cylinders.
    SeekDistance,
    /// How many tracks from its home a block lay that was moved away from it, on average.
    RelocationDistance,
    /// Written blocks that were buffered already, of all written blocks.
    Hits,
    /// Written blocks that were buffered already, of the blocks that were written to a buffer or past one: of an
    /// interlaced disk, the bottom updates.
    UpdateHits,
    /// The part of the hits in the hot part of a buffer.
    HotHits,
    /// The rest of them: all, for a buffer without one.
    ColdHits,
    /// All blocks written to the media for each the host wrote.
    WriteAmplification,
    /// Zones read, merged and rewritten.
    Rmw,
    /// Zones that took buffered blocks by appending.
    RmwFree,
    /// Both kinds of write-back.
    WriteBacks,
    /// Pairs of zones that took each other's place.
    Swaps,
    /// Bytes of padding.
    Padding,
    /// Bytes of padding, counted again each time that the zone they lie in is rewritten.
    PaddingAgain,
    /// Buffered blocks that a write-back takes, on average.
    VictimSize,
    /// Buffered blocks in a chunk that is collected, on average.
    ChunkUse,
    /// The part of the write-backs that a waiting write made smaller.
    Stopped,
    /// Chunks that the hot part of a buffer was given.
    ToHot,
    /// Chunks that it gave back.
    ToCold,
    /// Both.
    Reallocated,
    /// The part of the cold buffer's chunks that starve.
    Starving,
}

impl Metric {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "mean latency",
            Self::ReadLatency => "mean latency of reads",
            Self::WriteLatency => "mean latency of writes",
            Self::P99 => "99th percentile of latency",
            Self::P999 => "99.9th percentile of latency",
            Self::Longest => "longest latency",
            Self::Reclaims => "reclaims",
            Self::Migration => "mean migration time",
            Self::FlashBusy => "flash busy",
            Self::SeekDistance => "seek distance",
            Self::RelocationDistance => "relocation distance",
            Self::Hits => "write hit ratio",
            Self::UpdateHits => "write hit ratio of bottom updates",
            Self::HotHits => "write hits in the hot buffer",
            Self::ColdHits => "other write hits",
            Self::WriteAmplification => "write amplification",
            Self::Rmw => "RMW",
            Self::RmwFree => "RMW-free",
            Self::WriteBacks => "write-backs",
            Self::Swaps => "zone swaps",
            Self::Padding => "padding",
            Self::PaddingAgain => "padding, again with each rewrite",
            Self::VictimSize => "victim size",
            Self::ChunkUse => "blocks in a collected chunk",
            Self::Stopped => "collections stopped early",
            Self::ToHot => "chunks to the hot buffer",
            Self::ToCold => "chunks to the cold buffer",
            Self::Reallocated => "reallocated chunks",
            Self::Starving => "starving chunks",
        }
    }

    /// The unit of [`Metric::of`].
    pub fn unit(self) -> &'static str {
        match self {
            _ if self.is_time() => "ms",
            _ if self.is_ratio() => "0 to 1",
            Self::Reclaims => "times",
            Self::SeekDistance => "cylinders",
            Self::RelocationDistance => "tracks",
            Self::WriteAmplification => "",
            Self::Rmw | Self::RmwFree | Self::WriteBacks => "zones",
            Self::Swaps => "pairs",
            Self::Padding | Self::PaddingAgain => "bytes",
            Self::VictimSize | Self::ChunkUse => "blocks",
            _ => "chunks",
        }
    }

    /// Whether more of it is better.
    pub fn is_gain(self) -> bool {
        self.is_hits() || matches!(self, Self::VictimSize | Self::ChunkUse)
    }

    /// Whether it is a part of a whole.
    pub fn is_ratio(self) -> bool {
        self.is_hits() || matches!(self, Self::Stopped | Self::Starving | Self::FlashBusy)
    }

    /// Whether it is a part of what was written that was buffered already.
    fn is_hits(self) -> bool {
        matches!(self, Self::Hits | Self::UpdateHits | Self::HotHits | Self::ColdHits)
    }

    /// Whether it is how long something took.
    pub fn is_time(self) -> bool {
        let is_latency = matches!(self, Self::Latency | Self::ReadLatency | Self::WriteLatency);
        is_latency || matches!(self, Self::P99 | Self::P999 | Self::Longest | Self::Migration)
    }

    /// Whether it grows with the workload where a layer cannot keep up with it.
    pub fn is_latency(self) -> bool {
        self.is_time() && self != Self::Migration
    }

    /// The number, if the run gives one.
    pub fn of(self, row: &Row) -> Option<f64> {
        let outcome = &row.outcome;
        let (write_backs, block_bytes) = (outcome.rmw + outcome.rmw_free, u64::from(row.block_bytes));
        let own = |key: &str| outcome.counters.get(key).unwrap_or(0) as f64;
        let per = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        let hot = own("hot_hit_blocks") / outcome.host_write_blocks.max(1) as f64;
        match self {
            Self::Latency => Some(outcome.latency_ms.all.mean),
            Self::ReadLatency => Some(outcome.latency_ms.read.mean),
            Self::WriteLatency => Some(outcome.latency_ms.write.mean),
            Self::P99 => Some(outcome.latency_ms.all.p99),
            Self::P999 => Some(outcome.latency_ms.all.p999),
            Self::Longest => Some(outcome.latency_ms.all.max),
            Self::Reclaims => Some(outcome.blocked_cleaning.episodes as f64),
            Self::Migration => each_ms(&outcome.blocked_cleaning),
            Self::FlashBusy => outcome.devices.first().map(|flash| flash.outcome.disk_busy_ratio),
            Self::SeekDistance => Some(outcome.seek_cylinders as f64),
            Self::RelocationDistance => per(own("relocated_tracks"), own("relocated_blocks")),
            Self::Hits => Some(outcome.write_hit_ratio),
            Self::UpdateHits => {
                let missed = outcome.admitted_blocks + outcome.direct_blocks;
                let all = outcome.write_hit_blocks + missed;
                (all > 0).then(|| outcome.write_hit_blocks as f64 / all as f64)
            }
            Self::HotHits => Some(hot),
            Self::ColdHits => Some(outcome.write_hit_ratio - hot),
            Self::WriteAmplification => Some(outcome.write_amplification),
            Self::Rmw => Some(outcome.rmw as f64),
            Self::RmwFree => Some(outcome.rmw_free as f64),
            Self::WriteBacks => Some(write_backs as f64),
            Self::Swaps => Some(own("zone_swaps")),
            Self::Padding => Some((outcome.padding_blocks * block_bytes) as f64),
            Self::PaddingAgain => Some(((outcome.padding_blocks + outcome.padding_again_blocks) * block_bytes) as f64),
            Self::VictimSize => per(outcome.evicted_blocks as f64, write_backs as f64),
            Self::ChunkUse => per(outcome.evicted_blocks as f64, own("evicted_chunks")),
            Self::Stopped => per(own("stopped_collections"), write_backs as f64),
            Self::Starving => per(own("starving_chunks"), own("cold_chunks")),
            Self::ToHot => Some(own("chunks_to_hot")),
            Self::ToCold => Some(own("chunks_to_cold")),
            Self::Reallocated => Some(own("chunks_to_hot") + own("chunks_to_cold")),
        }
    }

    /// The number as tables show it.
    pub fn shown(self, value: Option<f64>) -> String {
        match (self, value) {
            (_, None) => "-".to_owned(),
            (_, Some(ms)) if self.is_time() => milliseconds(ms),
            (Self::WriteAmplification | Self::VictimSize | Self::ChunkUse, Some(value)) => number(value),
            (_, Some(ratio)) if self.is_ratio() => percent(ratio),
            (Self::Padding | Self::PaddingAgain, Some(size)) => bytes(size as u64),
            (_, Some(whole)) => count(whole as u64),
        }
    }
}

/// How long cleaning took each time, in milliseconds.
fn each_ms(cleaning: &CleaningTime) -> Option<f64> {
    (cleaning.episodes > 0).then(|| cleaning.total_ns as f64 / cleaning.episodes as f64 / 1e6)
}
