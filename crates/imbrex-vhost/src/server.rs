//! The socket, and one monitor after the other.

use std::io;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use imbrex_live::pool::Pool;
use imbrex_live::service::Service;
use imbrex_live::threads;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;
use vhost::vhost_user::Listener;
use vhost_user_backend::{ShutdownHandle, VhostUserDaemon};
use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

use crate::device::{Device, Job, Memory, work};

/// How a volume is served.
#[derive(Copy, Clone, Debug)]
pub struct Options {
    /// Queues that a monitor may use, of at most 64.
    pub queues: u16,
    /// Threads that answer requests.
    pub threads: u32,
}

/// A volume that monitors can connect to, one at a time.
pub struct Server {
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
    pool: Arc<Pool<Job>>,
    workers: Vec<JoinHandle<()>>,
}

struct Shared {
    ended: AtomicBool,
    /// Can be read from when the end has come.
    end: OwnedFd,
    /// The connection of the monitor that is there.
    connection: Mutex<Option<ShutdownHandle>>,
}

impl Server {
    /// Serves a volume at a socket.
    ///
    /// # Errors
    /// When the operating system refuses threads or memory for it.
    pub fn serve(listener: UnixListener, service: &Arc<Service>, options: Options) -> io::Result<Self> {
        let end = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Arc::new(Shared { ended: AtomicBool::new(false), end, connection: Mutex::default() });
        let pool = Arc::new(Pool::default());
        let workers = (0..options.threads.max(1)).map(|_| {
            let pool = Arc::clone(&pool);
            thread::Builder::new().name("request".to_owned()).spawn(move || work(&pool))
        });
        let workers = workers.collect::<io::Result<Vec<_>>>()?;
        let accepting = {
            let (shared, service, pool) = (Arc::clone(&shared), Arc::clone(service), Arc::clone(&pool));
            let run = move || shared.accept(&listener, &service, options.queues, &pool);
            threads::own("monitors").spawn(run)?
        };
        Ok(Self { shared, accepting, pool, workers })
    }

    /// Lets nobody connect any more, ends the connection of the monitor that is there, and waits until everything that
    /// it had asked for is done.
    pub fn end(self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        // Full is woken, too.
        let _ = rustix::io::write(&self.shared.end, &1_u64.to_ne_bytes());
        if let Some(connection) = &*self.shared.connection() {
            connection.shutdown();
        }
        // One that panicked would have ended the process.
        let _ = self.accepting.join();
        self.pool.end();
        for worker in self.workers {
            let _ = worker.join();
        }
    }
}

impl Shared {
    /// Serves whoever connects, until the end.
    fn accept(&self, listener: &UnixListener, service: &Arc<Service>, queues: u16, pool: &Arc<Pool<Job>>) {
        let begun = Arc::default();
        while self.is_awaited(listener) {
            let memory = GuestMemoryAtomic::new(GuestMemoryMmap::new());
            let device = Device::new(service, queues, pool, &memory, &begun);
            if let Err(error) = self.one(listener, device, memory) {
                tracing::warn!(%error, "a monitor went without a word, or cannot be served");
            }
            tracing::info!("the monitor is gone; the next one may connect");
        }
    }

    /// Waits until somebody connects; says whether that is so, and not the end.
    fn is_awaited(&self, listener: &UnixListener) -> bool {
        while !self.ended.load(Ordering::SeqCst) {
            let mut asked = [PollFd::new(listener, PollFlags::IN), PollFd::new(&self.end, PollFlags::IN)];
            if poll(&mut asked, None).is_ok() && !asked[0].revents().is_empty() {
                return !self.ended.load(Ordering::SeqCst);
            }
        }
        false
    }

    /// Serves a monitor that connects until it hangs up.
    fn one(&self, listener: &UnixListener, device: Device, memory: Memory) -> Result<(), vhost_user_backend::Error> {
        let mut daemon = VhostUserDaemon::new("imbrex-monitor".to_owned(), Arc::new(device), memory)?;
        let mut listener = Listener::from(listener.try_clone().map_err(vhost_user_backend::Error::StartDaemon)?);
        daemon.start(&mut listener)?;
        *self.connection() = daemon.shutdown_handle();
        if self.ended.load(Ordering::SeqCst) {
            daemon.request_shutdown();
        }
        tracing::info!("a monitor has connected");
        let ended = daemon.wait();
        *self.connection() = None;
        match ended {
            Err(vhost_user_backend::Error::HandleRequest(error)) if is_hung_up(&error) => Ok(()),
            other => other,
        }
    }

    fn connection(&self) -> std::sync::MutexGuard<'_, Option<ShutdownHandle>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether that is how a monitor goes.
fn is_hung_up(error: &vhost::vhost_user::Error) -> bool {
    use vhost::vhost_user::Error;
    matches!(error, Error::Disconnected | Error::PartialMessage | Error::SocketBroken(_))
}
