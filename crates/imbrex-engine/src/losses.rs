//! Writes that were acknowledged and may be lost, and the clients to which that must be reported: rule 10.

use std::collections::BTreeMap;

/// What may be lost, and which clients do not know it yet.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Clients seen, and whether their next flush must fail because writes may be lost.
    clients: BTreeMap<u32, bool>,
    /// Whether a loss has been reported to no client, or one has gone that was not told: then the next client gets
    /// the report.
    unreported: bool,
    /// Writes that were acknowledged.
    acknowledged: u64,
    /// How many of them need no more care: they are durable, or counted as lost.
    settled: u64,
}

impl Losses {
    /// A client is there.
    pub fn meet(&mut self, client: u32) {
        self.clients.entry(client).or_insert(self.unreported);
    }

    /// A client has gone.
    pub fn forget(&mut self, client: u32) {
        self.unreported |= self.clients.remove(&client) == Some(true);
    }

    /// Acknowledged writes may be lost, whatever is known of them here.
    pub fn presume(&mut self) {
        self.unreported = true;
    }

    /// A write has been acknowledged.
    pub fn acknowledge(&mut self) {
        self.acknowledged += 1;
    }

    /// How many writes have been acknowledged: those that a flush asked for now makes durable.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// The first `acknowledged` of the acknowledged writes are durable.
    pub fn settle(&mut self, acknowledged: u64) {
        self.settled = acknowledged;
    }

    /// Whether a flush of a client must fail. That is the report, so one client has it.
    pub fn report(&mut self, client: u32) -> bool {
        let must_fail = self.clients.insert(client, false).unwrap_or(self.unreported);
        self.unreported &= !must_fail;
        must_fail
    }

    /// A layer's epoch has ended, and with it whatever no flush had made durable.
    pub fn end_epoch(&mut self) {
        if self.acknowledged > self.settled {
            self.settled = self.acknowledged;
            self.unreported = true;
            self.clients.values_mut().for_each(|must_fail| *must_fail = true);
        }
    }
}
