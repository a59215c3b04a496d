//! What the simulating runner does between cleaning steps: who is served, what idle time is used for, and when space
//! that was given up comes back. The layer follows a script.

use std::sync::{Arc, Mutex};

use crate::fixture::{Listed, SECTOR_NS, SEEK_NS, disk, request};
use imbrex::block::{Access, Extent, Lba, Pba, Request};
use imbrex::layer::{
    Corrupt, Facts, Freed, JournalFacts, Pressure, Step, TranslationLayer, UnitReport, Violation, Write,
};
use imbrex::media::Conventional;
use imbrex::plan::{Place, Plan, Record, Why};
use imbrex::replay::{Outcome, ReplayOptions, Scheduler, Simulation};
use imbrex::trace::TraceRequest;

/// A cleaning step writes a block far from the last access; so does a request.
const FAR: u64 = SEEK_NS + 8 * SECTOR_NS;

/// What a layer was asked, in order.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Call {
    Read(u64),
    Write(u64),
    /// Blocked, with so many requests waiting.
    Blocked(usize),
    Idle(u64),
    Freed(u64),
}

/// Leaves blocks where they are. Writes are blocked until the steps are used up.
struct Scripted {
    steps: Vec<Step>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Scripted {
    fn note(&self, call: Call) {
        self.calls.lock().unwrap().push(call);
    }
}

impl TranslationLayer for Scripted {
    fn facts(&self) -> Facts {
        Facts {
            looks_at_waiting: true,
            journal: JournalFacts { records: 1, ..JournalFacts::default() },
            ..Facts::default()
        }
    }

    fn capacity(&self) -> u64 {
        256
    }

    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        plan.copy(Place::At(Pba::disk(100 + at.start.0)), Place::Host(0), at.blocks, Why::Host);
    }
    fn read(&mut self, at: Extent<Lba>, plan: &mut Plan) {
        self.note(Call::Read(at.start.0));
        self.locate(at, plan);
    }
    fn write(&mut self, Write { at, .. }: Write, plan: &mut Plan) -> u32 {
        if !self.steps.is_empty() {
            return 0;
        }
        self.note(Call::Write(at.start.0));
        plan.copy(Place::Host(0), Place::At(Pba::disk(100 + at.start.0)), at.blocks, Why::Host);
        at.blocks
    }
    fn trim(&mut self, at: Extent<Lba>, _plan: &mut Plan) -> u32 {
        at.blocks
    }
    fn clean(&mut self, why: Pressure, waiting: &[Request], plan: &mut Plan) -> Step {
        self.note(match why {
            Pressure::Blocked(_) => Call::Blocked(waiting.len()),
            Pressure::Idle { ns } => Call::Idle(ns),
            Pressure::Asked | Pressure::Ahead { .. } => unreachable!("the simulating runner asks for nothing"),
        });
        if self.steps.is_empty() {
            return Step::Nothing;
        }
        plan.copy(Place::Zero, Place::At(Pba::disk(400 + 2 * (self.steps.len() as u64 % 50))), 1, Why::Collect);
        plan.record(Record::Note { key: 0, value: 0 });
        plan.free(Extent::new(Pba::disk(500), 1));
        self.steps.remove(0)
    }
    fn freed(&mut self, space: Extent<Pba>, _why: Freed) {
        self.note(Call::Freed(space.start.block()));
    }
    fn apply(&mut self, _record: &Record) -> Result<(), Corrupt> {
        Ok(())
    }
    fn recovered(&mut self, _units: &UnitReport, _plan: &mut Plan) -> Result<(), Corrupt> {
        Ok(())
    }
    fn checkpoint(&self, _from: u64, plan: &mut Plan) -> Option<u64> {
        plan.record(Record::Note { key: 0, value: 0 });
        None
    }
    fn check(&self) -> Result<(), Violation> {
        Ok(())
    }
}

fn run(steps: &[Step], trace: Vec<TraceRequest>, options: &ReplayOptions) -> (Vec<Call>, Outcome) {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let make = || Ok(Box::new(Scripted { steps: steps.to_vec(), calls: Arc::clone(&calls) }) as _);
    let options = ReplayOptions { prefill: 0.0, ..options.clone() };
    let disk = disk(Conventional::new(Pba::DISK, 512));
    let simulation = Simulation::new("scripted", &make, disk, &options).unwrap();
    let outcome = simulation.run(&mut Listed::new(trace), &mut ()).unwrap();
    let calls = calls.lock().unwrap().clone();
    (calls, outcome)
}

/// A write, a read of the same block, a read of another, a write and a read of what that wrote; the last comes later.
fn crowd() -> Vec<TraceRequest> {
    let (read, write) = (Access::Read, Access::Write);
    vec![
        request(0, write, 1, 1),
        request(0, read, 1, 1),
        request(0, read, 20, 1),
        request(0, write, 40, 1),
        request(0, read, 40, 1),
        request(FAR + 1, read, 60, 1),
    ]
}

fn without_freed(calls: Vec<Call>) -> Vec<Call> {
    calls.into_iter().filter(|call| !matches!(call, Call::Freed(_))).collect()
}

#[test]
fn reads_overtake_a_blocked_write_but_no_write_that_concerns_them() {
    use Call::{Blocked, Read, Write};
    let (calls, outcome) = run(&[Step::More, Step::Done], crowd(), &ReplayOptions::default());
    let expected = [Blocked(4), Read(20), Read(60), Blocked(3), Write(1), Read(1), Write(40), Read(40)];
    assert_eq!(without_freed(calls), expected);
    assert_eq!(outcome.requests, 6);
    assert_eq!((outcome.blocked_cleaning.episodes, outcome.blocked_cleaning.steps), (1, 2));
    assert_eq!(outcome.blocked_cleaning.total_ns, 2 * FAR);
}

#[test]
fn nobody_is_served_while_a_layer_holds() {
    use Call::{Blocked, Read, Write};
    let (calls, _) = run(&[Step::Hold, Step::Done], crowd(), &ReplayOptions::default());
    let expected = [Blocked(4), Blocked(4), Write(1), Read(1), Read(20), Write(40), Read(40), Read(60)];
    assert_eq!(without_freed(calls), expected);
}

#[test]
fn through_a_queue_reads_are_planned_while_a_step_is_under_way() {
    use Call::{Blocked, Read, Write};
    let queued = ReplayOptions { scheduler: Scheduler::CLook, ..ReplayOptions::default() };
    let (calls, outcome) = run(&[Step::More, Step::Done], crowd(), &queued);
    // The second step is planned before the disk has served the read of 20, and so before that of 60 arrives.
    let expected = [Blocked(4), Read(20), Blocked(3), Write(1), Read(1), Write(40), Read(40), Read(60)];
    assert_eq!(without_freed(calls), expected);
    assert_eq!((outcome.requests, outcome.blocked_cleaning.steps), (6, 2));
    let held = run(&[Step::Hold, Step::Done], crowd(), &queued).0;
    let expected = [Blocked(4), Blocked(4), Write(1), Read(1), Read(20), Write(40), Read(40), Read(60)];
    assert_eq!(without_freed(held), expected);
}

#[test]
fn a_layer_that_holds_has_the_disk_for_itself() {
    use Call::{Blocked, Read, Write};
    let queued = ReplayOptions { scheduler: Scheduler::CLook, ..ReplayOptions::default() };
    let run = |first| {
        let (read, write) = (Access::Read, Access::Write);
        let trace = vec![request(0, read, 255, 1), request(1, read, 20, 1), request(1, write, 1, 1)];
        let (calls, outcome) = run(&[first, Step::Done], trace, &queued);
        assert_eq!(without_freed(calls), [Read(255), Read(20), Blocked(0), Blocked(0), Write(1)]);
        (outcome.latency_ms.read.max, outcome.blocked_cleaning.total_ns)
    };
    // The block that the step writes is ahead of the head, that of the read behind it.
    assert_eq!(run(Step::More), ((3 * FAR - 1) as f64 / 1e6, 3 * FAR));
    assert_eq!(run(Step::Hold), ((2 * FAR - 1) as f64 / 1e6, 2 * FAR), "the queue is emptied first");
}

#[test]
fn a_closed_loop_of_one_has_nobody_waiting() {
    use Call::{Blocked, Read, Write};
    let one = ReplayOptions { queue_depth: Some(1), ..ReplayOptions::default() };
    let (calls, _) = run(&[Step::More, Step::Done], crowd(), &one);
    let expected = [Blocked(0), Blocked(0), Write(1), Read(1), Read(20), Write(40), Read(40), Read(60)];
    assert_eq!(without_freed(calls), expected);
}

#[test]
fn idle_time_is_offered_after_a_while_and_a_step_is_not_cut_short() {
    use Call::{Idle, Read};
    let trace = || vec![request(0, Access::Read, 0, 1), request(FAR * 3, Access::Read, 20, 1)];
    let after = ReplayOptions { idle_after_ns: FAR / 2, ..ReplayOptions::default() };
    let (calls, outcome) = run(&[Step::More; 9], trace(), &after);
    assert_eq!(without_freed(calls), [Read(0), Idle(FAR / 2), Idle(FAR * 3 / 2), Read(20)]);
    assert_eq!(outcome.latency_ms.all.max, (FAR / 2 + FAR) as f64 / 1e6, "the second step ends half a step late");
    assert_eq!((outcome.idle_cleaning.steps, outcome.idle_cleaning.total_ns), (2, 2 * FAR));

    let (calls, _) = run(&[], trace(), &after);
    assert_eq!(calls, [Read(0), Idle(FAR / 2), Read(20)], "clean enough");
    let never = ReplayOptions { idle: false, ..after };
    assert_eq!(run(&[Step::More; 9], trace(), &never).0, [Read(0), Read(20)]);
}

#[test]
fn how_long_cleaning_goes_on_after_the_end_is_measured_and_nothing_else_of_it() {
    let trace = || vec![request(0, Access::Read, 0, 1)];
    let after = ReplayOptions { idle_after_ns: FAR / 2, ..ReplayOptions::default() };
    let rest = |steps: &[Step], idle| run(steps, trace(), &ReplayOptions { rest: true, idle, ..after.clone() }).1;
    let rested = rest(&[Step::More; 2], true);
    assert_eq!(rested.rest_seconds, Some((FAR / 2 + 2 * FAR) as f64 / 1e9));
    let plain = run(&[Step::More; 2], trace(), &after).1;
    assert_eq!(plain, Outcome { rest_seconds: None, ..rested });
    assert_eq!(rest(&[], true).rest_seconds, Some(0.0), "waiting for nothing is no work");
    assert_eq!(rest(&[Step::More; 2], false).rest_seconds, Some(0.0));
}

#[test]
fn space_comes_back_with_its_record() {
    use Call::{Blocked, Freed, Write};
    let trace = || vec![request(0, Access::Write, 1, 1)];
    let (calls, outcome) = run(&[Step::More, Step::Done], trace(), &ReplayOptions::default());
    assert_eq!(calls, [Blocked(0), Freed(500), Blocked(0), Freed(500), Write(1)], "at once without a journal");
    assert_eq!(outcome.media_write_blocks.get(Why::Metadata), 0);

    let as_live = ReplayOptions { as_live: true, journal_blocks: Some(200), ..ReplayOptions::default() };
    let (calls, outcome) = run(&[Step::More, Step::Wait, Step::Done], trace(), &as_live);
    assert_eq!(calls, [Blocked(0), Blocked(0), Freed(500), Freed(500), Blocked(0), Write(1)], "when it is written");
    assert_eq!(outcome.media_write_blocks.get(Why::Metadata), 1);
    assert_eq!(outcome.write_amplification, 5.0);
}

#[test]
fn space_that_came_back_during_the_step_is_waited_for_no_more() {
    use Call::{Blocked, Freed, Write};
    let full = ReplayOptions { as_live: true, journal_blocks: Some(200), gather: 2, ..ReplayOptions::default() };
    let (calls, _) = run(&[Step::Wait, Step::Done], vec![request(0, Access::Write, 1, 1)], &full);
    assert_eq!(calls, [Blocked(0), Freed(500), Blocked(0), Freed(500), Write(1)]);
}

#[test]
fn the_journal_writes_blocks_and_checkpoints() {
    // 191 records of 21 bytes fit a block, and each comes with a free; a ring of 60 is checkpointed with one block
    // after every thirty.
    let as_live = ReplayOptions { as_live: true, journal_blocks: Some(60), gather: 382, ..ReplayOptions::default() };
    let mut steps = vec![Step::More; 191 * 60];
    steps.push(Step::Done);
    let (_, outcome) = run(&steps, vec![request(0, Access::Write, 1, 1)], &as_live);
    assert_eq!(outcome.media_write_blocks.get(Why::Metadata), 60 + 2);
}
