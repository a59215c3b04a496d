//! A volume as a block device of Linux, `/dev/ublkbN`, without a network protocol: the driver ublk hands requests over
//! by io_uring, and the engine answers them.
//!
//! | module | what it holds |
//! |---|---|
//! | `abi` | the driver's numbers and structures, as bytes |
//! | `ring` | the rings that commands go through, and the memory that descriptors lie in |
//! | `control` | the driver's commands, and why it cannot be used |
//! | `limits` | what the kernel is told of the device: sizes of blocks and requests |
//! | `request` | what is asked for, and what is answered |
//! | `results` | what was answered, on its way to the queue |
//! | `pool` | the threads that answer requests |
//! | `queue` | a queue of the device: requests to threads, results back |
//! | `device` | a device: made or taken over, and ended |
#![cfg(target_os = "linux")]
#![deny(unsafe_code)]

mod abi;
mod control;
mod device;
mod limits;
mod pool;
mod queue;
mod request;
mod results;
mod ring;

pub use control::{Control, Unusable};
pub use device::{Device, DeviceError, DeviceOptions, End};
pub use limits::Sector;
