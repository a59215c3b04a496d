//! Log-structured bands, their write buffer and their heat: a model of lists against the layers.

mod choose;
mod comparisons;
mod hazards;
mod inferred;
mod lifetimes;
mod log;
mod miniatures;
mod room;
mod separation;
mod settings;
mod streams;
mod tuning;

use imbrex::block::{Access, Pba};
use imbrex::layers;
use imbrex::media::{Shingled, ZonedSpec};
use imbrex::plan::Why;
use imbrex::replay::{Configured, Device, NoTime, ReplayOptions, Simulation};
use imbrex::trace::derived::dense::{Dense, Numbering};
use imbrex::trace::{TraceRequest, Workload};
use test_material::beside;

use crate::counts::{requests, synthetic};
use crate::fixture::Listed;
use log::{Counts, Log};
use settings::Settings;

/// What is compared on which disk.
#[derive(Copy, Clone, PartialEq, Debug)]
struct Case {
    block_bytes: u32,
    bands: usize,
    band_blocks: usize,
    prefill: f64,
    /// Whether the write buffer is emptied at the end.
    flush: bool,
}

const CASE: Case = Case { block_bytes: 4096, bands: 40, band_blocks: 24, prefill: 1.0, flush: false };

impl Case {
    fn simulation(&self, layer: &str, config: &toml::Table) -> Simulation {
        let spec = ZonedSpec {
            zones: self.bands as u32,
            zone_blocks: self.band_blocks as u32,
            conventional_zones: 0,
            max_open: 0,
            max_active: 0,
        };
        let media = Box::new(Shingled::new(Pba::DISK, spec));
        let disk = Device::new(media, Box::new(NoTime), self.block_bytes);
        let options =
            ReplayOptions { verify: true, prefill: self.prefill, flush: self.flush, ..ReplayOptions::default() };
        let layer = layers::find(layer).unwrap();
        Configured { layer, config, buffer_blocks: 0 }.simulation(disk, &options).unwrap()
    }

    /// What a layer and its model count, which is the same. `requests` are those for a capacity in bytes.
    fn compare(&self, layer: &'static str, config: &str, requests: impl FnOnce(u64) -> Vec<TraceRequest>) -> Counts {
        let config: toml::Table = config.parse().unwrap();
        self.compare_with(layer, &config, Settings::new(layer, &config), requests)
    }

    /// The same, with a model that is told something else.
    fn compare_with(
        &self,
        layer: &str,
        config: &toml::Table,
        settings: Settings,
        requests: impl FnOnce(u64) -> Vec<TraceRequest>,
    ) -> Counts {
        let simulation = self.simulation(layer, config);
        let capacity = simulation.capacity();
        let requests = requests(capacity * u64::from(self.block_bytes));
        let model = Log::new(settings, self.bands, self.band_blocks, capacity);
        let expected = self.serve(model, &requests).counts;
        let outcome = simulation.run(&mut Listed::new(requests), &mut ()).unwrap();
        let written = |why| outcome.media_write_blocks.get(why);
        let counted = Counts {
            host: outcome.host_write_blocks,
            hits: outcome.write_hit_blocks,
            appended: written(Why::Host),
            destaged: written(Why::Destage),
            moved: written(Why::Migrate),
            resets: outcome.resets,
        };
        println!("{layer} {:?} {self:?}: {counted:?}", config.to_string());
        assert_eq!(counted, expected, "{layer} and its model with {config:?} on {self:?}");
        counted
    }

    /// The model of a layer when it has served what `requests` says for its capacity.
    fn model(&self, layer: &'static str, config: &str, requests: impl FnOnce(u64) -> Vec<TraceRequest>) -> Log {
        let config: toml::Table = config.parse().unwrap();
        let capacity = self.simulation(layer, &config).capacity();
        let model = Log::new(Settings::new(layer, &config), self.bands, self.band_blocks, capacity);
        self.serve(model, &requests(capacity * u64::from(self.block_bytes)))
    }

    /// The model after `requests`, which alone count. What lies on the disk before is not in its buffer.
    fn serve(&self, mut model: Log, requests: &[TraceRequest]) -> Log {
        let filled = (model.places.len() as f64 * self.prefill) as u64;
        // A part of a disk is filled in whole bands.
        let filled = if self.prefill < 1.0 { filled - filled % self.band_blocks as u64 } else { filled };
        (0..filled).for_each(|lba| model.write(lba));
        model.flush();
        model.forget();
        for request in requests {
            for lba in request.blocks(self.block_bytes).iter() {
                match request.access {
                    Access::Write => model.write(lba.0),
                    Access::Trim => model.trim(lba.0),
                    Access::Read => {}
                }
            }
        }
        if self.flush {
            model.flush();
        }
        model
    }
}

/// Uniform and popular requests of two sizes, a third of which begin within a block and a few of which are trims.
fn mixed(range_bytes: u64) -> Vec<TraceRequest> {
    let workload = synthetic(&format!(
        r#"
        seed = 5
        range_bytes = {range_bytes}
        write_ratio = 0.9
        sizes = [{{ kib = 4, weight = 3 }}, {{ kib = 20, weight = 1 }}]
        streams = [{{ weight = 2, pattern = "uniform" }}, {{ weight = 1, pattern.zipf = {{ theta = 0.99 }} }}]
    "#
    ));
    let mut all = requests(&workload);
    for (number, request) in all.iter_mut().enumerate() {
        if number % 3 == 0 {
            let inward = 512 * (number as u32 % 7);
            request.offset_bytes += u64::from(inward);
            request.bytes -= inward;
        }
        if number % 50 == 0 {
            request.access = Access::Trim;
        }
    }
    all
}

/// The footprint of a trace on as few bands as hold it with 15 % spare, if there is one.
fn real_trace(check: &str) -> Option<(Case, Vec<TraceRequest>)> {
    let workload = Workload::File(beside(check, "traces")?.join("msr-hm_1-writes.csv.zst").into());
    let numbering = Numbering::of(workload.open().unwrap().as_mut(), CASE.block_bytes).unwrap();
    let blocks = numbering.blocks() as usize;
    let dense = requests(&Workload::Dense(Box::new(Dense::new(workload, numbering))));
    Some((Case { bands: 50, band_blocks: blocks.div_ceil(42), ..CASE }, dense))
}
