//! A measured open trace, replayed as any trace is: on the `conventional` layer, through the disk's queue.

use std::sync::mpsc::{self, Sender};

use super::disk_folder::{DiskFolder, Run, Served};
use crate::replay::{Access, Configured, Device, MAX_SCHEDULER_DEPTH, ReplayError, ReplayOptions, Scheduler, Timing};
use imbrex_core::block::{self, Extent, Pba};
use imbrex_core::mechanics::{Mechanics, SECTOR_BYTES};
use imbrex_core::media::Conventional;
use imbrex_layers as layers;
use imbrex_trace::{Compression, TraceError, TraceFormat, TraceInfo, TraceRequest, TraceSource};

impl Access {
    /// The access that a measured request is.
    pub(super) fn of(served: &Served) -> Self {
        Self { at: Extent::new(Pba::disk(served.lbn), served.sectors as u32), write: served.write }
    }
}

/// The measured disk, with a note of what it does.
struct Noted {
    mechanics: Mechanics,
    accesses: Sender<Access>,
}

impl Timing for Noted {
    fn access(&mut self, now_ns: u64, first_sector: u64, sectors: u64, write: bool) -> u64 {
        // The receiver is gone only once the replay has failed.
        let at = Extent::new(Pba::disk(first_sector), sectors as u32);
        let _ = self.accesses.send(Access { at, write });
        self.mechanics.access(now_ns, first_sector, sectors, write)
    }

    fn positioning_ns(&self, now_ns: u64, first_sector: u64, write: bool) -> u64 {
        self.mechanics.positioning_ns(now_ns, first_sector, write)
    }
}

/// The requests of a measured trace.
struct Measured<'a> {
    info: TraceInfo,
    requests: std::slice::Iter<'a, Served>,
}

impl TraceSource for Measured<'_> {
    fn info(&self) -> &TraceInfo {
        &self.info
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        let traced = |served: &Served| TraceRequest {
            arrival_ns: served.time_ns,
            access: if served.write { block::Access::Write } else { block::Access::Read },
            offset_bytes: served.lbn * u64::from(SECTOR_BYTES),
            bytes: served.sectors as u32 * SECTOR_BYTES,
        };
        batch.clear();
        batch.extend(self.requests.by_ref().take(limit).map(traced));
        Ok(())
    }
}

/// The mean response in ms, and the accesses of the disk in the order of service.
pub(super) fn replay(disk: &DiskFolder, run: &Run, scheduler: Scheduler) -> Result<(f64, Vec<Access>), ReplayError> {
    // DiskSim's queue has no limit, and no cache hides what the disk does.
    let options = ReplayOptions {
        scheduler,
        scheduler_depth: MAX_SCHEDULER_DEPTH,
        prefill: 0.0,
        idle: false,
        ..ReplayOptions::default()
    };
    let (sender, accesses) = mpsc::channel();
    let timing = Noted { mechanics: disk.mechanics.clone(), accesses: sender };
    let media = Conventional::new(Pba::DISK, disk.mechanics.sectors());
    let device = Device::new(Box::new(media), Box::new(timing), SECTOR_BYTES);
    let conventional =
        Configured { layer: layers::find("conventional")?, config: &toml::Table::new(), buffer_blocks: 0 };
    let simulation = conventional.simulation(device, &options)?;
    // No format of its own: what matters of it is the name.
    let info = TraceInfo {
        name: run.name.clone(),
        format: TraceFormat::Synthetic,
        compression: Compression::None,
        synthetic: true,
    };
    let outcome = simulation.run(&mut Measured { info, requests: run.requests.iter() }, &mut ())?;
    Ok((outcome.latency_ms.all.mean, accesses.iter().collect()))
}
