//! A volume as the library for vhost-user wants it: queues that are looked at when the guest says that something is in
//! them, and whose requests are left to threads that may wait.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use imbrex_live::pool::Pool;
use imbrex_live::service::{Batches, Client, contents};
use imbrex_live::{panics, service::Service};
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::{VhostUserBackend, VringMutex, VringT};
use virtio_queue::QueueOwnedT;
use vm_memory::{GuestAddressSpace, GuestMemoryAtomic, GuestMemoryMmap};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier};

use crate::request::{self, Chain};
use crate::short::ShortWrite;
use crate::virtio;

/// The guest's memory, which the monitor may change while requests are under way.
pub type Memory = GuestMemoryAtomic<GuestMemoryMmap>;

/// Requests that a queue holds at most.
const DEPTH: usize = 256;

/// What a thread of the pool does.
pub struct Job {
    origin: Origin,
    /// The request that it answers; or else it answers the short writes that wait.
    chain: Option<Chain>,
}

/// Where requests come from, and where their answers go.
#[derive(Clone)]
struct Origin {
    vring: VringMutex<Memory>,
    client: Arc<Client>,
    queue: Arc<Queue>,
}

/// A volume, as one monitor sees it.
pub struct Device {
    client: Arc<Client>,
    config: Vec<u8>,
    pool: Arc<Pool<Job>>,
    memory: Memory,
    /// By their numbers.
    queues: Vec<Arc<Queue>>,
    /// Whether no guest has been served before this one.
    is_first: bool,
    /// Becomes true when one is.
    begun: Arc<AtomicBool>,
}

/// A queue of the device.
#[derive(Default)]
struct Queue {
    /// Whether anything has been asked for in it.
    begun: AtomicBool,
    /// Whether the log says already that it cannot be read.
    is_broken: AtomicBool,
    /// How many requests are not answered yet.
    under_way: Mutex<usize>,
    none: Condvar,
    writes: Batches<ShortWrite>,
}

impl Queue {
    fn under_way(&self) -> MutexGuard<'_, usize> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done(&self, ended: usize) {
        let mut count = self.under_way();
        *count -= ended;
        if *count == 0 {
            self.none.notify_all();
        }
    }

    fn wait(&self) {
        let none = self.none.wait_while(self.under_way(), |count| *count > 0);
        drop(none.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Device {
    /// A volume with as many queues, whose requests `pool` gets. `begun` says whether a guest has been served before.
    pub fn new(
        service: &Arc<Service>,
        queues: u16,
        pool: &Arc<Pool<Job>>,
        memory: &Memory,
        begun: &Arc<AtomicBool>,
    ) -> Self {
        Self {
            client: Arc::new(Client::of(service)),
            config: virtio::config(service, queues).to_vec(),
            pool: Arc::clone(pool),
            memory: memory.clone(),
            queues: (0..queues).map(|_| Arc::default()).collect(),
            is_first: !begun.load(Ordering::SeqCst),
            begun: Arc::clone(begun),
        }
    }

    /// A guest that goes on in the middle of a queue had a server before this one, which was killed: what that had
    /// answered may be lost.
    fn begin(&self, number: usize, vring: &VringMutex<Memory>) {
        self.begun.store(true, Ordering::SeqCst);
        let was_begun = self.queues[number].begun.swap(true, Ordering::SeqCst);
        if self.is_first && !was_begun && vring.queue_next_avail() != 0 {
            tracing::warn!(
                "the guest had another server before; what that had answered may be lost, and a flush says so"
            );
            self.client.service().engine().presume_loss();
        }
    }

    /// Takes everything that is in a queue, until nothing has come in the meantime.
    fn take_all(&self, number: usize, vring: &VringMutex<Memory>) -> io::Result<()> {
        loop {
            vring.disable_notification().map_err(io::Error::other)?;
            let taken = self.take(number, vring);
            let has_more = vring.enable_notification().map_err(io::Error::other)?;
            taken?;
            if !has_more {
                return Ok(());
            }
        }
    }

    /// Takes what is in a queue now.
    fn take(&self, number: usize, vring: &VringMutex<Memory>) -> io::Result<()> {
        let queue = &self.queues[number];
        let chains: Vec<Chain> = {
            let mut state = vring.get_mut();
            state.get_queue_mut().iter(self.memory.memory()).map_err(io::Error::other)?.collect()
        };
        *queue.under_way() += chains.len();
        let origin = Origin { vring: vring.clone(), client: Arc::clone(&self.client), queue: Arc::clone(queue) };
        let mut writes = Vec::new();
        let mut jobs = Vec::new();
        for chain in chains {
            match ShortWrite::of(chain, &self.client) {
                Ok(write) => writes.push(write),
                Err(chain) => jobs.push(Job { origin: origin.clone(), chain: Some(chain) }),
            }
        }
        if queue.writes.add(writes) {
            jobs.push(Job { origin, chain: None });
        }
        self.pool.give(jobs.into_iter());
        Ok(())
    }
}

/// What a thread does until the pool ends.
pub fn work(pool: &Pool<Job>) {
    let mut buffer = Vec::new();
    pool.work(|Job { origin, chain }| match chain {
        Some(chain) => {
            let used = request::answer(&chain, &origin.client, &mut buffer);
            origin.hand_back(&[(chain.head_index(), used)]);
            None
        }
        // Others come first before more writes: of them there may always be some.
        None => origin.write_some().then_some(Job { origin, chain: None }),
    });
}

impl Origin {
    /// Answers short writes that have come; says whether there were any, and it is to be asked for more.
    fn write_some(&self) -> bool {
        let writes = self.queue.writes.take();
        let any = !writes.is_empty();
        if any {
            self.write(writes);
        }
        any
    }

    fn write(&self, writes: Vec<ShortWrite>) {
        let (contents, places) = contents(&writes, ShortWrite::len, ShortWrite::fetch);
        let places: Vec<_> = writes.iter().map(|write| write.offset).zip(places).collect();
        self.client.write_batch(&contents, &places, &mut |written| {
            let ended = written.iter().map(|(at, result)| writes[*at].end(result.is_ok()));
            self.hand_back(&ended.collect::<Vec<_>>());
        });
    }

    /// Hands requests back, by the numbers of their chains, of whose room so much was used; nothing if one has none for
    /// an answer.
    fn hand_back(&self, requests: &[(u16, Option<u32>)]) {
        if requests.iter().any(|(_, used)| used.is_none()) {
            tracing::warn!("a guest asked for something without room for an answer");
        }
        if let Err(error) = self.tell(requests) {
            tracing::warn!(%error, "a guest could not be answered");
        }
        self.queue.done(requests.len());
    }

    fn tell(&self, requests: &[(u16, Option<u32>)]) -> io::Result<()> {
        let mut state = self.vring.get_mut();
        for (head, used) in requests {
            state.add_used(*head, used.unwrap_or(0)).map_err(io::Error::other)?;
        }
        if requests.is_empty() || !state.needs_notification().map_err(io::Error::other)? {
            return Ok(());
        }
        state.signal_used_queue()
    }
}

impl VhostUserBackend for Device {
    type Bitmap = ();
    type Vring = VringMutex<Memory>;

    fn num_queues(&self) -> usize {
        self.queues.len()
    }

    fn max_queue_size(&self) -> usize {
        DEPTH
    }

    fn features(&self) -> u64 {
        virtio::features(self.client.service().read_only()) | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::CONFIG | VhostUserProtocolFeatures::MQ | VhostUserProtocolFeatures::REPLY_ACK
    }

    /// The library tells the queues itself.
    fn set_event_idx(&self, _enabled: bool) {}

    /// What a guest may read beyond what is known is zero.
    fn get_config(&self, offset: u32, size: u32) -> Vec<u8> {
        (offset..offset.saturating_add(size)).map(|at| self.config.get(at as usize).copied().unwrap_or(0)).collect()
    }

    /// The library changes the memory itself, which is shared with this.
    fn update_memory(&self, _memory: Memory) -> io::Result<()> {
        Ok(())
    }

    /// A thread for each queue.
    fn queues_per_thread(&self) -> Vec<u64> {
        (0..self.queues.len()).map(|queue| 1 << queue).collect()
    }

    fn exit_event(&self, _thread: usize) -> Option<(EventConsumer, EventNotifier)> {
        new_event_consumer_and_notifier(EventFlag::CLOEXEC | EventFlag::NONBLOCK).ok()
    }

    fn stop_vring(&self, queue: u32) -> io::Result<()> {
        self.queues.get(queue as usize).into_iter().for_each(|queue| queue.wait());
        Ok(())
    }

    fn handle_event(
        &self,
        event: u16,
        _events: EventSet,
        vrings: &[VringMutex<Memory>],
        queue: usize,
    ) -> io::Result<()> {
        panics::injected("queue");
        // A thread has the one queue of its own number.
        let Some(vring) = vrings.get(usize::from(event)) else { return Ok(()) };
        self.begin(queue, vring);
        // An error would end the thread of the queue without a word.
        if let Err(error) = self.take_all(queue, vring)
            && !self.queues[queue].is_broken.swap(true, Ordering::SeqCst)
        {
            tracing::warn!(queue, %error, "a queue of the guest cannot be read");
        }
        Ok(())
    }
}
