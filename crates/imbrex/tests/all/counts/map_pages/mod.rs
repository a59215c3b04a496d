//! Lookups, reads and writes of pages of a map in bounded memory, for a greedy log: against a list of pages and tables
//! of what lies where. `docs/map-memory.md` says what they must be.

mod log;
mod memory;
mod reads;

use imbrex::block::{Access, Pba};
use imbrex::layers;
use imbrex::media::{Shingled, ZonedSpec};
use imbrex::plan::Why;
use imbrex::replay::{Configured, Device, NoTime, ReplayOptions, Simulation};
use imbrex::trace::TraceRequest;

use crate::counts::{requests, synthetic};
use crate::fixture::Listed;
use log::Log;
use memory::{Counts, Memory};

/// What is compared: bands, and how much of the map is in memory.
#[derive(Copy, Clone, Debug)]
struct Case {
    bands: u32,
    band_blocks: u32,
    /// Bands compacted together.
    together: usize,
    /// Pages in memory, and those that the model has.
    pages: usize,
    modelled: usize,
}

const CASE: Case = Case { bands: 30, band_blocks: 768, together: 2, pages: 16, modelled: 16 };

impl Case {
    /// All of a compaction but looking for what is live is one step.
    fn simulation(&self) -> Simulation {
        let spec = ZonedSpec {
            zones: self.bands + 1,
            zone_blocks: self.band_blocks,
            conventional_zones: 1,
            max_open: 0,
            max_active: 0,
        };
        let disk = Device::new(Box::new(Shingled::new(Pba::DISK, spec)), Box::new(NoTime), 4096);
        let config = format!("step_blocks = 1000000\ncompact_bands = {}", self.together).parse().unwrap();
        let options = ReplayOptions {
            map_memory: Some(self.pages as u64 * 4096),
            queue_depth: Some(1),
            check_every: 500,
            verify: true,
            ..ReplayOptions::default()
        };
        let layer = layers::find("log-greedy").unwrap();
        Configured { layer, config: &config, buffer_blocks: 0 }.simulation(disk, &options).unwrap()
    }

    /// What the layer and its model count: moved blocks, and of pages.
    fn counts(&self, requests: impl FnOnce(u64) -> Vec<TraceRequest>) -> [(u64, Counts); 2] {
        let simulation = self.simulation();
        let capacity = simulation.capacity();
        let requests = requests(capacity * 4096);
        let memory = Memory::new(self.modelled);
        let mut model = Log::full(self.bands as usize, self.band_blocks.into(), capacity, self.together, memory);
        for request in &requests {
            let at = request.blocks(4096);
            let (first, blocks) = (at.start.0, at.blocks.into());
            match request.access {
                Access::Read => model.read(first, blocks),
                Access::Write => model.write(first, blocks),
                Access::Trim => model.trim(first, blocks),
            }
        }
        let outcome = simulation.run(&mut Listed::new(requests), &mut ()).unwrap();
        let map = outcome.map.unwrap();
        let counted = Counts { lookups: map.lookups, read: map.read_pages, written: map.written_pages };
        println!("{self:?}: {counted:?}");
        [(outcome.media_write_blocks.get(Why::Migrate), counted), (model.moved, model.memory.counts)]
    }

    fn compare(&self, requests: impl FnOnce(u64) -> Vec<TraceRequest>) -> Counts {
        let [counted, expected] = self.counts(requests);
        assert_eq!(counted, expected, "{self:?}");
        assert!(counted.0 > 5_000, "bands are compacted");
        counted.1
    }
}

/// Reads, writes and a few trims of up to three sizes, all over the disk or most of them in one place.
fn random(seed: u32, skewed: bool) -> impl Fn(u64) -> Vec<TraceRequest> {
    let pattern = if skewed { "pattern.zipf = { theta = 0.9 }" } else { "pattern = 'uniform'" };
    move |range_bytes| {
        let mut all = requests(&synthetic(&format!(
            r#"
            seed = {seed}
            range_bytes = {range_bytes}
            write_ratio = 0.7
            sizes = [{{ kib = 4, weight = 60 }}, {{ kib = 40, weight = 10 }}, {{ kib = 600, weight = 1 }}]
            streams = [{{ weight = 1, {pattern} }}]
        "#
        )));
        all.iter_mut().step_by(97).for_each(|request| request.access = Access::Trim);
        all
    }
}

#[test]
fn pages_agree_with_the_model() {
    for (seed, skewed) in [(1, false), (2, true), (3, false)] {
        for pages in [16, 20, 25] {
            let case = Case { pages, modelled: pages, ..CASE };
            let counts = case.compare(random(seed, skewed));
            assert!(counts.lookups > counts.read && counts.read > 1_000 && counts.written > 1_000, "{counts:?}");
        }
    }
}

/// Pages of slots then belong to several bands.
#[test]
fn pages_agree_where_bands_do_not_end_with_pages() {
    for (bands, band_blocks) in [(40, 512), (80, 256)] {
        for together in [1, 2] {
            Case { bands, band_blocks, together, ..CASE }.compare(random(4, false));
        }
    }
}

/// A model with another memory, or one that believes in other victims, does not agree.
#[test]
fn a_wrong_model_does_not_agree() {
    for modelled in [15, 17] {
        let [(moved, counted), (expected, modelled)] = Case { modelled, ..CASE }.counts(random(1, false));
        assert_eq!(moved, expected, "what is moved does not depend on memory");
        assert!(counted.read != modelled.read && counted.written != modelled.written, "{counted:?}");
    }
}
