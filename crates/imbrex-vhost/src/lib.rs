//! A volume as a disk of virtual machines: a monitor such as QEMU or cloud-hypervisor connects to a socket, shares its
//! guest's memory, and the guest's requests are answered from there, without a network protocol (virtio 1.2, §5.2, by
//! vhost-user).
//!
//! | module | what it holds |
//! |---|---|
//! | `virtio` | the numbers of virtio's block devices, and what a guest is told of a volume |
//! | `request` | what a guest asks for, and what it is answered |
//! | `device` | a volume as the library for vhost-user wants it |
//! | `server` | the socket, and one monitor after the other |
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod device;
mod request;
mod server;
mod short;
mod virtio;

pub use server::{Options, Server};
