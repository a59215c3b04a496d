//! Clients that come and go, and what a flush of each must give.

use std::collections::BTreeMap;

use super::dice::Dice;

/// Clients at a time.
const CLIENTS: usize = 2;

/// What a flush must give.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum FlushMust {
    Succeeds,
    /// An epoch has ended, and nothing that the model is sure of was lost.
    Open,
    /// Answered writes may be lost.
    Fails,
}

/// Clients, and what has not been reported to them yet.
pub(super) struct Clients {
    present: [u32; CLIENTS],
    /// What the next flush gives of each client that has asked for something.
    owed_by_client: BTreeMap<u32, FlushMust>,
    /// What that of the next client gives.
    next_client: FlushMust,
}

impl Clients {
    pub fn new() -> Self {
        let present = std::array::from_fn(|number| number as u32);
        Self { present, owed_by_client: BTreeMap::new(), next_client: FlushMust::Succeeds }
    }

    /// The client that asks next, and one that has gone in its favour, unless that is `busy`.
    pub fn next(&mut self, busy: impl Fn(u32) -> bool, dice: &mut Dice) -> (u32, Option<u32>) {
        let newest = self.present.iter().copied().max().unwrap_or(0);
        let place = dice.pick(&[0, 1]);
        let client = &mut self.present[*place];
        let leaves = (dice.one_in(30) && !busy(*client)).then_some(*client);
        if let Some(gone) = leaves {
            *client = newest + 1;
            self.next_client = self.next_client.max(self.owed_by_client.remove(&gone).unwrap_or(FlushMust::Succeeds));
        }
        (*client, leaves)
    }

    /// A client asks for something.
    pub fn asks(&mut self, client: u32) {
        self.owed_by_client.entry(client).or_insert(self.next_client);
    }

    /// A client asks for a flush: what it must give, which the one after it does not give too.
    pub fn flushes(&mut self, client: u32) -> FlushMust {
        self.owed_by_client.insert(client, FlushMust::Succeeds).unwrap_or(self.next_client)
    }

    /// A flush has failed as it had to.
    pub fn reported(&mut self) {
        self.next_client = FlushMust::Succeeds;
    }

    /// An epoch has ended before a flush could report to a client what it was to.
    pub fn not_reported(&mut self, client: u32, must: FlushMust) {
        self.owed_by_client.entry(client).and_modify(|owed| *owed = must.max(*owed));
    }

    /// An epoch has ended, and answered writes may be lost, or none that the model is sure of.
    pub fn epoch_ended(&mut self, is_lossy: bool) {
        let must = if is_lossy { FlushMust::Fails } else { FlushMust::Open };
        self.owed_by_client.values_mut().chain([&mut self.next_client]).for_each(|owed| *owed = must.max(*owed));
    }
}
