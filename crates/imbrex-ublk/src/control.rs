//! The driver's commands, and why it cannot be used.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::abi::{self, INFO_BYTES, Info, PARAMS_BYTES, Params};
use crate::ring::CommandRing;

/// Where the driver takes commands.
const CONTROL: &str = "/dev/ublk-control";
/// What is done about a kernel that is too old.
const OLD: &str = "Linux 6.5 and later has what is needed";

/// Why there can be no device of ublk's, and what helps.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// The driver is not there.
    #[error("ublk is missing: there is no {0}; load the kernel's module with `modprobe ublk_drv`")]
    NoDriver(String),
    /// The user may not use it.
    #[error("ublk cannot be used: only root may open {0}; run this as root")]
    NotAllowed(String),
    /// The driver cannot be opened for another reason.
    #[error("ublk cannot be used: {0}: {1}")]
    NotOpened(String, io::Error),
    /// There is no io_uring.
    #[error(
        "ublk cannot be used without io_uring, which this system does not let programs have ({0}); see `sysctl kernel.io_uring_disabled`"
    )]
    NoRing(io::Error),
    /// The kernel's driver is too old.
    #[error("ublk of this kernel lacks what is needed (features {features:#x} of {:#x}); {OLD}", abi::NEEDED)]
    TooOld {
        /// What it has.
        features: u64,
    },
    /// The kernel's driver does not say what it has.
    #[error("ublk of this kernel does not say what it can do ({0}); {OLD}")]
    Silent(io::Error),
}

/// The driver, to be told what to do.
pub struct Control {
    file: File,
    ring: CommandRing,
}

impl Control {
    /// The driver of this machine.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn open() -> Result<Self, Unusable> {
        Self::at(Path::new(CONTROL))
    }

    fn at(path: &Path) -> Result<Self, Unusable> {
        let name = path.display().to_string();
        let file = File::options().read(true).write(true).open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Unusable::NoDriver(name),
            io::ErrorKind::PermissionDenied => Unusable::NotAllowed(name),
            _ => Unusable::NotOpened(name, error),
        })?;
        let mut control = Self { file, ring: CommandRing::new().map_err(Unusable::NoRing)? };
        let mut features = [0; 8];
        control.command(abi::GET_FEATURES, abi::ANY, 0, &mut features).map_err(Unusable::Silent)?;
        let features = u64::from_ne_bytes(features);
        if features & abi::NEEDED == abi::NEEDED { Ok(control) } else { Err(Unusable::TooOld { features }) }
    }

    /// Makes a device, which is not there yet for others. The driver says what became of what was asked for.
    pub fn add(&mut self, info: Info) -> io::Result<Info> {
        let mut bytes = info.to_bytes();
        self.command(abi::ADD_DEV, info.device, 0, &mut bytes)?;
        Ok(Info::of(&bytes))
    }

    /// Says what a device is like, before it is started.
    pub fn set(&mut self, device: u32, params: Params) -> io::Result<()> {
        let mut bytes: [u8; PARAMS_BYTES] = params.to_bytes();
        self.command(abi::SET_PARAMS, device, 0, &mut bytes)
    }

    /// How a device stands.
    pub fn info(&mut self, device: u32) -> io::Result<Info> {
        let mut bytes = [0; INFO_BYTES];
        self.command(abi::GET_DEV_INFO, device, 0, &mut bytes)?;
        Ok(Info::of(&bytes))
    }

    /// Carries out a command that takes nothing but the device.
    pub fn simple(&mut self, op: u32, device: u32) -> io::Result<()> {
        self.command(op, device, 0, &mut [])
    }

    /// Carries out a command that takes this process's number.
    pub fn with_own_number(&mut self, op: u32, device: u32) -> io::Result<()> {
        self.command(op, device, std::process::id().into(), &mut [])
    }

    /// The devices that there are.
    pub fn devices(&mut self) -> Vec<Info> {
        let Ok(entries) = fs::read_dir("/dev") else { return Vec::new() };
        let number = |name: &str| name.strip_prefix("ublkc")?.parse().ok();
        let numbers: Vec<u32> = entries.filter_map(|entry| number(entry.ok()?.file_name().to_str()?)).collect();
        numbers.into_iter().filter_map(|device| self.info(device).ok()).collect()
    }

    fn command(&mut self, op: u32, device: u32, data: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.ring.command(&self.file, op, device, data, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &Path) -> String {
        Control::at(path).err().unwrap().to_string()
    }

    #[test]
    fn what_is_missing_is_said_with_the_remedy() {
        let folder = std::env::temp_dir().join(format!("imbrex-ublk-{}", std::process::id()));
        assert_eq!(
            refused(&folder.join("control")),
            format!(
                "ublk is missing: there is no {}; load the kernel's module with `modprobe ublk_drv`",
                folder.join("control").display()
            )
        );
        // It takes commands of io_uring's, and knows nothing of devices.
        let other = refused(Path::new("/dev/null"));
        assert!(other.ends_with(OLD) || other.contains("io_uring"), "{other}");
        assert!(Unusable::NotAllowed("x".to_owned()).to_string().ends_with("run this as root"));
        let old = Unusable::TooOld { features: 0x40 }.to_string();
        assert_eq!(
            old,
            "ublk of this kernel lacks what is needed (features 0x40 of 0xd8); Linux 6.5 and later has what is needed"
        );
    }
}
