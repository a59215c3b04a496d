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
//!
//! Content is copied by the server (`UBLK_F_USER_COPY`, Linux 6.5). Where the kernel can hand a request's pages to operations
//! of the queue's ring instead (zero copy, buffers that are registered automatically), they never come into the server's
//! memory. There the engine needs them: it writes for several requests together, keeps blocks in RAM, has images in its
//! journal, computes checksums, and puts parts of blocks into others.
//!
//! The driver's numbers are written down here. The library `libublk` has bindgen make them whenever it is compiled, which
//! takes libclang and the kernel's headers besides a Rust toolchain, and it answers in tasks of the queue's thread, while
//! what is asked of a volume may wait.
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
