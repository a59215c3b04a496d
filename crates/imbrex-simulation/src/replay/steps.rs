//! The operations of a short part of a replay, one by one, for who wants to see what the disk does.
//!
//! What is most worth seeing is the first cleaning: the steps that are kept are a few before it, it, and what follows.
//! Without any, they are the last that were looked through. While nothing is recorded, a replay pays for one look per
//! plan.

use std::collections::VecDeque;

use imbrex_core::block::{Extent, Pba, Request};
use imbrex_core::layer::Occupancy;
use imbrex_core::plan::{Place, Why};

/// The most steps that are kept of a replay.
pub const MOST_STEPS: usize = 1000;
/// How many of them come before the first that cleans, at most.
const BEFORE: usize = 24;
/// How many are looked through for it, so that a long replay that never cleans is not slowed down to its end.
const SEARCHED: u64 = 1 << 18;
/// How many requests are followed after the one during which that came.
const AFTER: u64 = 12;

/// An operation of the disk.
#[derive(Clone, PartialEq, Debug)]
pub struct DiskStep {
    /// What was done.
    pub did: Did,
    /// When it began, in ns of simulated time.
    pub begun_ns: u64,
    /// How long it took, in ns.
    pub took_ns: u64,
    /// The request that was being served; none in idle time.
    pub request: Option<Asked>,
    /// Whether it is a part of cleaning: for that request, if there is one.
    pub cleans: bool,
    /// How full the layer's buffer, cache or bands were when the request, or the cleaning step, began.
    pub filled: Option<Occupancy>,
    /// What lies over the blocks that it wrote and is destroyed by that.
    pub destroyed: Vec<Extent<Pba>>,
}

/// A request that is being served.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Its number in the trace, from 1.
    pub number: u64,
    /// What it asks for.
    pub request: Request,
}

/// What an operation does.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Did {
    /// Copies blocks.
    Copy {
        /// From here; none if they were read before and wait in a journal's memory, or come from there.
        from: Option<Place>,
        /// To here; none if they are kept in a journal's memory.
        to: Option<Place>,
        /// How many blocks.
        blocks: u32,
        /// Why.
        why: Why,
    },
    /// Empties a unit: these blocks.
    Reset(Extent<Pba>),
}

impl Did {
    /// Whether only cleaning and rewriting do that.
    fn cleans(&self) -> bool {
        match self {
            Self::Copy { why, .. } => why.is_cleaning(),
            Self::Reset(_) => true,
        }
    }
}

/// What is recorded while it happens.
pub(super) struct Steps {
    kept: VecDeque<DiskStep>,
    /// How many there were in all.
    seen: u64,
    /// The request that is being served.
    asked: Option<Asked>,
    /// The number of the last that was begun.
    latest: u64,
    /// Whether a cleaning step is under way.
    is_cleaning: bool,
    /// How full the layer's space is.
    filled: Option<Occupancy>,
    /// The last request that is followed, once something has cleaned.
    last: Option<u64>,
}

impl Steps {
    pub fn new() -> Self {
        Self { kept: VecDeque::new(), seen: 0, asked: None, latest: 0, is_cleaning: false, filled: None, last: None }
    }

    /// A request begins; what was served before.
    pub fn begin(&mut self, asked: Asked, filled: Option<Occupancy>) -> Option<Asked> {
        self.latest = self.latest.max(asked.number);
        self.filled = filled;
        self.asked.replace(asked)
    }

    /// A request was served; `outer` goes on.
    pub fn end(&mut self, outer: Option<Asked>) {
        self.asked = outer;
    }

    /// A cleaning step begins or ends.
    pub fn clean(&mut self, is_cleaning: bool, filled: Option<Occupancy>) {
        (self.is_cleaning, self.filled) = (is_cleaning, filled);
    }

    /// Something was done.
    pub fn add(&mut self, did: Did, begun_ns: u64, now_ns: u64, destroyed: Vec<Extent<Pba>>) {
        if self.last.is_none() && did.cleans() {
            self.found();
        }
        self.seen += 1;
        if self.kept.len() == MOST_STEPS {
            if self.last.is_some() {
                return;
            }
            self.kept.pop_front();
        }
        let Self { asked: request, is_cleaning: cleans, filled, .. } = *self;
        let took_ns = now_ns - begun_ns;
        self.kept.push_back(DiskStep { did, begun_ns, took_ns, request, cleans, filled, destroyed });
    }

    /// The first cleaning begins: what was long before it is forgotten, by whole requests.
    fn found(&mut self) {
        self.last = Some(self.latest + AFTER);
        let surplus = self.kept.len().saturating_sub(BEFORE);
        let cut = surplus.checked_sub(1).map(|last| self.kept[last].request);
        self.kept.drain(..surplus);
        while cut.is_some_and(|cut| self.kept.front().is_some_and(|step| step.request == cut)) {
            self.kept.pop_front();
        }
    }

    /// Whether there is enough of them when this request has been served.
    pub fn is_enough(&self, served: u64) -> bool {
        self.last.map_or(self.seen >= SEARCHED, |last| served >= last || self.kept.len() == MOST_STEPS)
    }

    /// What was kept.
    pub fn taken(self) -> Vec<DiskStep> {
        Vec::from(self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::block::{Access, Lba};

    fn copy(why: Why) -> Did {
        Did::Copy { from: Some(Place::Host(0)), to: Some(Place::At(Pba::disk(0))), blocks: 1, why }
    }

    /// Requests of three operations each; the one of number `cleaning` cleans in its second.
    fn recorded(requests: u64, cleaning: u64) -> (Vec<DiskStep>, u64) {
        let mut steps = Steps::new();
        for number in 1..=requests {
            let request = Request { access: Access::Write, at: Extent::new(Lba(0), 1) };
            let outer = steps.begin(Asked { number, request }, None);
            for part in 0..3 {
                let why = if number == cleaning && part == 1 { Why::Destage } else { Why::Host };
                steps.add(copy(why), number, number + 1, Vec::new());
            }
            steps.end(outer);
            if steps.is_enough(number) {
                return (steps.taken(), number);
            }
        }
        (steps.taken(), requests)
    }

    #[test]
    fn a_few_whole_requests_come_before_the_first_cleaning_and_some_after_it() {
        let (steps, served) = recorded(10_000, 5000);
        assert_eq!(served, 5000 + AFTER);
        let first = steps.iter().position(|step| step.did.cleans()).unwrap();
        assert!((BEFORE - 3..=BEFORE).contains(&first), "{first} steps come before");
        assert_eq!(steps.iter().filter(|step| step.request == steps[0].request).count(), 3, "a request is cut");
    }

    #[test]
    fn without_cleaning_the_last_steps_are_kept() {
        let (steps, _) = recorded(10_000, 0);
        assert_eq!((steps.len(), steps[MOST_STEPS - 1].begun_ns), (MOST_STEPS, 10_000));
    }
}
