//! A volume that is served: its stores, the engine, and what answers questions about it.

#[cfg(feature = "server")]
pub mod allocator;
mod batch;
mod client;
mod clock;
pub mod control;
mod events;
mod exposition;
mod latency;
#[cfg(target_os = "linux")]
mod locked;
#[cfg(feature = "server")]
pub mod log;
mod metrics;
mod options;
mod recording;
mod request;
mod scrub;
mod seen;
mod services;
mod status;
mod units;
mod watch;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use imbrex::perform::Failure;
use imbrex::recording::Recording;
use serde_json::Value;

use crate::engine::{Carriers, Cleaning, Engine, InOrder};
use crate::image::ImageError;
use crate::overlay::Overlay;
use crate::paced::{Monotonic, Paced};
use crate::record::{RecordError, Recorder};
use crate::store::Store;
use crate::store_path::{self, StorePathError};
use crate::superblock::Superblock;
use crate::volume::{self, Members, Volume, VolumeError};
pub use batch::{Batches, contents};
pub use client::{Client, errno};
use clock::now_ms;
use control::Control;
use events::Events;
pub use events::{Event, EventKind, EventLevel};
pub use latency::{Latency, Times};
pub use options::{KEYS, OptionError, Pace, ServiceOptions};
pub use request::{Content, Request, What};
use scrub::Scrubber;
pub use scrub::{ScrubError, ScrubStatus};
use seen::Seen;
pub use services::ServiceStatus;
use services::Services;
pub use status::{ChecksumStatus, CleaningStatus, GrowthStatus, PacingStatus, Runner, Status};
use watch::Watch;

/// How the message begins which says that a server ended without making everything durable.
pub const NOT_DURABLE: &str = "what was written last may not be durable";

/// What helps where memory may not be locked.
const REMEDY: &str = "let it lock any amount (LimitMEMLOCK=infinity of a systemd unit, `ulimit -l unlimited` of a shell), \
                      give it CAP_IPC_LOCK, or serve without --lock-memory";

/// A volume that is served.
pub struct Service {
    engine: Arc<Engine>,
    /// The runners' layers, the one that serves the host first.
    layers: Vec<String>,
    identity: u64,
    since: Instant,
    read_only: bool,
    rotational: bool,
    locked: bool,
    /// Clients that came, and that went.
    came: AtomicU32,
    gone: AtomicU32,
    port: OnceLock<u16>,
    scrubber: Scrubber,
    services: Services,
    recorder: Option<Recorder>,
    events: Mutex<Events>,
    /// What is written when the volume changes hands, until it has at the end.
    hands: Mutex<Option<(Members, Vec<Superblock>)>>,
}

/// Questions are answered as long as this is there.
pub struct Answering {
    _control: Option<Control>,
    _watch: Option<Watch>,
}

/// Why a volume cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// No store was named.
    #[error("name the volume's stores with store=PATH")]
    NoStore,
    /// A path is no store.
    #[error(transparent)]
    Store(#[from] StorePathError),
    /// The stores are no volume that can be served.
    #[error("{stores}: {source}")]
    Volume {
        /// The stores.
        stores: String,
        /// Why not.
        source: VolumeError,
    },
    /// The control socket cannot be opened.
    #[error("control socket: {0}")]
    Control(#[from] io::Error),
    /// The process may lock some memory, and not any amount.
    #[error("memory cannot be locked: this process may lock {kib} KiB only; {REMEDY}")]
    MemoryLimit {
        /// KiB that it may lock.
        kib: u64,
    },
    /// The operating system does not lock the memory.
    #[error("memory cannot be locked: {0}; {REMEDY}")]
    MemoryRefused(#[source] io::Error),
    /// Requests cannot be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// This operating system locks no memory for Imbrex.
    #[error("memory is locked on Linux only")]
    MemoryUnsupported,
    /// Recovery failed.
    #[error("{stores}: {source}")]
    Recovery {
        /// The stores.
        stores: String,
        /// Why.
        source: Failure,
    },
}

impl Service {
    /// Opens the stores, recovers the volume and serves it.
    ///
    /// # Errors
    /// Why it cannot be served.
    pub fn start(options: &ServiceOptions) -> Result<Self, ServiceError> {
        Self::start_for(options, Arc::new(InOrder))
    }

    /// Opens the stores, recovers the volume and serves it to threads of a frontend, whose requests may overtake each
    /// other.
    ///
    /// # Errors
    /// As for [`Service::start`].
    pub fn start_for(options: &ServiceOptions, carriers: Arc<dyn Carriers>) -> Result<Self, ServiceError> {
        if options.stores.is_empty() {
            return Err(ServiceError::NoStore);
        }
        let members = options.stores.iter().map(|path| member(path, options)).collect::<Result<Members, _>>()?;
        let rotational = members.iter().all(|member| member.recording() != Recording::Flash);
        let stores = names(options);
        let of = |source| ServiceError::Volume { stores: stores.clone(), source };
        let mut volume = Volume::open(members).map_err(of)?;
        if options.read_only {
            volume.promote_nothing();
        }
        options.map_memory.map_or(Ok(()), |bytes| volume.set_map_memory(bytes)).map_err(of)?;
        volume.stale.iter().for_each(|part| {
            tracing::warn!("{part} is damaged or older; once this server has ended, `imbrex check --repair` mends it");
        });
        let layers: Vec<String> = volume.layers().map(str::to_owned).collect();
        let identity = volume.identity();
        let mut hands = None;
        if !options.read_only {
            if let Err(error) = volume.reserve() {
                tracing::warn!(%error, "no room is kept for the journal: when the host has none, the volume ends");
            }
            volume::advance(&volume.members, &mut volume.superblocks).map_err(of)?;
            hands = Some((volume.members.clone(), volume.superblocks.clone()));
        }
        let engine = Arc::new(Engine::start_for(volume, options.engine, carriers).map_err(of)?);
        if options.read_only {
            engine.set_cleaning(Cleaning::Paused);
        }
        if options.restarted {
            engine.presume_loss();
        }
        engine.wait_until_serving().map_err(|source| ServiceError::Recovery { stores, source })?;
        let recorder = recording::begin(options, &engine, &layers, identity)?;
        if options.lock_memory {
            lock_memory()?;
        }
        let (read_only, locked, since) = (options.read_only, options.lock_memory, Instant::now());
        let (came, gone) = (AtomicU32::new(0), AtomicU32::new(0));
        let (port, hands) = (OnceLock::new(), Mutex::new(hands));
        let (scrubber, services) = (Scrubber::default(), Services::default());
        let events = Mutex::new(Events::begin(engine.standing().0.counts.entries_read, now_ms()));
        let service = Self {
            engine,
            layers,
            identity,
            since,
            read_only,
            rotational,
            locked,
            came,
            gone,
            port,
            scrubber,
            services,
            recorder,
            events,
            hands,
        };
        service.announce();
        Ok(service)
    }

    /// Answers questions about the volume, where `options` say, until the result is dropped.
    ///
    /// # Errors
    /// When a socket cannot be had.
    pub fn answer(self: &Arc<Self>, options: &ServiceOptions) -> Result<Answering, ServiceError> {
        let control = options.control.as_deref().map(|path| Control::listen(path, Arc::clone(self))).transpose()?;
        // Events are for those who ask.
        let watch = control.is_some().then(|| Watch::start(Arc::clone(self))).transpose()?;
        Ok(Answering { _control: control, _watch: watch })
    }

    /// Says that the volume is served, and what recovery did.
    fn announce(&self) {
        let Status { layer, capacity_bytes, entries_read, images_replayed, units_lost, .. } = self.status();
        tracing::info!(layer, capacity_bytes, entries_read, images_replayed, units_lost, "recovered, serving");
    }

    /// What lies where, of the layers that say so: the one that serves the host first.
    fn units(&self) -> Vec<Value> {
        let said = self.layers.iter().zip(self.engine.contents());
        said.filter_map(|(layer, contents)| Some(units::units(layer, &contents?))).collect()
    }

    /// Looks for events since the last look.
    fn look(&self) -> MutexGuard<'_, Events> {
        // One look after the other, so that none is older than the one before.
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.look(&Seen::of(self), now_ms());
        events
    }

    /// What has happened so far, the newest first; of each kind of events the last ones.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.look().newest_first()
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// A number that tells this volume from others, from when it was formatted.
    #[must_use]
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// Bytes that clients see.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.engine.capacity() * u64::from(self.engine.block_bytes())
    }

    /// Whether clients may only read.
    #[must_use]
    pub fn read_only(&self) -> bool {
        self.read_only
    }

    /// Whether a disk turns below.
    #[must_use]
    pub fn rotational(&self) -> bool {
        self.rotational
    }

    /// Whether the memory of this process is locked.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.locked
    }

    /// Says at which TCP port clients are served.
    pub fn served_at(&self, port: u16) {
        // It does not change.
        let _ = self.port.set(port);
    }

    /// The TCP port at which clients are served, if it is one.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port.get().copied()
    }

    /// A number for a client that no other one has.
    #[must_use]
    pub fn next_client(&self) -> u32 {
        self.came.fetch_add(1, Ordering::Relaxed)
    }

    /// A client has gone.
    fn client_gone(&self) {
        self.gone.fetch_add(1, Ordering::Relaxed);
    }

    /// Clients that came so far, and that went.
    fn clients(&self) -> (u32, u32) {
        // In this order, or more would have gone than came.
        let gone = self.gone.load(Ordering::Relaxed);
        (self.came.load(Ordering::Relaxed), gone)
    }

    /// Ends serving: what was answered becomes durable, and a checkpoint makes the next start short.
    ///
    /// # Errors
    /// When that failed.
    pub fn stop(&self) -> Result<(), Failure> {
        self.scrubber.end();
        let stopped = self.engine.stop();
        self.recorder.iter().for_each(Recorder::end);
        let hands = self.hands.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((members, mut superblocks)) = hands.filter(|_| stopped.is_ok())
            && let Err(error) = volume::advance(&members, &mut superblocks)
        {
            tracing::warn!(%error, "the end is not put on record: an older copy of a member might be taken for it");
        }
        for member in self.engine.members() {
            if let Err(error) = member.rest() {
                tracing::warn!(%error, "the next start sums what was written last anew");
            }
        }
        stopped
    }

    /// Reads everything that has a checksum, in `percent` per cent of the time.
    ///
    /// # Errors
    /// When nothing has one, or there is no thread for it.
    pub fn scrub(&self, percent: u8) -> Result<(), ScrubError> {
        self.scrubber.start(&self.engine, percent)
    }
}

#[cfg(target_os = "linux")]
fn lock_memory() -> Result<(), ServiceError> {
    locked::lock()
}

#[cfg(not(target_os = "linux"))]
fn lock_memory() -> Result<(), ServiceError> {
    Err(ServiceError::MemoryUnsupported)
}

fn member(path: &Path, options: &ServiceOptions) -> Result<Arc<dyn Store>, StorePathError> {
    let store: Arc<dyn Store> = if options.read_only {
        Arc::new(Overlay::new(store_path::open_to_read(path)?, options.overlay_bytes))
    } else {
        store_path::open(path)?
    };
    if options.pace == Pace::Host {
        return Ok(store);
    }
    let Some(drive) = store.drive().cloned() else { return Err(StorePathError::HasPace(path.to_owned())) };
    let paced = Paced::new(store, &drive, Monotonic::default());
    let impossible = |source| StorePathError::Image { path: path.to_owned(), source: ImageError::Drive(source) };
    Ok(Arc::new(paced.map_err(impossible)?))
}

/// The stores as messages name them.
fn names(options: &ServiceOptions) -> String {
    let names: Vec<String> = options.stores.iter().map(|path| path.display().to_string()).collect();
    names.join(" and ")
}
