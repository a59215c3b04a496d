//! Memory that is never taken away: under memory pressure the kernel drops what it can read again, the program's own
//! code first, and then a request waits for the disk that the code lies on.
//!
//! What there is when the volume is served is locked with all that it has not been used for yet: the layer's maps, which
//! are as long as they get, and the program. What is taken later is locked as it is used.

use std::fs;

use rustix::io::Errno;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::ServiceError;

/// The number of the right to lock any amount of memory.
const CAP_IPC_LOCK: u32 = 14;

/// Locks the memory of this process, now and from now on.
///
/// # Errors
/// When it may not be locked.
pub(super) fn lock() -> Result<(), ServiceError> {
    let limit = raised(getrlimit(Resource::Memlock));
    may_lock(limit, &fs::read_to_string("/proc/self/status").unwrap_or_default())?;
    let refused = |error: Errno| ServiceError::MemoryRefused(error.into());
    // Now all of it, and later, stacks of threads for one, what is used.
    mlockall(MlockAllFlags::CURRENT).map_err(refused)?;
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT).map_err(refused)
}

/// The limit when it has been raised as far as it may be.
fn raised(limit: Rlimit) -> Option<u64> {
    let most = Rlimit { current: limit.maximum, ..limit };
    if setrlimit(Resource::Memlock, most).is_ok() { most.current } else { limit.current }
}

/// Whether a process may lock all that it ever takes, by its limit in bytes and what the system says of it. A limit that
/// is enough at the start would let allocations fail later: all that is mapped counts, used or not.
fn may_lock(limit: Option<u64>, process: &str) -> Result<(), ServiceError> {
    let rights = process.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let rights = rights.and_then(|rights| u64::from_str_radix(rights.trim(), 16).ok()).unwrap_or(0);
    match limit {
        Some(bytes) if rights >> CAP_IPC_LOCK & 1 == 0 => Err(ServiceError::MemoryLimit { kib: bytes >> 10 }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_limit_is_refused_with_what_helps_unless_there_is_the_right() {
        let (without, with) = ("Name:\timbrex\nCapEff:\t00000000a80425fb\n", "CapEff:\t000001ffffffffff\n");
        assert!(may_lock(None, without).is_ok() && may_lock(Some(8 << 20), with).is_ok());
        let refused = may_lock(Some(8 << 20), without).unwrap_err().to_string();
        assert!(refused.contains("8192 KiB") && refused.contains("LimitMEMLOCK=infinity"), "{refused}");
        assert!(may_lock(Some(1), "").is_err(), "where the rights are unknown");
    }

    #[test]
    fn what_is_taken_later_is_locked_too_or_it_is_said_what_helps() {
        if let Err(why) = lock() {
            assert!(why.to_string().contains("LimitMEMLOCK=infinity"), "{why}");
            return;
        }
        let taken = vec![1_u8; 64 << 20];
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
        let kib: usize = locked.trim().trim_end_matches("kB").trim_end().parse().unwrap();
        rustix::mm::munlockall().unwrap();
        assert!(kib > taken.len() >> 10, "{kib} KiB are locked");
    }
}
