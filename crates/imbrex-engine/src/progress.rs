//! What a runner has done and how it stands, for questions about a volume.

use imbrex_core::event::Counter;
use imbrex_core::layer::{Growth, Occupancy};
use imbrex_core::plan::{Event, Op, Plan, Why};

/// Counts of what the runner has done, for tests and status.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Journal entries made durable.
    pub commits: u64,
    /// Whole checkpoints completed.
    pub checkpoints: u64,
    /// Journal entries that recovery read.
    pub entries_read: u64,
    /// Redo images written at recovery.
    pub replayed: u64,
    /// Epochs of the layer ended by a failed operation.
    pub rebuilds: u64,
}

/// What plans were made of, added up.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Planned {
    events: [u64; Event::COUNT],
    moved: [u64; Why::ALL.len()],
}

impl Planned {
    /// Adds a plan.
    pub(super) fn add(&mut self, plan: &Plan) {
        for op in plan.ops() {
            match *op {
                Op::Count(event, times) => self.events[event.index()] += u64::from(times),
                Op::Move { blocks, why, .. } => self.moved[why as usize] += u64::from(blocks),
                Op::Record { .. } | Op::Reset(_) | Op::Free(_) => {}
            }
        }
    }

    /// How often each event was counted, by its name, of a layer with these counters of its own.
    pub fn events<'a>(&'a self, own: &'a [Counter]) -> impl Iterator<Item = (&'static str, u64)> + 'a {
        let own_events = (0..own.len()).map(|number| Event::Own(number as u8));
        let events = Event::SHARED.into_iter().chain(own_events);
        events.map(|event| (event.name(own), self.events[event.index()]))
    }

    /// How many blocks were moved for each reason, whatever the move's ends.
    pub fn moved(&self) -> impl Iterator<Item = (Why, u64)> {
        Why::ALL.into_iter().zip(self.moved)
    }
}

/// What became of an offer to clean. Of several runners the greatest counts.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Offered {
    /// There is nothing to clean.
    Declined,
    /// No step can be planned before something else is done.
    Later,
    /// A step has been planned, or follows as soon as there is space for it.
    Taken,
}

/// How a runner stands.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// What its plans were made of.
    pub tally: Planned,
    /// The layer's own counters.
    pub counters: &'static [Counter],
    /// Blocks of the journal that recovery would read.
    pub journal_used: u64,
    /// Blocks of the journal.
    pub journal_blocks: u64,
    /// Writes that wait for room or for their turn.
    pub blocked: u64,
    /// What the layer says of the space it fills.
    pub occupancy: Option<Occupancy>,
    /// What is left of a growth that was asked for.
    pub growth: Option<Growth>,
    /// Blocks that a cache holds newer than the device behind it.
    pub dirty: Option<u64>,
}

/// Cleaning, as far as a clock outside has to know of it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Steps {
    /// Steps that were planned and move something.
    pub begun: u64,
    /// The plans among them whose moves have not all completed.
    pub under_way: u64,
    /// Blocks that all steps begun so far move, read or written: more than their size where they go through RAM.
    pub moved: u64,
}

impl Steps {
    /// Adds the plan of a step that begins.
    pub(super) fn add(&mut self, plan: &Plan) {
        self.begun += 1;
        self.moved +=
            plan.ops().iter().map(|op| if let Op::Move { blocks, .. } = *op { blocks.into() } else { 0 }).sum::<u64>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::block::Pba;
    use imbrex_core::plan::Place;

    #[test]
    fn every_event_and_reason_is_counted_as_itself() {
        imbrex_core::counters! { OWN = "own", "times", "that this was tested"; }
        for (number, (event, why)) in Event::SHARED.into_iter().chain([OWN]).zip(Why::ALL).enumerate() {
            let mut plan = Plan::new();
            plan.count(event, 3);
            plan.copy(Place::Host(0), Place::At(Pba::disk(0)), 5, why);
            let mut tally = Planned::default();
            tally.add(&plan);
            tally.add(&plan);
            assert_eq!(tally.events(ALL).nth(number), Some((event.name(ALL), 6)));
            assert_eq!(tally.moved().nth(number), Some((why, 10)));
            assert_eq!(tally.events(ALL).map(|(_, times)| times).sum::<u64>(), 6);
        }
        assert!(Event::SHARED.iter().enumerate().all(|(number, event)| event.index() == number));
    }
}
