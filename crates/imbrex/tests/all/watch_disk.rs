//! What the disk does, recorded step by step: the steps are those of the replay, and recording changes nothing.

use crate::fixture::{Listed, request, simulate};
use imbrex::block::{Access, Pba};
use imbrex::layers::{self, LayerInfo};
use imbrex::media::Media;
use imbrex::plan::{Place, Why};
use imbrex::random::Random;
use imbrex::recording::Recording;
use imbrex::replay::{
    Did, DiskStep, MOST_STEPS, Observer, Outcome, ReplayError, ReplayOptions, Scheduler, TraceMoment,
};
use imbrex::trace::{TraceRange, TraceRequest};

/// What was told of the disk, and how often.
#[derive(Default)]
struct Told {
    steps: Vec<DiskStep>,
    times: u32,
}

impl Observer for Told {
    fn steps(&mut self, steps: &[DiskStep], _media: &dyn Media) {
        self.steps.extend_from_slice(steps);
        self.times += 1;
    }
}

/// Layers on a single disk.
fn single() -> impl Iterator<Item = &'static LayerInfo> {
    layers::known().filter(|info| info.recording != Recording::Cached)
}

fn watched() -> ReplayOptions {
    ReplayOptions { watch_disk: Some(TraceMoment::Requests(0)), flush: true, ..ReplayOptions::default() }
}

/// Reads and writes all over a disk of `capacity` blocks, with gaps in which it is idle.
fn requests(count: u64, capacity: u64) -> Vec<TraceRequest> {
    let mut random = Random::new(7);
    let one = |number: u64| {
        let access = if random.below(3) == 0 { Access::Read } else { Access::Write };
        let arrival_ns = number * 1_000_000 + number / 50 * 3_000_000_000;
        request(arrival_ns, access, random.below(capacity - 3), 1 + random.below(3) as u32)
    };
    (0..count).map(one).collect()
}

fn replay(info: &LayerInfo, count: u64, options: &ReplayOptions) -> (Result<Outcome, ReplayError>, Told) {
    let mut told = Told::default();
    let simulation = simulate(info, "", 40, options).unwrap();
    let mut source = Listed::new(requests(count, simulation.capacity()));
    (simulation.run(&mut source, &mut told), told)
}

#[test]
fn watching_changes_no_count_and_no_time() {
    for info in single() {
        for as_live in [false, true] {
            let options = ReplayOptions { as_live, ..watched() };
            if as_live && simulate(info, "", 40, &options).is_err() {
                continue;
            }
            let (seen, told) = replay(info, 600, &options);
            let (unseen, untold) = replay(info, 600, &ReplayOptions { watch_disk: None, ..options });
            assert_eq!(seen.unwrap(), unseen.unwrap(), "{}", info.name);
            assert_eq!((told.times, untold.times), (1, 0), "{}", info.name);
            assert!(!told.steps.is_empty() && told.steps.len() <= MOST_STEPS, "{}", info.name);
        }
    }
}

#[test]
fn the_steps_are_those_that_the_disk_was_busy_with() {
    for info in single() {
        // So few that none is left out.
        let (outcome, told) = replay(info, 10, &watched());
        let mut moved = Why::ALL.map(|_| (0, 0));
        let (mut resets, mut busy_ns) = (0, 0);
        let on_disk = |place: Option<Place>| matches!(place, Some(Place::At(at)) if at.device() == Pba::DISK);
        for step in &told.steps {
            busy_ns += step.took_ns;
            match step.did {
                Did::Copy { from, to, blocks, why } => {
                    let (read, written) = &mut moved[why as usize];
                    *read += u64::from(blocks) * u64::from(on_disk(from));
                    *written += u64::from(blocks) * u64::from(on_disk(to));
                }
                Did::Reset(_) => resets += 1,
            }
        }
        let outcome = outcome.unwrap();
        let counted = Why::ALL.map(|why| (outcome.media_read_blocks.get(why), outcome.media_write_blocks.get(why)));
        assert_eq!(moved, counted, "{}", info.name);
        assert_eq!(resets, outcome.resets, "{}", info.name);
        let busy = busy_ns as f64 / 1e9 / outcome.simulated_seconds;
        assert!((busy - outcome.disk_busy_ratio).abs() < 1e-6, "{}: {busy}", info.name);
        let follow = told.steps.windows(2).all(|two| two[0].begun_ns + two[0].took_ns <= two[1].begun_ns);
        assert!(follow, "{}: one step begins before the last one ends", info.name);
    }
}

#[test]
fn a_moment_and_a_disk_that_cannot_be_watched_are_refused() {
    let late = ReplayOptions { watch_disk: Some(TraceMoment::Requests(10)), ..ReplayOptions::default() };
    let range = TraceRange { requests: 10, ..TraceRange::default() };
    let said = late.check_watch(&range).unwrap_err().to_string();
    assert!(
        said.contains("watch_disk: it begins after the 10 requests of the trace; choose an earlier moment"),
        "{said}"
    );
    let refused = |info: &str, options: ReplayOptions| {
        simulate(layers::find(info).unwrap(), "", 40, &options).err().unwrap().to_string()
    };
    assert!(refused("fifo-log", ReplayOptions { scheduler: Scheduler::Sptf, ..watched() }).contains("choose fcfs"));
    let at = Some(TraceMoment::Ns(1));
    let closed = ReplayOptions { queue_depth: Some(2), watch_disk: at, ..ReplayOptions::default() };
    assert!(refused("fifo-log", closed).contains("choose a number of requests"));
}

#[test]
fn watching_begins_at_its_moment() {
    let options = ReplayOptions { watch_disk: Some(TraceMoment::Requests(300)), ..watched() };
    let (_, told) = replay(layers::find("fifo-log").unwrap(), 600, &options);
    let first = told.steps.iter().find_map(|step| step.request).unwrap();
    assert!(first.number > 300, "request {} was recorded", first.number);
    assert!(told.steps.iter().any(|step| step.cleans && step.filled.is_some_and(|is| is.used > 0)));
}
