//! When cleaning begins before a write waits for it, and how long writes are throttled meanwhile.
//!
//! What a layer says of its room ([`Outlook`]) is held against two measured rates: how fast clients write, and how fast
//! cleaning moves blocks while they do. Cleaning is wanted when less room is left than clients would fill in twice the
//! time that it takes until more comes. If they fill it faster than that, each write is throttled a little: the time
//! that the rest of the cleaning takes is shared out over the blocks that there is room for. So the room lasts until
//! more comes, and no write has to wait for all of the cleaning at once.
//!
//! Nothing here reads a clock: times are given, from the start of the engine.

use std::time::Duration;

use imbrex::layer::Outlook;

/// How many times what clients fill while cleaning makes more is kept as room.
const SAFETY: f64 = 2.0;

/// Seconds over which the rate of writes is measured.
const MEMORY: f64 = 1.0;

/// Seconds in which a rate that was reached once is forgotten: a burst may come again, and writes that are throttled
/// say nothing of what clients would write.
const PEAK_MEMORY: f64 = 10.0;

/// Seconds of cleaning over which its speed is measured.
const WORK_MEMORY: f64 = 2.0;

/// Blocks that cleaning is taken to move in a second before it has been measured, so that the first burst finds no more
/// room than a slow drive can make up for: 80 MB/s with blocks of 4 KiB.
const FIRST_SPEED: f64 = 20_000.0;

/// Steps of cleaning that follow each other sooner belong together, and the time between them to what cleaning takes.
const TOGETHER: Duration = Duration::from_millis(50);

/// Seconds that are not told from longer times.
const LONGEST: f64 = 3600.0;

/// How long cleaning is not asked for again when it could gain nothing.
const AFTER_NOTHING: Duration = Duration::from_millis(100);

/// How many blocks take room in a second.
#[derive(Copy, Clone, Debug, Default)]
struct Demand {
    last: Duration,
    recent: f64,
    peak: f64,
}

impl Demand {
    fn add(&mut self, now: Duration, blocks: u64) {
        let passed = now.saturating_sub(self.last).as_secs_f64();
        self.last = now;
        self.recent = self.recent * (-passed / MEMORY).exp() + blocks as f64;
        self.peak = (self.peak * (-passed / PEAK_MEMORY).exp()).max(self.recent / MEMORY);
    }

    fn rate(&self, now: Duration) -> f64 {
        self.peak * (-now.saturating_sub(self.last).as_secs_f64() / PEAK_MEMORY).exp()
    }
}

/// How many blocks cleaning moves in a second.
#[derive(Copy, Clone, Debug, Default)]
struct Speed {
    moved: f64,
    seconds: f64,
    last_end: Option<Duration>,
}

impl Speed {
    fn add(&mut self, now: Duration, moved: u64, took: Duration) {
        let since_last = self.last_end.map(|end| now.saturating_sub(end));
        let busy = since_last.filter(|since| *since < took + TOGETHER).unwrap_or(took).max(took).as_secs_f64();
        self.last_end = Some(now);
        let kept = (-busy / WORK_MEMORY).exp();
        self.moved = self.moved * kept + moved as f64;
        self.seconds = self.seconds * kept + busy;
    }

    fn measured(&self) -> Option<f64> {
        (self.seconds > 0.0 && self.moved > 0.0).then(|| self.moved / self.seconds)
    }

    fn rate(&self) -> f64 {
        self.measured().unwrap_or(FIRST_SPEED)
    }
}

/// How writes were throttled.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct HeldBack {
    /// How many were.
    pub writes: u64,
    /// For how long, all of them together.
    pub total: Duration,
    /// For how long at most.
    pub longest: Duration,
}

/// How room and rates stand.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Pacing {
    /// What the layer says.
    pub outlook: Outlook,
    /// Blocks of room below which cleaning begins.
    pub target: u64,
    /// Blocks of room that clients take in a second, at their fastest of late.
    pub demand: f64,
    /// Blocks that cleaning moves in a second, if it has been measured.
    pub speed: Option<f64>,
    /// How long pacing throttles a write at most.
    pub most: Duration,
    /// How writes were throttled so far.
    pub held_back: HeldBack,
}

/// The controller.
#[derive(Clone, Debug)]
pub(super) struct Admission {
    most: Duration,
    demand: Demand,
    speed: Speed,
    outlook: Option<Outlook>,
    /// The room that the layer spoke of; what is in `outlook` is less by what has been admitted since.
    seen_room: u64,
    /// The most work that there was before the room that comes next.
    whole_work: u64,
    /// When the next write is admitted, if there is less room than is wanted.
    next: Duration,
    /// Cleaning is not asked for before.
    not_before: Duration,
    held_back: HeldBack,
    /// How often room has come.
    gains: u64,
}

impl Admission {
    /// One that throttles no write for longer than `most`.
    pub fn new(most: Duration) -> Self {
        Self {
            most,
            demand: Demand::default(),
            speed: Speed::default(),
            outlook: None,
            seen_room: 0,
            whole_work: 0,
            next: Duration::ZERO,
            not_before: Duration::ZERO,
            held_back: HeldBack::default(),
            gains: 0,
        }
    }

    /// Takes note of what the layer says. With more room than before no write need be throttled for as long as was
    /// said.
    pub fn look(&mut self, now: Duration, outlook: Option<Outlook>) {
        let room = outlook.map_or(0, |outlook| outlook.room);
        let work = outlook.map_or(0, |outlook| outlook.work);
        let has_come = room > self.seen_room;
        self.demand.add(now, self.seen_room.saturating_sub(room));
        self.whole_work = if has_come { work } else { self.whole_work.max(work) };
        self.seen_room = room;
        self.outlook = outlook;
        if has_come {
            self.next = now;
            self.gains += 1;
        }
    }

    /// For how long a write of `blocks` blocks that comes now is throttled.
    pub fn admit(&mut self, now: Duration, blocks: u64) -> Duration {
        let delay = self.left(now).map_or(Duration::ZERO, |(left, room)| {
            let begin = self.next.max(now);
            let share = left.mul_f64((blocks as f64 / room as f64).min(1.0));
            // When more room comes no write need be throttled.
            self.next = (begin + share).min(now + left.min(self.most));
            self.next - now
        });
        if let Some(outlook) = &mut self.outlook {
            outlook.room = outlook.room.saturating_sub(blocks);
        }
        delay
    }

    /// How often room has come: then a write that is throttled may go on.
    pub fn gains(&self) -> u64 {
        self.gains
    }

    /// Takes note of how long a write was throttled.
    pub fn held_back(&mut self, time: Duration) {
        self.held_back.writes += 1;
        self.held_back.total += time;
        self.held_back.longest = self.held_back.longest.max(time);
    }

    /// How long it takes until more room comes, and the room that has to last until then, if that is less than is
    /// wanted.
    fn left(&self, now: Duration) -> Option<(Duration, u64)> {
        let (outlook, speed) = (self.outlook?, self.speed.rate());
        let is_short = outlook.gain > 0 && outlook.room < self.target(now);
        is_short.then(|| (Duration::from_secs_f64((outlook.work as f64 / speed).min(LONGEST)), outlook.room.max(1)))
    }

    /// A step of cleaning that moved `moved` blocks has ended.
    pub fn moved(&mut self, now: Duration, moved: u64, took: Duration) {
        self.speed.add(now, moved, took);
    }

    /// Cleaning could gain nothing.
    pub fn nothing_gained(&mut self, now: Duration) {
        self.not_before = now + AFTER_NOTHING;
    }

    /// The room that cleaning is to make, if it is wanted now.
    pub fn wants(&self, now: Duration) -> Option<u64> {
        let outlook = self.outlook.filter(|outlook| outlook.gain > 0)?;
        let target = self.target(now);
        (outlook.room < target && self.may_ask(now)).then_some(target)
    }

    /// Whether it has been so long since cleaning could gain nothing that it may be asked for again.
    pub fn may_ask(&self, now: Duration) -> bool {
        now >= self.not_before
    }

    /// How much room there should be.
    fn target(&self, now: Duration) -> u64 {
        let Some(outlook) = self.outlook else { return 0 };
        let time = self.whole_work.max(outlook.work) as f64 / self.speed.rate();
        let filled = SAFETY * self.demand.rate(now) * time;
        (filled as u64).min(outlook.most)
    }

    /// How room and rates stand, where the layer says it.
    pub fn stands(&self, now: Duration) -> Option<Pacing> {
        Some(Pacing {
            outlook: self.outlook?,
            target: self.target(now),
            demand: self.demand.rate(now),
            speed: self.speed.measured(),
            most: self.most,
            held_back: self.held_back,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const MOST: Duration = Duration::from_millis(500);

    /// A layer that moves a number of blocks to gain a number of them, and a drive that moves `speed` in a millisecond.
    struct Model {
        outlook: Outlook,
        /// How it was made: what a step of cleaning moves, and what it gains.
        fresh: Outlook,
        speed: u64,
        now: Duration,
        admission: Admission,
    }

    /// What writes came to.
    #[derive(Default)]
    struct Came {
        written: u64,
        cleaned: u64,
        longest: Duration,
        delays: Duration,
        found_no_room: u64,
    }

    impl Model {
        fn new(outlook: Outlook, speed: u64) -> Self {
            Self { outlook, fresh: outlook, speed, now: Duration::ZERO, admission: Admission::new(MOST) }
        }

        /// Cleans for a millisecond if that is wanted or `blocked`.
        fn clean(&mut self, blocked: bool) -> u64 {
            self.now += MS;
            if !blocked && self.admission.wants(self.now).is_none() {
                return 0;
            }
            let moved = self.speed.min(self.outlook.work);
            self.outlook.work -= moved;
            if self.outlook.work == 0 {
                self.outlook.work = self.fresh.work;
                self.outlook.room += self.fresh.gain;
            }
            self.admission.moved(self.now, moved, MS);
            self.admission.look(self.now, Some(self.outlook));
            moved
        }

        /// `clients` clients, each of which waits for its write, want to write `each_ms` blocks in each millisecond.
        fn run(&mut self, ms: u32, clients: usize, each_ms: f64) -> Came {
            let (mut came, mut held, mut owed) = (Came::default(), Vec::new(), 0.0);
            for _ in 0..ms {
                owed = (owed + each_ms).min(clients as f64);
                while owed >= 1.0 && held.len() < clients {
                    owed -= 1.0;
                    self.admission.look(self.now, Some(self.outlook));
                    let delay = self.admission.admit(self.now, 1);
                    (came.longest, came.delays) = (came.longest.max(delay), came.delays + delay);
                    held.push(self.now + delay);
                }
                let due = held.iter().filter(|at| **at <= self.now).count() as u64;
                let fits = due.min(self.outlook.room);
                came.found_no_room += u64::from(fits < due);
                came.written += fits;
                self.outlook.room -= fits;
                held.sort();
                held.drain(..fits as usize);
                came.cleaned += self.clean(fits < due);
            }
            came
        }
    }

    #[test]
    fn nothing_is_cleaned_or_held_back_while_there_is_room() {
        let mut model = Model::new(Outlook { room: 1_000_000, most: 1000, work: 10_000, gain: 2000 }, 100);
        let came = model.run(5000, 32, 20.0);
        assert_eq!((came.cleaned, came.delays), (0, Duration::ZERO));
        assert!(came.written > 95_000, "{}", came.written);
    }

    #[test]
    fn cleaning_begins_early_enough_for_writes_that_are_slow_enough() {
        // 100 ms of cleaning for 2000 blocks: 20 in a millisecond, of which 5 are asked for.
        let mut model = Model::new(Outlook { room: 3000, most: 2000, work: 10_000, gain: 2000 }, 100);
        let came = model.run(20_000, 32, 5.0);
        assert_eq!(came.found_no_room, 0);
        assert!(came.longest < 20 * MS, "{:?}", came.longest);
        assert!(came.written > 98_000, "{}", came.written);
        let needed = (came.written - 3000) / 2000 * 10_000;
        assert!(came.cleaned <= needed + 20_000, "{} blocks moved, and {needed} had to be", came.cleaned);
    }

    #[test]
    fn writes_that_outrun_cleaning_are_all_held_back_a_little_and_none_for_long() {
        // Twice as many are asked for as 1 s of cleaning gives: 2 in a millisecond.
        let mut model = Model::new(Outlook { room: 2000, most: 1000, work: 100_000, gain: 2000 }, 100);
        let came = model.run(60_000, 32, 4.0);
        assert!(came.longest < 100 * MS, "{:?}, where 32 take 16 ms", came.longest);
        assert!(came.found_no_room < 60, "{} ms of 60 s", came.found_no_room);
        assert!(
            came.written > 95_000,
            "{} of the 96,000 that there is room for if 1000 of 2000 are not waited for",
            came.written
        );
    }

    #[test]
    fn no_write_is_held_back_for_longer_than_may_be() {
        let mut model = Model::new(Outlook { room: 10, most: 1000, work: 1_000_000, gain: 1 }, 10);
        let came = model.run(20_000, 32, 4.0);
        assert_eq!(came.longest, MOST);
    }

    #[test]
    fn a_burst_is_expected_again_for_a_while() {
        let mut model = Model::new(Outlook { room: 50_000, most: 40_000, work: 10_000, gain: 20_000 }, 100);
        model.clean(true);
        model.run(2000, 64, 20.0);
        let after_burst = model.admission.stands(model.now).map(|stands| stands.target);
        assert!(after_burst > Some(3000), "{after_burst:?}, where 100 ms take 2000 blocks");
        model.now += Duration::from_secs(60);
        let later = model.admission.stands(model.now).map(|stands| stands.target);
        assert!(later < Some(50), "{later:?}");
    }

    #[test]
    fn what_gains_nothing_is_not_asked_for_and_holds_nobody_back() {
        let mut admission = Admission::new(MOST);
        admission.moved(MS, 100, MS);
        admission.look(MS, Some(Outlook { room: 0, most: 100, work: 1000, gain: 0 }));
        assert_eq!((admission.wants(2 * MS), admission.admit(2 * MS, 8)), (None, Duration::ZERO));
        let mut admission = Admission::new(MOST);
        let outlook = |room| Some(Outlook { room, most: 100, work: 1000, gain: 10 });
        admission.look(MS, outlook(50));
        assert_eq!(admission.wants(2 * MS), None, "nobody writes");
        admission.look(2 * MS, outlook(0));
        assert!(admission.wants(2 * MS).is_some(), "before anything is known of the speed");
        assert!(admission.admit(2 * MS, 1) > Duration::ZERO);
        admission.nothing_gained(2 * MS);
        assert_eq!(admission.wants(3 * MS), None);
        assert!(admission.wants(2 * MS + AFTER_NOTHING).is_some());
        admission.look(MS, None);
        assert_eq!((admission.wants(MS * 900), admission.stands(MS)), (None, None));
    }
}
