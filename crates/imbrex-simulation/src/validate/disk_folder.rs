//! Reads the reference measurements of one disk. All file access of the library is here.
//!
//! A folder holds `params.toml` (speeds and layout), `zones.csv` (recording zones), `seek.csv` (seek table),
//! `map_sample.csv` (where sectors lie) and pairs of `trace_<name>.csv` and `result_<name>.csv` or
//! `result_<name>_<scheduler>.csv`. Times are ms, distances cylinders, angles turns.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::ValidateError;
use imbrex_core::mechanics::{LayoutSpec, Mechanics, MechanicsSpec, RecordingSpec, RecordingZone, SeekSpec};

/// The measurements of one disk.
pub(super) struct DiskFolder {
    pub(super) name: String,
    pub(super) params: Params,
    pub(super) mechanics: Mechanics,
    pub(super) samples: Vec<Sample>,
    pub(super) runs: Vec<Run>,
    /// Traces without a result.
    pub(super) unmeasured: Vec<String>,
}

/// What `params.toml` says. Whatever else it says is commentary.
#[derive(Deserialize)]
pub(super) struct Params {
    pub(super) rotation_ms: f64,
    pub(super) cylinders: u32,
    heads: u32,
    pub(super) capacity_sectors: u64,
    head_switch_ms: f64,
    write_settle_ms: f64,
    #[serde(default)]
    bus_and_controller_overhead_ms: f64,
    #[serde(flatten)]
    layout: Layout,
}

/// The layouts that the measurements know.
#[derive(Deserialize)]
#[serde(tag = "layout", rename_all = "kebab-case")]
enum Layout {
    CylinderMajor,
    SerpentineGroups {
        group_cylinders: u32,
        section_tracks: u32,
        sections_per_group: u32,
        track_skew_rev: f64,
        group_skew_rev: f64,
    },
}

/// Where the reference says a sector lies.
#[derive(Deserialize)]
pub(super) struct Sample {
    pub(super) lbn: u64,
    pub(super) cyl: u32,
    pub(super) head: u32,
    pub(super) sector: u32,
    pub(super) sectors_per_track: u32,
    pub(super) start_angle_rev: f64,
}

/// One trace as the reference served it.
pub(super) struct Run {
    pub(super) name: String,
    /// How a queue of requests was served; a closed trace has none.
    pub(super) scheduler: Option<String>,
    pub(super) requests: Vec<Served>,
}

/// One request and how long the reference took for it.
pub(super) struct Served {
    /// Arrival, or for a closed trace the pause since the previous completion.
    pub(super) time_ns: u64,
    pub(super) lbn: u64,
    pub(super) sectors: u64,
    pub(super) write: bool,
    /// Time from arrival, or for a closed trace from the start of service, to completion.
    pub(super) taken_ns: u64,
}

#[derive(Deserialize)]
struct ZoneLine {
    first_lbn: u64,
    end_lbn_exclusive: u64,
    first_cyl: u32,
    last_cyl: Option<u32>,
    sectors_per_track: u32,
    #[serde(default)]
    track_skew_sectors: u32,
    #[serde(default)]
    cylinder_skew_sectors: u32,
}

#[derive(Deserialize)]
struct SeekLine {
    distance_cyl: u32,
    time_ms: f64,
}

#[derive(Copy, Clone, PartialEq, Deserialize)]
enum Op {
    R,
    W,
}

/// Time in ms, first sector, sectors.
#[derive(Deserialize)]
struct TraceLine(f64, u64, u64, Op);

#[derive(Deserialize)]
struct ResultLine {
    lbn: u64,
    sectors: u64,
    op: Op,
    service_ms: Option<f64>,
    response_ms: Option<f64>,
}

const PARAMS: &str = "params.toml";
/// The longest request, in sectors.
const MAX_SECTORS: u64 = 1 << 22;

impl DiskFolder {
    /// All disks measured in the folders of `dir`, by name.
    pub(super) fn read_all(dir: &Path) -> Result<Vec<Self>, ValidateError> {
        let folders = list(dir)?.into_iter().filter(|path| path.is_dir());
        let disks = folders.map(|path| Self::read(&path)).collect::<Result<Vec<_>, _>>()?;
        if disks.is_empty() {
            return Err(content(dir, "holds no folder of a measured disk".into()));
        }
        Ok(disks)
    }

    fn read(dir: &Path) -> Result<Self, ValidateError> {
        let path = dir.join(PARAMS);
        let text = fs::read_to_string(&path).map_err(|source| unreadable(&path, source))?;
        let params: Params = toml::from_str(&text).map_err(|error| content(&path, error.to_string()))?;
        let mechanics = mechanics(dir, &params)?;
        let samples = table(&dir.join("map_sample.csv"), true, |sample: Sample| {
            check(sample.lbn < mechanics.sectors(), "the sector lies beyond the end of the disk").map(|()| sample)
        })?;
        let (runs, unmeasured) = runs(dir, mechanics.sectors())?;
        Ok(Self { name: stem(dir), params, mechanics, samples, runs, unmeasured })
    }
}

/// The simulator's model of the measured disk.
fn mechanics(dir: &Path, params: &Params) -> Result<Mechanics, ValidateError> {
    if params.bus_and_controller_overhead_ms != 0.0 {
        let problem = "bus_and_controller_overhead_ms is not 0, but bus and controller are not modelled";
        return Err(content(&dir.join(PARAMS), problem.into()));
    }
    let rows = table(&dir.join("seek.csv"), true, |line: SeekLine| Ok((line.distance_cyl, line.time_ms)))?;
    let spec = MechanicsSpec {
        rpm: None,
        rotation_ms: Some(params.rotation_ms),
        heads: params.heads,
        head_switch_ms: params.head_switch_ms,
        write_settle_ms: params.write_settle_ms,
        seek: SeekSpec::Table { rows },
        layout: layout(dir, params)?,
        recording: RecordingSpec::Listed { zones: recording_zones(dir, params.heads)? },
    };
    spec.build(1).map_err(|source| ValidateError::Geometry { path: dir.into(), source })
}

fn layout(dir: &Path, params: &Params) -> Result<LayoutSpec, ValidateError> {
    match params.layout {
        Layout::CylinderMajor => Ok(LayoutSpec::CylinderMajor {}),
        Layout::SerpentineGroups {
            group_cylinders,
            section_tracks,
            sections_per_group,
            track_skew_rev,
            group_skew_rev,
        } => {
            let tracks = u64::from(sections_per_group) * u64::from(section_tracks);
            if tracks != u64::from(group_cylinders) * u64::from(params.heads) {
                let problem = "sections_per_group × section_tracks is not group_cylinders × heads";
                return Err(content(&dir.join(PARAMS), problem.into()));
            }
            Ok(LayoutSpec::Serpentine { group_cylinders, section_tracks, track_skew_rev, group_skew_rev })
        }
    }
}

/// The recording zones, whose cylinders follow from their sectors.
fn recording_zones(dir: &Path, heads: u32) -> Result<Vec<RecordingZone>, ValidateError> {
    let mut next_lbn = 0;
    table(&dir.join("zones.csv"), true, |line: ZoneLine| {
        check(line.first_lbn == next_lbn, "first_lbn is not the end of the zone before")?;
        next_lbn = line.end_lbn_exclusive;
        let sectors = next_lbn.checked_sub(line.first_lbn).ok_or("the zone ends before it begins")?;
        let per_cylinder = u64::from(heads) * u64::from(line.sectors_per_track);
        check(per_cylinder > 0 && sectors.is_multiple_of(per_cylinder), "the zone is not made of whole cylinders")?;
        let cylinders = u32::try_from(sectors / per_cylinder).map_err(|_| "the zone has too many cylinders")?;
        let end = u64::from(line.first_cyl) + u64::from(cylinders);
        let agrees = line.last_cyl.is_none_or(|last| u64::from(last) + 1 == end);
        check(agrees, "last_cyl does not agree with the zone's sectors")?;
        Ok(RecordingZone {
            first_cylinder: line.first_cyl,
            cylinders,
            sectors_per_track: line.sectors_per_track,
            track_skew_sectors: line.track_skew_sectors,
            cylinder_skew_sectors: line.cylinder_skew_sectors,
        })
    })
}

/// Every result with its trace, and the traces without a result.
fn runs(dir: &Path, capacity: u64) -> Result<(Vec<Run>, Vec<String>), ValidateError> {
    let files: Vec<String> =
        list(dir)?.iter().filter(|p| p.extension().is_some_and(|e| e == "csv")).map(|p| stem(p)).collect();
    let traces: Vec<&str> = files.iter().filter_map(|name| name.strip_prefix("trace_")).collect();
    let mut unmeasured = traces.clone();
    let mut runs = Vec::new();
    for result in files.iter().filter_map(|name| name.strip_prefix("result_")) {
        let path = dir.join(format!("result_{result}.csv"));
        let belongs = |trace: &&&str| result.strip_prefix(**trace).is_some_and(|r| r.is_empty() || r.starts_with('_'));
        // The longest name, should one trace's name begin with another's.
        let trace = traces.iter().filter(belongs).max_by_key(|trace| trace.len());
        let &trace = trace.ok_or_else(|| content(&path, "no trace file belongs to this result".into()))?;
        let scheduler = result[trace.len()..].strip_prefix('_').map(String::from);
        let requests = requests(&dir.join(format!("trace_{trace}.csv")), &path, scheduler.is_some(), capacity)?;
        unmeasured.retain(|&name| name != trace);
        runs.push(Run { name: trace.into(), scheduler, requests });
    }
    Ok((runs, unmeasured.into_iter().map(String::from).collect()))
}

/// The requests of a trace with the times of its result.
fn requests(trace: &Path, result: &Path, open: bool, capacity: u64) -> Result<Vec<Served>, ValidateError> {
    let mut previous_ns = 0;
    let asked = table(trace, false, |line: TraceLine| {
        let TraceLine(time_ms, lbn, sectors, _) = line;
        let inside = sectors >= 1 && lbn.checked_add(sectors).is_some_and(|end| end <= capacity);
        check(inside, "the request is empty or ends beyond the disk")?;
        check(sectors <= MAX_SECTORS, "the request is longer than 2 GiB")?;
        let time_ns = nanoseconds(time_ms)?;
        check(!open || previous_ns <= time_ns, "the request arrives before the one above")?;
        previous_ns = time_ns;
        Ok((time_ns, line))
    })?;
    let mut rest = asked.iter();
    let served = table(result, true, |line: ResultLine| {
        let &(time_ns, TraceLine(_, lbn, sectors, op)) = rest.next().ok_or("the trace has no such request")?;
        check((lbn, sectors) == (line.lbn, line.sectors) && op == line.op, "the trace has another request here")?;
        let (column, taken) = if open { ("response_ms", line.response_ms) } else { ("service_ms", line.service_ms) };
        let taken_ns = nanoseconds(taken.ok_or_else(|| BadRow(format!("{column} is missing").into()))?)?;
        Ok(Served { time_ns, lbn, sectors, write: op == Op::W, taken_ns })
    })?;
    match rest.next() {
        None => Ok(served),
        Some(_) => Err(content(result, format!("ends before its trace, after {} requests", served.len()))),
    }
}

/// What is wrong with a row of a table.
struct BadRow(Cow<'static, str>);

impl From<&'static str> for BadRow {
    fn from(problem: &'static str) -> Self {
        Self(problem.into())
    }
}

/// The rows of a CSV table as `convert` makes them. An empty table is an error: it would pass every check.
fn table<T: DeserializeOwned, U>(
    path: &Path,
    headers: bool,
    mut convert: impl FnMut(T) -> Result<U, BadRow>,
) -> Result<Vec<U>, ValidateError> {
    let bytes = fs::read(path).map_err(|source| unreadable(path, source))?;
    let mut reader = csv::ReaderBuilder::new().has_headers(headers).from_reader(bytes.as_slice());
    let wrong = |line, problem| ValidateError::Line { path: path.into(), line, problem };
    let malformed = |error: csv::Error| wrong(error.position().map_or(1, csv::Position::line), error.to_string());
    let names = if headers { Some(reader.headers().map_err(malformed)?.clone()) } else { None };
    let mut record = csv::StringRecord::new();
    let mut rows = Vec::new();
    while reader.read_record(&mut record).map_err(malformed)? {
        let line = record.position().map_or(1, csv::Position::line);
        let row: T = record.deserialize(names.as_ref()).map_err(malformed)?;
        rows.push(convert(row).map_err(|BadRow(problem)| wrong(line, problem.into_owned()))?);
    }
    if rows.is_empty() {
        return Err(content(path, "has no rows".into()));
    }
    Ok(rows)
}

/// The entries of a folder, sorted.
fn list(dir: &Path) -> Result<Vec<PathBuf>, ValidateError> {
    let entries = fs::read_dir(dir).map_err(|source| unreadable(dir, source))?;
    let paths: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(|source| unreadable(dir, source))?;
    paths.sort();
    Ok(paths)
}

/// Milliseconds as ns; the tables give six decimals.
fn nanoseconds(ms: f64) -> Result<u64, BadRow> {
    check((0.0..1e9).contains(&ms), "a time is not between 0 and 1e9 ms")?;
    Ok((ms * 1e6 + 0.5) as u64)
}

fn check(holds: bool, problem: &'static str) -> Result<(), BadRow> {
    if holds { Ok(()) } else { Err(BadRow(problem.into())) }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn unreadable(path: &Path, source: std::io::Error) -> ValidateError {
    ValidateError::Unreadable { path: path.into(), source }
}

fn content(path: &Path, problem: String) -> ValidateError {
    ValidateError::Content { path: path.into(), problem }
}
