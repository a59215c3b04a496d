//! What happened to a volume while it was served, for who looks later.
//!
//! The server looks at itself once a second and compares what it sees with what it saw before. So events cost requests
//! nothing, and whatever happens, there is a bounded number of them: of each kind the last ones are kept, so that
//! frequent kinds do not drive out rare ones.

use serde::{Deserialize, Serialize};

use super::seen::{Scrub, Seen};
use crate::engine::Cleaning;

/// How many events of a kind are kept.
const KEPT: usize = 20;
/// How long cleaning and throttling must have rested before they are said to have ended, in milliseconds: pauses within
/// one burst of writes are no events.
const QUIET_MS: u64 = 5000;

/// Something that happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Event {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// What.
    pub event: EventKind,
    /// Whether somebody should look after it.
    pub level: EventLevel,
    /// The same in words, with its numbers.
    pub text: String,
}

/// Whether an event is a problem.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventLevel {
    /// It is not.
    Info,
    /// Somebody should look after it.
    Warning,
}

/// What happens to a volume.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// The volume was recovered.
    Serving,
    /// Clients connected.
    ClientsConnected,
    /// Clients disconnected.
    ClientsDisconnected,
    /// Cleaning was paused, resumed or asked for.
    CleaningSet,
    /// A period of cleaning began.
    CleaningBegan,
    /// It ended.
    CleaningEnded,
    /// A period in which writes were throttled began.
    ThrottlingBegan,
    /// It ended.
    ThrottlingEnded,
    /// A growth began.
    GrowthBegan,
    /// It ended.
    GrowthEnded,
    /// A scrub began.
    ScrubBegan,
    /// It ended.
    ScrubEnded,
    /// Operations of the drives failed.
    OperationsFailed,
    /// A failed operation ended an epoch of the layer.
    EpochEnded,
    /// Blocks did not match their checksums.
    BlocksDamaged,
    /// The host has no room for writes.
    HostFull,
    /// It has room again.
    HostHasRoom,
    /// The volume cannot be used any more.
    Unusable,
}

/// The events of a volume, and what was seen last.
pub(super) struct Events {
    /// The oldest first.
    kept: Vec<Event>,
    seen: Option<Seen>,
    cleaning: Activity,
    throttling: Activity,
    /// When a growth that is under way began, and the capacity then.
    growth: Option<(u64, u64)>,
}

/// Something that goes on for a time, of which each step is counted.
#[derive(Default)]
struct Activity {
    count: u64,
    period: Option<Period>,
}

struct Period {
    began_ms: u64,
    count_before: u64,
    last_ms: u64,
}

/// What became of an activity.
enum Change {
    Began,
    Ended { at_ms: u64, took_ms: u64, count: u64 },
}

impl Activity {
    fn look(&mut self, count: u64, is_under_way: bool, at_ms: u64) -> Option<Change> {
        let count_before = std::mem::replace(&mut self.count, count);
        let goes_on = is_under_way || count > count_before;
        match &mut self.period {
            None if goes_on => {
                self.period = Some(Period { began_ms: at_ms, count_before, last_ms: at_ms });
                Some(Change::Began)
            }
            Some(period) if goes_on => {
                period.last_ms = at_ms;
                None
            }
            Some(period) if at_ms.saturating_sub(period.last_ms) >= QUIET_MS => {
                let Period { began_ms, count_before, last_ms } = *period;
                self.period = None;
                let took_ms = last_ms.saturating_sub(began_ms);
                Some(Change::Ended { at_ms: last_ms, took_ms, count: count - count_before })
            }
            _ => None,
        }
    }
}

impl Events {
    /// Of a volume that is served from now on, whose recovery has read so many entries of the journal.
    pub fn begin(entries_read: u64, at_ms: u64) -> Self {
        let (kept, seen, growth) = (Vec::new(), None, None);
        let mut events = Self { kept, seen, cleaning: Activity::default(), throttling: Activity::default(), growth };
        let text = format!("Serving: {} recovered", several(entries_read, "journal entry"));
        events.info(at_ms, EventKind::Serving, text);
        events
    }

    /// All that are kept, the newest first.
    pub fn newest_first(&self) -> Vec<Event> {
        self.kept.iter().rev().cloned().collect()
    }

    /// Compares how the volume stands with how it stood.
    pub fn look(&mut self, seen: &Seen, at_ms: u64) {
        let first = || Seen { capacity_bytes: seen.capacity_bytes, ..Seen::default() };
        let before = self.seen.replace(seen.clone()).unwrap_or_else(first);
        self.clients(&before, seen, at_ms);
        self.activities(&before, seen, at_ms);
        self.growth(&before, seen, at_ms);
        self.scrub(&before, seen, at_ms);
        self.problems(&before, seen, at_ms);
    }

    fn clients(&mut self, before: &Seen, seen: &Seen, at_ms: u64) {
        for (kind, count, what, gone) in [
            (EventKind::ClientsConnected, seen.came - before.came, "connected", before.gone),
            (EventKind::ClientsDisconnected, seen.gone - before.gone, "disconnected", seen.gone),
        ] {
            if count > 0 {
                let clients = several(count.into(), "client");
                self.info(at_ms, kind, format!("{clients} {what} (now {})", seen.came.saturating_sub(gone)));
            }
        }
    }

    fn activities(&mut self, before: &Seen, seen: &Seen, at_ms: u64) {
        if seen.cleaning != before.cleaning {
            let text = match seen.cleaning {
                Cleaning::Paused => "Cleaning paused",
                Cleaning::Now => "Cleaning requested",
                Cleaning::WhenIdle => "Cleaning set to idle time",
            };
            self.info(at_ms, EventKind::CleaningSet, text.to_owned());
        }
        match self.cleaning.look(seen.steps, seen.is_cleaning, at_ms) {
            Some(Change::Began) => self.info(at_ms, EventKind::CleaningBegan, "Cleaning began".to_owned()),
            Some(Change::Ended { at_ms, took_ms, count }) => {
                let text = format!("Cleaning ended after {}: {}", lasted(took_ms), several(count, "step"));
                self.info(at_ms, EventKind::CleaningEnded, text);
            }
            None => {}
        }
        match self.throttling.look(seen.throttled, false, at_ms) {
            Some(Change::Began) => self.info(at_ms, EventKind::ThrottlingBegan, "Write throttling began".to_owned()),
            Some(Change::Ended { at_ms, took_ms, count }) => {
                let text = format!("Write throttling ended after {}: {}", lasted(took_ms), several(count, "write"));
                self.info(at_ms, EventKind::ThrottlingEnded, text);
            }
            None => {}
        }
    }

    fn growth(&mut self, before: &Seen, seen: &Seen, at_ms: u64) {
        if seen.growing && self.growth.is_none() {
            self.growth = Some((at_ms, before.capacity_bytes));
            self.info(at_ms, EventKind::GrowthBegan, "Growth began".to_owned());
        }
        let more = |from: u64| format!("{} MiB added", seen.capacity_bytes.saturating_sub(from) >> 20);
        match self.growth.filter(|_| !seen.growing) {
            Some((began_ms, from)) => {
                self.growth = None;
                let took = lasted(at_ms.saturating_sub(began_ms));
                self.info(at_ms, EventKind::GrowthEnded, format!("Growth ended after {took}: {}", more(from)));
            }
            None if self.growth.is_none() && seen.capacity_bytes > before.capacity_bytes => {
                let text = format!("Growth ended: {}", more(before.capacity_bytes));
                self.info(at_ms, EventKind::GrowthEnded, text);
            }
            None => {}
        }
    }

    fn scrub(&mut self, before: &Seen, seen: &Seen, at_ms: u64) {
        let Some(Scrub { began_ms, ended }) = seen.scrub else { return };
        let is_new = before.scrub.is_none_or(|before| before.began_ms != began_ms);
        if is_new {
            self.info(at_ms, EventKind::ScrubBegan, "Scrub began".to_owned());
        }
        let was_running = is_new || before.scrub.is_some_and(|before| before.ended.is_none());
        match ended.filter(|_| was_running) {
            Some(0) => self.info(at_ms, EventKind::ScrubEnded, "Scrub ended: no damage".to_owned()),
            Some(damaged) => {
                let text = format!("Scrub ended: {}", several(damaged, "damaged block"));
                self.warning(at_ms, EventKind::ScrubEnded, text);
            }
            None => {}
        }
    }

    fn problems(&mut self, before: &Seen, seen: &Seen, at_ms: u64) {
        let more = |now: u64, then: u64| Some(now.saturating_sub(then)).filter(|more| *more > 0);
        if let Some(failed) = more(seen.failures, before.failures) {
            let text = format!("{} failed", several(failed, "drive operation"));
            self.warning(at_ms, EventKind::OperationsFailed, text);
        }
        if more(seen.epochs_ended, before.epochs_ended).is_some() {
            let text = "The layer was rebuilt from its journal after a failed operation; writes that were not flushed \
                        may be lost";
            self.warning(at_ms, EventKind::EpochEnded, text.to_owned());
        }
        if let Some(damaged) = more(seen.damaged_blocks, before.damaged_blocks) {
            let text = format!("{} did not match the checksum when read", several(damaged, "block"));
            self.warning(at_ms, EventKind::BlocksDamaged, text);
        }
        match (before.is_host_full, seen.is_host_full) {
            (false, true) => {
                self.warning(at_ms, EventKind::HostFull, "The host is out of space: writes are refused".to_owned());
            }
            (true, false) => self.info(at_ms, EventKind::HostHasRoom, "The host has space again".to_owned()),
            _ => {}
        }
        if let Some(why) = seen.dead.as_ref().filter(|_| before.dead.is_none()) {
            self.warning(at_ms, EventKind::Unusable, format!("The volume cannot be used any more: {why}"));
        }
    }

    fn info(&mut self, at_ms: u64, event: EventKind, text: String) {
        self.add(Event { at_ms, event, level: EventLevel::Info, text });
    }

    fn warning(&mut self, at_ms: u64, event: EventKind, text: String) {
        self.add(Event { at_ms, event, level: EventLevel::Warning, text });
    }

    /// Keeps an event in the order of time: that an activity has ended is known later than others.
    fn add(&mut self, event: Event) {
        let same = |other: &Event| other.event == event.event;
        if self.kept.iter().filter(|other| same(other)).count() == KEPT {
            let oldest = self.kept.iter().position(same);
            oldest.map(|at| self.kept.remove(at));
        }
        let at = self.kept.partition_point(|other| other.at_ms <= event.at_ms);
        self.kept.insert(at, event);
    }
}

/// A number of things in words.
fn several(count: u64, noun: &str) -> String {
    match (count, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {noun}s"),
    }
}

/// A time in whole seconds, as people say it.
fn lasted(ms: u64) -> String {
    match ms.div_ceil(1000).max(1) {
        seconds @ ..60 => format!("{seconds} s"),
        seconds @ ..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of the events after the first, the oldest first.
    fn texts(events: &Events) -> Vec<&str> {
        events.kept.iter().skip(1).map(|event| event.text.as_str()).collect()
    }

    fn begin() -> Events {
        Events::begin(3, 0)
    }

    #[test]
    fn cleaning_is_a_period_that_ends_when_it_has_rested() {
        let mut events = begin();
        assert_eq!(events.kept[0].text, "Serving: 3 journal entries recovered");
        for (at_ms, steps) in [(1000, 2), (2000, 5), (3000, 5), (6000, 6), (7000, 6), (10_999, 6)] {
            events.look(&Seen { steps, ..Seen::default() }, at_ms);
        }
        assert_eq!(texts(&events), ["Cleaning began"], "pauses are shorter than an end");
        events.look(&Seen { steps: 6, is_cleaning: true, ..Seen::default() }, 11_000);
        events.look(&Seen { steps: 6, ..Seen::default() }, 15_000);
        assert_eq!(texts(&events), ["Cleaning began"], "a long step was under way");
        events.look(&Seen { steps: 6, failures: 1, ..Seen::default() }, 16_000);
        assert_eq!(texts(&events)[1], "Cleaning ended after 10 s: 6 steps");
        assert_eq!(events.kept[2].at_ms, 11_000, "when it was last seen");
        let newest = events.newest_first();
        assert_eq!((newest[0].text.as_str(), newest[0].level), ("1 drive operation failed", EventLevel::Warning));
    }

    #[test]
    fn what_changes_is_said_once() {
        let mut events = begin();
        let scrub = |began_ms, ended| Some(Scrub { began_ms, ended });
        let seen = Seen { came: 2, gone: 1, scrub: scrub(5, None), ..Seen::default() };
        events.look(&seen, 1);
        events.look(&Seen { cleaning: Cleaning::Paused, growing: true, ..seen.clone() }, 2);
        let grown = Seen { capacity_bytes: 3 << 20, scrub: scrub(5, Some(2)), is_host_full: true, ..seen.clone() };
        events.look(&Seen { cleaning: Cleaning::Paused, ..grown.clone() }, 61_002);
        let last = Seen { scrub: scrub(7, Some(0)), epochs_ended: 1, dead: Some("gone".to_owned()), ..grown };
        events.look(&Seen { capacity_bytes: 4 << 20, is_host_full: false, ..last.clone() }, 61_003);
        events.look(&Seen { capacity_bytes: 4 << 20, is_host_full: false, ..last }, 61_004);
        assert_eq!(
            texts(&events),
            [
                "2 clients connected (now 2)",
                "1 client disconnected (now 1)",
                "Scrub began",
                "Cleaning paused",
                "Growth began",
                "Growth ended after 1 min 1 s: 3 MiB added",
                "Scrub ended: 2 damaged blocks",
                "The host is out of space: writes are refused",
                "Cleaning set to idle time",
                "Growth ended: 1 MiB added",
                "Scrub began",
                "Scrub ended: no damage",
                "The layer was rebuilt from its journal after a failed operation; writes that were not flushed may be lost",
                "The host has space again",
                "The volume cannot be used any more: gone",
            ]
        );
    }

    #[test]
    fn frequent_events_do_not_drive_out_rare_ones() {
        let mut events = begin();
        let mut seen = Seen { damaged_blocks: 1, ..Seen::default() };
        events.look(&seen, 1);
        for at_ms in 2..1000 {
            seen.came += 1;
            events.look(&seen, at_ms);
        }
        assert_eq!(events.kept.len(), 2 + KEPT);
        assert_eq!(texts(&events)[0], "1 block did not match the checksum when read");
        assert_eq!(events.newest_first()[0].text, "1 client connected (now 998)");
    }

    #[test]
    fn a_growth_that_was_under_way_before_is_one() {
        let mut events = Events::begin(1, 0);
        events.look(&Seen { growing: true, capacity_bytes: 1 << 30, ..Seen::default() }, 1);
        assert_eq!(texts(&events), ["Growth began"]);
        assert_eq!(events.kept[0].text, "Serving: 1 journal entry recovered");
    }
}
