//! Clients that come and go, and what a flush of each must give.

use std::collections::BTreeMap;

use super::dice::Dice;

/// Clients at a time.
const CLIENTS: usize = 2;

/// What a flush must give.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum FlushMust {
    Succeeds,
    /// A life has ended, and nothing that the model is sure of was lost.
    Open,
    /// Answered writes may be lost.
    Fails,
}

/// Clients, and what they have not been told yet.
pub(super) struct Clients {
    present: [u32; CLIENTS],
    /// What the next flush gives of each client that has asked for something.
    fates: BTreeMap<u32, FlushMust>,
    /// What that of the next client gives.
    untold: FlushMust,
}

impl Clients {
    pub fn new() -> Self {
        let present = std::array::from_fn(|number| number as u32);
        Self { present, fates: BTreeMap::new(), untold: FlushMust::Succeeds }
    }

    /// The client that asks next, and one that has gone in its favour, unless that is `busy`.
    pub fn next(&mut self, busy: impl Fn(u32) -> bool, dice: &mut Dice) -> (u32, Option<u32>) {
        let newest = self.present.iter().copied().max().unwrap_or(0);
        let place = dice.pick(&[0, 1]);
        let client = &mut self.present[*place];
        let leaves = (dice.one_in(30) && !busy(*client)).then_some(*client);
        if let Some(gone) = leaves {
            *client = newest + 1;
            self.untold = self.untold.max(self.fates.remove(&gone).unwrap_or(FlushMust::Succeeds));
        }
        (*client, leaves)
    }

    /// A client asks for something.
    pub fn asks(&mut self, client: u32) {
        self.fates.entry(client).or_insert(self.untold);
    }

    /// A client asks for a flush: what it must give, which the one after it does not give too.
    pub fn flushes(&mut self, client: u32) -> FlushMust {
        self.fates.insert(client, FlushMust::Succeeds).unwrap_or(self.untold)
    }

    /// A flush has failed as it had to.
    pub fn told(&mut self) {
        self.untold = FlushMust::Succeeds;
    }

    /// A life has ended before a flush could tell a client what it was to.
    pub fn not_told(&mut self, client: u32, fate: FlushMust) {
        self.fates.entry(client).and_modify(|owed| *owed = fate.max(*owed));
    }

    /// A life has ended, and answered writes may be lost, or none that the model is sure of.
    pub fn life_ended(&mut self, is_lossy: bool) {
        let fate = if is_lossy { FlushMust::Fails } else { FlushMust::Open };
        self.fates.values_mut().chain([&mut self.untold]).for_each(|owed| *owed = fate.max(*owed));
    }
}
