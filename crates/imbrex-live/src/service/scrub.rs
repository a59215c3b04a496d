//! Scrubbing a volume while it is served, with as much of the time as it may take.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use imbrex::block::{Extent, Pba};
use serde::{Deserialize, Serialize};

use super::clock::now_ms;
use crate::engine::Engine;
use crate::panics;
use crate::scrub::{self, Blocks, Found, MemberBlocks, NoSums, runs};
use crate::store::{Members, Store};
use crate::threads;

/// The longest that a scrub rests at a time.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// How a scrub stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ScrubStatus {
    /// `running`, `done`, or `stopped` by the end of the server.
    pub state: String,
    /// How much of the time it may take, in per cent.
    pub throttle: u8,
    /// When it began, in milliseconds since 1970.
    #[serde(default)]
    pub began_at_ms: u64,
    /// When it ended, if it has.
    #[serde(default)]
    pub ended_at_ms: Option<u64>,
    /// Blocks of the drives that have been looked at.
    pub done_blocks: u64,
    /// Blocks of the drives.
    pub of_blocks: u64,
    /// Blocks that were read and have a checksum.
    pub verified_blocks: u64,
    /// Sectors of checksums that are damaged.
    pub lost_sums: u64,
    /// Logical blocks that are damaged, when it is done; nothing if they cannot be told.
    pub damaged: Option<Vec<Blocks>>,
    /// Physical blocks that are damaged and that no logical block needs, or of which that cannot be told.
    pub unneeded: Vec<MemberBlocks>,
}

/// Why a scrub does not begin.
#[derive(Debug, thiserror::Error)]
pub enum ScrubError {
    /// No member has checksums.
    #[error(transparent)]
    NoSums(#[from] NoSums),
    /// The operating system gives no thread for it.
    #[error("there is no thread for it: {0}")]
    Thread(#[from] io::Error),
}

/// The scrub of a volume, if there was one.
#[derive(Default)]
pub(super) struct Scrubber {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    status: Mutex<Option<ScrubStatus>>,
    is_ending: AtomicBool,
}

impl Scrubber {
    /// Begins a scrub that takes so much of the time; one that runs goes on, with the new share.
    ///
    /// # Errors
    /// When nothing has a checksum, or there is no thread for it.
    pub fn start(&self, engine: &Arc<Engine>, throttle: u8) -> Result<(), ScrubError> {
        let summed = |member: &&Arc<dyn Store>| member.summed().is_some();
        let members: Vec<_> = engine.members().iter().filter(summed).collect();
        if members.is_empty() {
            return Err(NoSums.into());
        }
        let mut status = self.shared.status();
        if let Some(running) = status.as_mut().filter(|status| status.state == "running") {
            running.throttle = throttle;
            return Ok(());
        }
        *status = Some(ScrubStatus {
            state: "running".to_owned(),
            throttle,
            began_at_ms: now_ms(),
            ended_at_ms: None,
            done_blocks: 0,
            of_blocks: members.iter().map(|member| member.media().blocks()).sum(),
            verified_blocks: 0,
            lost_sums: 0,
            damaged: None,
            unneeded: Vec::new(),
        });
        let (shared, engine) = (Arc::clone(&self.shared), Arc::clone(engine));
        let thread = threads::own("scrub").spawn(move || shared.scrub(&engine))?;
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    /// How it stands.
    pub fn status(&self) -> Option<ScrubStatus> {
        self.shared.status().clone()
    }

    /// Ends it.
    pub fn end(&self) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn status(&self) -> MutexGuard<'_, Option<ScrubStatus>> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is said; the share of the time that the scrub may take.
    fn say(&self, change: impl FnOnce(&mut ScrubStatus)) -> u8 {
        self.status().as_mut().map_or(100, |status| {
            change(status);
            status.throttle
        })
    }

    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    fn scrub(&self, engine: &Engine) {
        let (mut found, mut damaged) = (Found::default(), Vec::new());
        for member in engine.members() {
            panics::injected("scrub");
            let mut since = Instant::now();
            let mut go_on = |blocks| {
                let throttle = self.say(|status| status.done_blocks += blocks);
                self.rest(since.elapsed(), throttle);
                since = Instant::now();
                !self.is_ending()
            };
            damaged.push(scrub::scan(member.as_ref(), &mut found, &mut go_on));
            self.say(|status| status.verified_blocks = found.verified);
        }
        let named = if self.is_ending() { None } else { name(engine, &mut damaged) };
        let (state, lost_sums) = (if self.is_ending() { "stopped" } else { "done" }, found.sums_lost);
        let numbered = damaged.into_iter().enumerate();
        let unneeded = numbered.flat_map(|(member, blocks)| {
            runs(blocks.into_iter().map(Pba::block)).map(move |run| MemberBlocks::of(member, run))
        });
        let unneeded: Vec<MemberBlocks> = unneeded.collect();
        if let Some(blocks) = named.as_ref().filter(|blocks| !blocks.is_empty()) {
            tracing::error!(?blocks, "a scrub has found damaged blocks");
        }
        self.say(|status| {
            (status.state, status.lost_sums, status.ended_at_ms) = (state.to_owned(), lost_sums, Some(now_ms()));
            (status.damaged, status.unneeded) = (named, unneeded);
        });
    }

    /// Leaves the rest of the time to others.
    fn rest(&self, worked: Duration, throttle: u8) {
        let throttle = u32::from(throttle.clamp(1, 100));
        let mut left = worked * (100 - throttle) / throttle;
        while !left.is_zero() && !self.is_ending() {
            let part = left.min(LONGEST_REST);
            thread::sleep(part);
            left -= part;
        }
    }
}

/// The logical blocks that need what is damaged, which is left out of it. Nothing if that cannot be told.
fn name(engine: &Engine, damaged: &mut [BTreeSet<Pba>]) -> Option<Vec<Blocks>> {
    if damaged.iter().all(BTreeSet::is_empty) {
        return Some(Vec::new());
    }
    let needed = engine.blocks_at(&damaged[0])?;
    let is_damaged = |members: &Members, place: Pba| {
        let verified = members[0].summed().map(|summed| summed.verify(Extent::new(place, 1)));
        verified.is_some_and(|(_, bad)| !bad.is_empty())
    };
    // What has been written again, or emptied, meanwhile is sound.
    damaged[0].retain(|place| is_damaged(engine.members(), *place));
    let mut lbas = BTreeSet::new();
    for (lba, place) in needed {
        if damaged[0].remove(&place) || lbas.contains(&lba.0) {
            lbas.insert(lba.0);
        }
    }
    Some(runs(lbas.into_iter()).collect())
}
