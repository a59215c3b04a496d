//! How far the best layer is from what is possible: for a row of requests, what no layer can beat (a lower bound), and
//! what a schedule that knows all requests beforehand reaches.
//!
//! Everything here is counted from addresses alone. There are no layers, no drives and no time, so a number from here
//! shares nothing with a layer that is held against it. A *lower bound* comes with a proof in its documentation. A
//! *schedule* is no bound: it shows that its count can be reached by somebody who knows the future.
//!
//! - [`zones`]: rewrites of zones behind a buffer;
//! - [`schedule`]: the other side of it, a buffer that knows when each block is written next;
//! - [`caches`]: hits of a cache, by MIN (Belady, IBM Systems Journal 1966). That MIN counts misses and not what is
//!   written back, and that the two together are a hard problem, is from Beckmann, Gibbons, Haeupler and McGuffey
//!   (Writeback-Aware Caching, APOCS 2020);
//! - [`logs`]: blocks that compaction moves, for a log that knows how long each block lives. The idea is that of Lange,
//!   Naor and Yadgar (Offline and Online Algorithms for SSD Management, SIGMETRICS 2022), and of the oracle behind SepBIT
//!   (FAST 2022);
//! - [`tracks`]: rewrites of interlaced tracks whose blocks have fixed places.
#![forbid(unsafe_code)]

mod accesses;
pub mod caches;
pub mod logs;
mod pieces;
mod prices;
mod ranking;
pub mod schedule;
pub mod tracks;
pub mod zones;

pub use accesses::{Accesses, TooMany, Units};
