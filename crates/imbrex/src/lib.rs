//! Translation layers for overlapped-track hard disks, written once and run two ways: simulated on traces against a
//! mechanical disk model, and live as a crash-safe block device.
//!
//! # Replay a workload
//!
//! ```
//! use imbrex::drive::DrivePreset;
//! use imbrex::layers;
//! use imbrex::replay::{ReplayOptions, Setup, replay};
//! use imbrex::trace::Workload;
//!
//! let mut workload = Workload::named("zipf")?;
//! workload.set_requests(2000);
//! let setup = Setup {
//!     drive: &DrivePreset::named("exos-x18z")?,
//!     layer: layers::find("fifo-log")?,
//!     config: &"spare_zones = 2".parse()?,
//!     buffer: "64MiB".parse()?,
//!     workload: &workload,
//! };
//! let outcome = replay(&setup, &ReplayOptions::default(), &mut ())?;
//! assert_eq!(outcome.requests, 2000);
//! println!("write amplification {:.2}, {} zones rewritten", outcome.write_amplification, outcome.rmw);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A trace is a [`trace::Workload`] too, and an [`replay::Observer`] in the place of `&mut ()` sees each request.
//!
//! # Explore what a power cut does
//!
//! ```
//! use imbrex::explore::{Options, Subject, explore};
//! use imbrex::layers;
//! use imbrex::perform::rules::Rules;
//!
//! let options = Options { cuts: 20, seed: 1, rules: Rules::all() };
//! let survived = explore(&Subject::layer(layers::find("fifo-log")?), &options, |_| true)?;
//! assert!(survived.cuts >= 20);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Write a layer
//!
//! This one has no map: the first half of the blocks lies behind the second.
//!
//! ```
//! use imbrex::block::{Address, Extent, Lba, Pba, Request};
//! use imbrex::explore::{Options, Subject, explore};
//! use imbrex::layer::*;
//! use imbrex::layers::LayerInfo;
//! use imbrex::perform::rules::Rules;
//! use imbrex::plan::{Place, Plan, Record, Why};
//! use imbrex::recording::Recording;
//!
//! struct Swapped {
//!     first: Pba,
//!     blocks: u64,
//! }
//!
//! impl Swapped {
//!     /// The blocks from the front of `at` that lie together, and where.
//!     fn place(&self, at: Extent<Lba>) -> (Extent<Lba>, Place) {
//!         let half = self.blocks / 2;
//!         let (end, place) = match at.start.0 < half {
//!             true => (half, at.start.0 + self.blocks - half),
//!             false => (self.blocks, at.start.0 - half),
//!         };
//!         (Extent::between(at.start, at.end().min(Lba(end))), Place::At(self.first.plus(place)))
//!     }
//! }
//!
//! impl TranslationLayer for Swapped {
//!     fn facts(&self) -> Facts {
//!         Facts { unwritten: Unwritten::OldContent, ..Facts::default() }
//!     }
//!     fn capacity(&self) -> u64 {
//!         self.blocks
//!     }
//!     fn locate(&self, mut at: Extent<Lba>, plan: &mut Plan) {
//!         let mut host = 0;
//!         while at.blocks > 0 {
//!             let (run, place) = self.place(at);
//!             plan.copy(place, Place::Host(host), run.blocks, Why::Host);
//!             host += run.blocks;
//!             at = Extent::between(run.end(), at.end());
//!         }
//!     }
//!     fn write(&mut self, write: Write, plan: &mut Plan) -> u32 {
//!         let (run, place) = self.place(write.at);
//!         plan.copy(Place::Host(0), place, run.blocks, Why::Host);
//!         run.blocks // the runner comes back with the rest
//!     }
//!     fn trim(&mut self, at: Extent<Lba>, _: &mut Plan) -> u32 {
//!         at.blocks
//!     }
//!     fn clean(&mut self, _: Pressure, _: &[Request], _: &mut Plan) -> Step {
//!         Step::Nothing
//!     }
//!     fn freed(&mut self, _: Extent<Pba>, _: Freed) {}
//!     fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
//!         Err(Corrupt(format!("there are no records, yet there is {record:?}")))
//!     }
//!     fn recovered(&mut self, _: &UnitReport, _: &mut Plan) -> Result<(), Corrupt> {
//!         Ok(())
//!     }
//!     fn checkpoint(&self, _: u64, _: &mut Plan) -> Option<u64> {
//!         None
//!     }
//!     fn check(&self) -> Result<(), Violation> {
//!         Ok(())
//!     }
//! }
//!
//! static INFO: LayerInfo = LayerInfo {
//!     name: "swapped",
//!     family: None,
//!     source: "an example",
//!     summary: "The first half of the blocks lies behind the second.",
//!     recording: Recording::Conventional,
//!     buffered: false,
//!     fields: &[],
//!     make: &|space, _| Ok(Box::new(Swapped { first: space.conventional, blocks: space.conventional_blocks })),
//! };
//!
//! let options = Options { cuts: 20, seed: 1, rules: Rules::all() };
//! explore(&Subject::layer(&INFO), &options, |_| true)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # More
//!
//! - The crate `imbrex-live` opens volumes and serves them.
//! - What each of these modules may know of the others is in `docs/architecture.md`.
#![forbid(unsafe_code)]

#[doc(inline)]
pub use imbrex_core::{
    bands, block, buffer_size, config, contents, counters, drive, event, layer, mechanics, media, memory, plan, random,
    recording, samples, space, tracks, zones,
};
#[doc(inline)]
pub use imbrex_engine as perform;
#[cfg(feature = "explore")]
#[doc(inline)]
pub use imbrex_explorer as explore;
#[doc(inline)]
pub use imbrex_layers as layers;
#[doc(inline)]
pub use imbrex_layers::parts;
#[doc(inline)]
pub use imbrex_simulation::{replay, validate};
#[doc(inline)]
pub use imbrex_trace as trace;
