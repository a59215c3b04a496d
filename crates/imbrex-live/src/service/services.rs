//! What became of the services that tell about a volume: the control socket, and the process for HTTP. They may fail
//! while the volume goes on, so their failures are counted and shown in the status.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// The names of services, in what is said of them.
pub(super) const CONTROL: &str = "control";
pub(super) const WEB: &str = "web";

/// How a service stands.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ServiceStatus {
    /// How often it had to begin again, since it had failed.
    pub restarts: u64,
    /// Connections that it ended without an answer, since there were too many or they took too long.
    pub refused: u64,
}

/// How every service stands that was ever heard of.
#[derive(Default)]
pub(super) struct Services(Mutex<BTreeMap<&'static str, ServiceStatus>>);

impl Services {
    /// Takes over what a service says of itself.
    pub fn set(&self, service: &'static str, status: ServiceStatus) {
        self.services().insert(service, status);
    }

    /// A connection was ended without an answer.
    pub fn refused(&self, service: &'static str) {
        self.services().entry(service).or_default().refused += 1;
    }

    /// A service failed, and goes on.
    pub fn restarted(&self, service: &'static str) {
        self.services().entry(service).or_default().restarts += 1;
    }

    /// How they stand, by name.
    pub fn status(&self) -> BTreeMap<String, ServiceStatus> {
        self.services().iter().map(|(name, status)| ((*name).to_owned(), *status)).collect()
    }

    fn services(&self) -> MutexGuard<'_, BTreeMap<&'static str, ServiceStatus>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
