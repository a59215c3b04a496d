//! The rings that commands to the driver go through, and the memory in which it describes requests.
//!
//! No crate offers this without unsafe code of its user, so this is the one file with it.
#![allow(unsafe_code, reason = "entries of io_uring, and memory that the kernel shares")]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use io_uring::{IoUring, cqueue, opcode, squeue, types};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::abi::{self, DESCRIPTOR_BYTES};

/// Commands to the driver, one after the other.
pub struct CommandRing(IoUring<squeue::Entry128, cqueue::Entry>);

impl CommandRing {
    /// A ring.
    ///
    /// # Errors
    /// When this process may have none.
    pub fn new() -> io::Result<Self> {
        IoUring::builder().build(1).map(Self)
    }

    /// Has the driver behind `file` carry a command out for a device. It reads and writes `buffer`.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn command(&mut self, file: &File, op: u32, device: u32, data: u64, buffer: &mut [u8]) -> io::Result<()> {
        let address = if buffer.is_empty() { 0 } else { buffer.as_mut_ptr().expose_provenance() as u64 };
        let len = u16::try_from(buffer.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let command = abi::command(device, data, address, len);
        let entry = opcode::UringCmd80::new(types::Fd(file.as_raw_fd()), op).cmd(command).build();
        // SAFETY: the driver uses `file` and the `len` bytes at `address` until it has answered. Both are borrowed for
        // as long as this function runs, which does not return before, unless the entry was not submitted.
        unsafe { self.0.submission().push(&entry) }.map_err(io::Error::other)?;
        loop {
            match self.0.submit_and_wait(1) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            if let Some(answer) = self.0.completion().next() {
                return match answer.result() {
                    0.. => Ok(()),
                    error => Err(io::Error::from_raw_os_error(-error)),
                };
            }
        }
    }
}

/// What a queue's ring says.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// There is a request under that tag.
    Request(u16),
    /// No more requests come under that tag.
    Ended(u16),
    /// The queue was woken.
    Woken,
}

/// What stands for being woken where a tag would.
const WAKE: u64 = u64::MAX;

/// A queue's requests and results.
pub struct QueueRing {
    ring: IoUring,
    queue: u16,
}

impl QueueRing {
    /// The ring of a queue of `depth` tags.
    ///
    /// # Errors
    /// When there can be none.
    pub fn new(queue: u16, depth: u16) -> io::Result<Self> {
        let entries = u32::from(depth) + 1;
        let ring = IoUring::builder().setup_cqsize(2 * entries).build(entries)?;
        Ok(Self { ring, queue })
    }

    /// Asks for the first request under a tag.
    pub fn fetch(&mut self, device: &File, tag: u16) -> io::Result<()> {
        self.exchange(device, abi::FETCH, tag, 0)
    }

    /// Hands a request's result over, and asks for the next one under its tag.
    pub fn commit(&mut self, device: &File, tag: u16, result: i32) -> io::Result<()> {
        self.exchange(device, abi::COMMIT_AND_FETCH, tag, result)
    }

    fn exchange(&mut self, device: &File, op: u32, tag: u16, result: i32) -> io::Result<()> {
        let entry = opcode::UringCmd16::new(types::Fd(device.as_raw_fd()), op);
        self.push(&entry.cmd(abi::exchange(self.queue, tag, result)).build().user_data(tag.into()))
    }

    /// Asks to be woken when something is written to an event counter, until it says so.
    pub fn wake_by(&mut self, counter: &impl AsRawFd) -> io::Result<()> {
        let entry = opcode::PollAdd::new(types::Fd(counter.as_raw_fd()), rustix::event::PollFlags::IN.bits().into());
        self.push(&entry.build().user_data(WAKE))
    }

    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the entry names no memory, and the kernel holds the file behind its descriptor.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.ring.submit()?;
        }
        Ok(())
    }

    /// Submits what was asked for and waits until there is something to say.
    pub fn wait(&mut self, events: &mut Vec<Event>) -> io::Result<()> {
        match self.ring.submit_and_wait(1) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let event = |answer: cqueue::Entry| match (answer.user_data(), answer.result()) {
            (WAKE, _) => Event::Woken,
            (tag, 0) => Event::Request(tag as u16),
            (tag, _) => Event::Ended(tag as u16),
        };
        events.extend(self.ring.completion().map(event));
        Ok(())
    }
}

/// The descriptors of a queue's requests.
pub struct Descriptors {
    at: *const u8,
    bytes: usize,
}

/// A request as the driver describes it.
#[repr(C)]
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// What is to be done in the lowest 8 bits, flags in the others.
    pub op_flags: u32,
    /// How much, in sectors of 512 bytes.
    pub sectors: u32,
    /// From which sector on.
    pub start: u64,
    /// Not used where content is copied.
    pub address: u64,
}

const _: () = assert!(size_of::<Descriptor>() == DESCRIPTOR_BYTES);

impl Descriptors {
    /// Maps the descriptors of a queue.
    ///
    /// # Errors
    /// When the driver does not share them.
    pub fn of(device: &impl AsFd, queue: u16, depth: u16) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let bytes = (usize::from(depth) * DESCRIPTOR_BYTES).next_multiple_of(page);
        // SAFETY: a new mapping at a place of the kernel's choice; nothing else is there.
        let at = unsafe {
            mmap(ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, device, abi::descriptors_at(queue))
        }?;
        Ok(Self { at: at.cast(), bytes })
    }

    /// The descriptor of the request under a tag.
    pub fn get(&self, tag: u16) -> Descriptor {
        let at = usize::from(tag) * DESCRIPTOR_BYTES;
        assert!(at + DESCRIPTOR_BYTES <= self.bytes);
        // SAFETY: it lies within the mapping, aligned as 24 is a multiple of 8, and any bytes are one. The driver
        // changes it only while there is no request under the tag, and the read is volatile.
        unsafe { self.at.add(at).cast::<Descriptor>().read_volatile() }
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's own, and nothing refers to it.
        let unmapped = unsafe { munmap(self.at.cast_mut().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok());
    }
}
