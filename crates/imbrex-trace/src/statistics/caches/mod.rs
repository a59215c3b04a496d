//! Miss ratios of caches over the start offsets of a trace's requests: a fingerprint of its locality.
//!
//! Sizes are ignored, reads and writes count alike, and the first access to an offset is a miss. A cache is a
//! percentage of the distinct offsets, rounded down, and holds at least one; so its size is known only after the whole
//! trace has been seen. The offsets are therefore kept as a [`Sequence`] of small numbers, and the policies run over
//! that.
//!
//! Memory: 4 bytes for each request, and while a policy runs 4 to 5 for each distinct offset: a recency list needs no
//! links, since its order is that of the sequence itself (see `window.rs`).
//!
//! So these are not the policies that caches run (`parts/replacement/`). A cache does not know its requests beforehand,
//! is told of slots, and picks victims before others come; its policies keep links and a hash table, 8 to 70 bytes for
//! each block. A test holds the two against each other.

mod arc;
mod lru;
mod sieve;
#[cfg(test)]
mod tests;
mod window;

use serde::{Serialize, Serializer};

use arc::Arc;
use lru::Lru;
use sieve::Sieve;

use super::ratio;

/// Requests between two calls to the watcher.
const CHUNK: usize = 1 << 16;

/// The start offsets of requests, in order, numbered by first appearance.
#[derive(Clone, Default)]
pub struct Sequence {
    /// One number a request.
    pub numbers: Vec<u32>,
    /// How many distinct ones there are: all below this appear.
    pub distinct: u32,
}

impl Sequence {
    /// The most requests.
    pub const MOST: u32 = (1 << 31) - 1;
}

/// The miss ratios of caches of one size.
#[derive(Copy, Clone, PartialEq, Debug, Serialize)]
pub struct MissRatios {
    /// The size in percent of the distinct offsets.
    #[serde(skip)]
    pub percent: f64,
    /// The size in offsets.
    pub entries: u32,
    /// Least recently used.
    pub lru: f64,
    /// Adaptive replacement cache (Megiddo & Modha, FAST'03).
    pub arc: f64,
    /// SIEVE (Zhang et al., NSDI'24).
    pub sieve: f64,
}

impl MissRatios {
    /// How many policies run.
    pub const POLICIES: u64 = 3;

    /// The name of the field: `miss_10pct`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("miss_{}pct", self.percent)
    }

    /// Runs the policies. `watch` is told how many more requests were simulated, and can stop that.
    ///
    /// # Errors
    /// Only the errors of `watch`.
    pub fn of<E>(sequence: &Sequence, percent: f64, watch: &mut dyn FnMut(u64) -> Result<(), E>) -> Result<Self, E> {
        let entries = entries(percent, sequence.distinct);
        let lru = misses(sequence, Lru::new(sequence, entries), watch)?;
        let arc = misses(sequence, Arc::new(sequence, entries), watch)?;
        let sieve = misses(sequence, Sieve::new(sequence, entries), watch)?;
        let requests = sequence.numbers.len() as u64;
        let [lru, arc, sieve] = [lru, arc, sieve].map(|misses| ratio(misses, requests));
        Ok(Self { percent, entries, lru, arc, sieve })
    }
}

/// The size of a cache that is a percentage of the distinct offsets. What a last binary digit takes away is given back,
/// so that 7 % of 100 is 7.
fn entries(percent: f64, distinct: u32) -> u32 {
    ((f64::from(distinct) * percent / 100.0 + 1e-6).floor() as u32).clamp(1, distinct.max(1))
}

/// A cache that follows a sequence.
trait Policy {
    /// The next access of the sequence, to `number`. Says whether it was in the cache.
    fn access(&mut self, number: u32) -> bool;
}

fn misses<E>(
    sequence: &Sequence,
    mut policy: impl Policy,
    watch: &mut dyn FnMut(u64) -> Result<(), E>,
) -> Result<u64, E> {
    let mut misses = 0;
    for chunk in sequence.numbers.chunks(CHUNK) {
        misses += chunk.iter().map(|&number| u64::from(!policy.access(number))).sum::<u64>();
        watch(chunk.len() as u64)?;
    }
    Ok(misses)
}

/// Each size under its own name, to be flattened into the fields around it.
pub fn by_name<S: Serializer>(ratios: &[MissRatios], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(ratios.iter().map(|ratios| (ratios.name(), ratios)))
}
