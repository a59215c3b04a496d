//! What overlapped tracks cost, in one table: for each kind of disk a naive and the best layer on one workload.
//!
//! Which layer is the best was measured: a test runs every layer of the family that fits on the drive, and notices when
//! another one would be. The naive one knows nothing of the disk, or has little of what the best one needs.

use std::env;
use std::num::NonZeroU64;

use anyhow::{Error, Result};
use imbrex::drive::DrivePreset;
use imbrex::layers::{self, Family};
use imbrex::replay::ReplayOptions;
use imbrex_runs::case::{Case, Fit, named_drive};
use imbrex_runs::chosen::Chosen;
use imbrex_runs::page::About;
use imbrex_runs::parallel;
use imbrex_runs::row::Row;
use imbrex_runs::seen::{self, Seen};
use imbrex_runs::values::size;
use imbrex_runs::workload::Known;
use imbrex_terminal::names::Names;
use imbrex_terminal::progress::Progress;
use imbrex_terminal::table::{count, number, paragraphs, percent, seconds};

use crate::baselines::is_same_disk;
use crate::comparison::{self, Named};

/// The workload: a system volume at the usual rate of a server, which a conventional disk carries with ease.
pub const WORKLOAD: &str = "hm_0";
/// What it is, in words.
const WORKLOAD_IS: &str = "modelled on the published figures of a server's system volume (MSR Cambridge, hardware \
    monitoring)";
/// Half a day of it. The naive layer of a host-managed disk takes most of the time that it is replayed for.
pub const REQUESTS: NonZeroU64 = NonZeroU64::new(300_000).unwrap();

/// A kind of disk, and the two layers that tell its story.
struct Kind {
    family: Family,
    /// The drive and, for one that is to be as full as the layers' settings say, its size.
    drive: &'static str,
    capacity: Option<&'static str>,
    /// The persistent buffer, or the flash.
    buffer: &'static str,
    naive: Variant,
    best: Variant,
}

/// A layer with settings.
struct Variant {
    layer: &'static str,
    /// Settings, written as for `--set`.
    settings: &'static [&'static str],
    /// What is special about it, in words.
    with: &'static str,
}

/// The buffer on a host-managed disk: less than is written again and again, so that it has to be cleaned.
const SMALL_BUFFER: &str = "64MiB";

const KINDS: [Kind; 4] = [
    Kind {
        family: Family::Shingled,
        drive: "exos-x18z",
        capacity: None,
        buffer: SMALL_BUFFER,
        naive: Variant { layer: "in-place", settings: &[], with: "rewrites at once" },
        best: Variant { layer: "zone-ages", settings: &[], with: "buffers first" },
    },
    Kind {
        family: Family::Banded,
        drive: "st8000as0002",
        capacity: None,
        buffer: "1%",
        naive: Variant { layer: "skylight", settings: &["skylight.cache_blocks=256"], with: "small cache" },
        best: Variant { layer: "skylight", settings: &[], with: "usual cache" },
    },
    Kind {
        family: Family::Ssd,
        drive: "st8000as0002",
        capacity: None,
        buffer: "256MiB",
        naive: Variant { layer: "lru-cache", settings: &[], with: "keeps what is read" },
        best: Variant { layer: "band-cache", settings: &[], with: "keeps what pays" },
    },
    Kind {
        family: Family::Interlaced,
        drive: "imr-tracklace",
        // Of which 60 % are the range of the workload.
        capacity: Some("24GiB"),
        buffer: "1%",
        naive: Variant { layer: "seagate-two-phase", settings: &[], with: "rewrites" },
        best: Variant { layer: "tracklace", settings: &[], with: "moves updates" },
    },
];

/// The conventional layer, once for each drive.
const BASELINE: Variant = Variant { layer: "conventional", settings: &[], with: "" };

/// A run and what it stands for.
pub struct Told<'a> {
    pub row: Row,
    /// For a page, if one is wanted.
    pub seen: Seen<'a>,
    /// Whether it is the naive layer or the best one, in a word; nothing of the baseline.
    role: &'static str,
    name: String,
    /// The disk in words.
    disk: String,
}

/// Replays what is shown of every kind, each drive after its baseline.
pub fn runs<'a>(workload: &'a Known, options: &ReplayOptions, jobs: usize, is_seen: bool) -> Result<Vec<Told<'a>>> {
    let mut shown: Vec<(&Kind, &Variant, &str)> = Vec::new();
    for kind in &KINDS {
        if shown.last().is_none_or(|(last, ..)| last.drive != kind.drive) {
            shown.push((kind, &BASELINE, ""));
        }
        shown.extend([(kind, &kind.naive, "naive"), (kind, &kind.best, "best")]);
    }
    let progress = Progress::new("replaying", workload.range.requests * shown.len() as u64);
    parallel::each(jobs, &shown, |(kind, variant, role)| {
        let (row, seen) = kind.replay(variant, workload, is_seen, options, &progress)?;
        let disk = format!("{}: {} of {}", kind.disk(), row.drive, row.drive_size());
        Ok(Told { row, seen, role, name: variant.name(), disk })
    })
}

impl Told<'_> {
    /// The name behind the role.
    fn called(&self) -> String {
        if self.role.is_empty() { self.name.clone() } else { format!("{}: {}", self.role, self.name) }
    }

    /// What a page says of it.
    pub fn about(&self) -> About {
        let role = (!self.role.is_empty()).then(|| self.role.to_owned());
        About { name: Some(self.name.clone()), role, group: Some(self.disk.clone()), ..About::default() }
    }
}

impl Kind {
    /// The disk in words; the same for all kinds on one drive.
    fn disk(&self) -> &'static str {
        match self.family {
            Family::Shingled => "host-managed shingled disk",
            Family::Banded | Family::Ssd => "drive-managed shingled disk, and the same behind a flash cache",
            Family::Interlaced => "interlaced disk that is full",
            Family::Hybrid => "hybrid disk",
        }
    }

    fn drive(&self) -> Result<DrivePreset> {
        let drive = named_drive(self.drive)?;
        let Some(capacity) = self.capacity else { return Ok(drive) };
        Ok(drive.with_capacity(size(capacity).map_err(Error::msg)?)?)
    }

    fn replay<'a>(
        &self,
        variant: &Variant,
        workload: &'a Known,
        is_seen: bool,
        options: &ReplayOptions,
        progress: &Progress,
    ) -> Result<(Row, Seen<'a>)> {
        let case = Case { layer: layers::find(variant.layer)?, drive: self.drive()?, fit: Fit::Given };
        let chosen = Chosen::new(self.buffer.parse()?, options.clone(), variant.settings)?;
        seen::replay(is_seen, &chosen, workload, &case, progress)
    }
}

impl Variant {
    fn name(&self) -> String {
        let with = if self.with.is_empty() { String::new() } else { format!(", {}", self.with) };
        format!("{}{with}", self.layer)
    }
}

/// The columns that tell the story.
const COLUMNS: [&str; 6] = [">buffer", ">mean", ">p99", ">vs conv", ">WA", ">RMW"];

/// What came of it, the table, what its words mean, and what to do next.
pub fn shown(runs: &[Told<'_>]) -> String {
    let named = runs.iter().map(|told| Named { row: &told.row, name: told.called(), under: told.disk.clone() });
    let table = comparison::shown(&named.collect::<Vec<_>>(), &[], &COLUMNS);
    let program = env::args().next().unwrap_or_else(|| "imbrex".to_owned());
    let texts = [paragraphs(&head(&runs[0].row)), paragraphs(&found(runs)), table, paragraphs(&WORDS.join("\n"))];
    format!(
        "{}\n\nNext, every layer for host-managed disks with this buffer, and what one of them does:\n\
         {program} compare --family shingled --buffer {SMALL_BUFFER}\n{program} help zone-ages\n",
        texts.join("\n\n")
    )
}

/// What was replayed.
fn head(row: &Row) -> String {
    format!(
        "{} is {WORKLOAD_IS}: {} requests in {}; {}.",
        row.called(&Names::of([row.trace.as_str()])),
        count(row.outcome.requests),
        seconds(row.outcome.arrival_seconds.unwrap_or(row.outcome.simulated_seconds)),
        row.circumstances(),
    )
}

/// What came of it, in a sentence or two.
fn found(runs: &[Told<'_>]) -> String {
    let mut of_role = [("naive", Vec::new()), ("best", Vec::new())];
    let mut late = 0;
    for told in runs {
        let baseline =
            runs.iter().map(|other| &other.row).find(|row| row.layer == BASELINE.layer && is_same_disk(row, &told.row));
        let times =
            baseline.map(|baseline| told.row.outcome.latency_ms.all.mean / baseline.outcome.latency_ms.all.mean);
        match told.row.behind() {
            Some(_) => late += 1,
            None => of_role.iter_mut().filter(|(role, _)| *role == told.role).for_each(|(_, all)| all.extend(times)),
        }
    }
    let [naive, best] = of_role.map(|(_, times)| {
        let [least, most] = [f64::min, f64::max].map(|choose| times.iter().copied().reduce(choose).unwrap_or_default());
        format!("{} to {} times", number(least), number(most))
    });
    let late = if late > 0 { ", or cannot keep up at all" } else { "" };
    format!(
        "On disks whose tracks overlap, the layer that decides where blocks lie makes the difference: with a naive one, \
         requests take {naive} as long as on a conventional disk{late}; with the best one, {best}. The conventional disk is \
         busy for {} of the time.",
        percent(runs[0].row.outcome.disk_busy_ratio)
    )
}

/// What the words in the table mean, for whoever knows none of them.
const WORDS: [&str; 8] = [
    "Conventional: the same disk if its tracks did not overlap, so that any block can be overwritten where it lies.",
    "Shingled: tracks overlap like shingles on a roof, so to change a block all that follows it in its zone or band has to \
     be rewritten. Interlaced: every second track overlaps its two neighbours.",
    "Host-managed: the drive refuses writes that would destroy others, and a translation layer in the host finds another \
     way. Drive-managed: the drive has such a layer inside, which rewrites bands while no requests come.",
    "Naive: a layer that rewrites at once, or has a cache that is too small or keeps what is not needed. Best: the layer \
     with the lowest mean latency of those here that need no larger buffer than it.",
    "Buffer: the part of the disk, or the flash in front of it, where blocks can be overwritten.",
    "Mean: the time from the arrival of a request to its end, on average; p99: what 99 of 100 requests stay below. Vs conv: \
     the mean over that of the conventional disk.",
    "Cannot keep up: by how many times longer than the requests took to arrive the disk needs to serve them.",
    "WA: blocks written to the media for each that the host wrote. RMW: zones, bands or tracks rewritten. Both say how much \
     the disk works; where that is while no requests come, nobody waits for it.",
];

#[cfg(test)]
mod tests {
    use imbrex::layers::LayerInfo;
    use imbrex::replay::Configured;
    use imbrex::trace::Workload;

    use super::*;

    fn workload() -> Known {
        let mut workload = Workload::named(WORKLOAD).unwrap();
        workload.set_requests(REQUESTS.get());
        Known::survey(workload, Some(REQUESTS), None, &Progress::of_pieces("", 1)).unwrap()
    }

    /// Settings that make something else of a layer, by their kind.
    const ALSO: [(Family, Variant); 6] = [
        (Family::Banded, also("skylight", &["skylight.cache_blocks=2048"])),
        (Family::Ssd, also("static-sets", &["static-sets.read_allocate=false"])),
        // As good, since so few blocks are written that none has to leave.
        (Family::Ssd, also("pore", &["pore.read_allocate=false"])),
        (Family::Ssd, also("sac", &["sac.read_allocate=false"])),
        (Family::Interlaced, also("seagate-two-phase", &["seagate-two-phase.utilisation=0.6"])),
        (Family::Interlaced, also("seagate", &["seagate.utilisation=0.6"])),
    ];

    const fn also(layer: &'static str, settings: &'static [&'static str]) -> Variant {
        Variant { layer, settings, with: "" }
    }

    /// Everything that may be better than the best: each layer of the family that fits on the drive, as it is and with
    /// the settings above.
    fn others(kind: &Kind) -> Vec<Variant> {
        let drive = kind.drive().unwrap();
        let (none, options) = (toml::Table::new(), ReplayOptions::default());
        let fits = |info: &&LayerInfo| {
            Configured { layer: info, config: &none, buffer_blocks: 1024 }.capacity(&drive, &options).is_ok()
        };
        let is_named = |info: &&LayerInfo| {
            [&kind.naive, &kind.best].iter().any(|named| named.layer == info.name && named.settings.is_empty())
        };
        let family = layers::ALL.iter().filter(|info| info.family == Some(kind.family));
        let plain = family.filter(fits).filter(|info| !is_named(info)).map(|info| also(info.name, &[]));
        let further = ALSO.into_iter().filter(|(family, _)| *family == kind.family).map(|(_, variant)| variant);
        plain.chain(further).collect()
    }

    /// The mean latency of every variant of a kind; of one that cannot keep up, how long its workload took.
    #[test]
    fn no_other_layer_is_better_than_the_best() {
        let (workload, options, progress) = (workload(), ReplayOptions::default(), Progress::new("", 0));
        let tried: Vec<_> = KINDS.iter().map(|kind| (kind, others(kind))).collect();
        let all: Vec<_> = tried
            .iter()
            .flat_map(|(kind, others)| {
                [&kind.naive, &kind.best].into_iter().chain(others).map(move |variant| (*kind, variant))
            })
            .collect();
        assert!(all.len() > 20, "only {} were tried", all.len());
        let rows = parallel::each(parallel::cores(), &all, |(kind, variant)| {
            Ok(kind.replay(variant, &workload, false, &options, &progress)?.0)
        });
        let rows = rows.unwrap();
        let of = |row: &Row| (row.outcome.latency_ms.all.mean, row.buffer_blocks);
        let mut rest = all.iter().zip(&rows).map(|((_, variant), row)| (variant, of(row).0, of(row).1));
        for (kind, others) in &tried {
            let [(_, naive, _), (_, best, buffer)] = [(); 2].map(|()| rest.next().unwrap());
            // One that has a larger buffer, whatever is asked for, is no rival.
            let rivals = rest.by_ref().take(others.len()).filter(|(.., blocks)| *blocks <= buffer);
            for (variant, mean, _) in rivals {
                // A cache that is just large enough is as good as a larger one, and a little nearer to what it caches.
                assert!(mean >= 0.99 * best, "{} is better: {mean} ms", variant.name());
            }
            assert!(naive > 3.0 * best, "{}: {naive} ms and {best} ms make no story", kind.disk());
            if kind.family == Family::Shingled {
                let conventional = kind.replay(&BASELINE, &workload, false, &options, &progress).unwrap().0;
                let times = best / conventional.outcome.latency_ms.all.mean;
                let said = format!("serves them at {times:.2} times the latency of a conventional disk");
                assert!(include_str!("../../../README.md").replace('\n', " ").contains(&said), "{said}");
            }
        }
        let mut in_place = rows.iter().filter(|row| row.behind().is_some()).map(|row| row.layer);
        assert_eq!((in_place.next(), in_place.next()), (Some("in-place"), None), "all others keep up");
    }
}
