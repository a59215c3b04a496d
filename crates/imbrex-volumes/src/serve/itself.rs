//! Volumes that this program serves itself, on Linux.

use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Result, anyhow};
use imbrex_live::service::control;
use imbrex_live::service::{ServiceOptions, Status};
use imbrex_terminal::say::note;

use super::super::{socket, web};
use super::{Log, Serve, tell_served};

/// Queues of a device.
const MOST_QUEUES: usize = 4;

impl Serve {
    #[cfg(feature = "ublk")]
    pub(super) fn run_ublk(&self, number: Option<u32>) -> Result<()> {
        use imbrex_ublk::{DeviceOptions, Sector};
        // Requests of each queue that the kernel has under way.
        const DEPTH: u16 = 64;
        let ready = self.ready(&self.place())?;
        let device = DeviceOptions {
            number,
            sector: if self.sector == "512" { Sector::Half } else { Sector::Block },
            queues: queues(),
            depth: DEPTH,
            threads: self.threads,
        };
        let announce = |status: &Status, at: &str| self.announce_itself(status, at, &ready);
        super::super::ublk::serve(&ready.options, &device, self.log == Log::Json, announce)
    }

    #[cfg(feature = "vhost-user")]
    pub(super) fn run_vhost_user(&self, place: &Path) -> Result<()> {
        socket::check(place)?;
        control::remove_stale(place)?;
        let ready = self.ready(place)?;
        let server = imbrex_vhost::Options { queues: queues(), threads: self.threads };
        let announce = |status: &Status, at: &str| self.announce_itself(status, at, &ready);
        super::super::vhost::serve(&ready.options, place, server, self.log == Log::Json, announce)
    }

    /// What has to be there before a volume is served at `place`.
    fn ready(&self, place: &Path) -> Result<Ready> {
        let control = self.control.clone().unwrap_or_else(|| socket::control(place));
        socket::check(&control)?;
        control::remove_stale(&control)?;
        let web = web::Child::start(&self.told, &control)?;
        let mut options = ServiceOptions::default();
        for (key, value) in self.service_pairs(&control) {
            let value = value.to_str().ok_or_else(|| anyhow!("{} is not UTF-8", value.display()))?;
            options.set(key, value)?;
        }
        Ok(Ready { control, web, options })
    }

    /// Says that a volume is served. As long as what it returns is kept, other commands find the server by the volume's
    /// first store.
    fn announce_itself(&self, status: &Status, at: &str, ready: &Ready) -> Result<Option<socket::Link>> {
        let written =
            self.pidfile.iter().try_for_each(|file| std::fs::write(file, format!("{}\n", std::process::id())));
        if let Err(error) = written {
            note(format_args!("warning: the process number cannot be written: {error}"));
        }
        tell_served(status, at, &ready.web);
        socket::Link::to(&ready.control, &self.stores[0])
    }
}

/// A volume that is about to be served.
struct Ready {
    control: PathBuf,
    web: web::Child,
    options: ServiceOptions,
}

/// As many as there are processors, but not too many.
fn queues() -> u16 {
    thread::available_parallelism().map_or(1, |n| n.get()).min(MOST_QUEUES) as u16
}
