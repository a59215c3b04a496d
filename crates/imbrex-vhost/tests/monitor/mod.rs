//! A monitor that is played: it shares a guest's memory, with one queue in it, with the server.

use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{Ordering, fence};

use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap};
use vmm_sys_util::epoll::{ControlOperation, Epoll, EpollEvent, EventSet};
use vmm_sys_util::eventfd::EventFd;

/// Where the monitor has the guest's memory.
const AT: u64 = 1 << 40;

/// The queue's length, and where its parts lie in the guest's memory.
pub struct Layout {
    pub queue: u16,
    pub descriptors: u64,
    pub available: u64,
    pub used: u64,
}

/// A monitor that is connected, and has handed the queue over.
pub struct Connection {
    #[allow(dead_code, reason = "not every program that plays one asks it")]
    pub frontend: Frontend,
    pub memory: GuestMemoryMmap,
    pub kick: EventFd,
    pub call: EventFd,
}

impl Connection {
    /// For a guest of `bytes` bytes of memory, which has asked for so many things before.
    pub fn new(socket: &Path, bytes: u64, layout: &Layout, asked: u16) -> Self {
        let file = tempfile::tempfile().unwrap();
        file.set_len(bytes).unwrap();
        let region = (GuestAddress(0), bytes as usize, Some(FileOffset::new(file.try_clone().unwrap(), 0)));
        let memory = GuestMemoryMmap::from_ranges_with_files([region]).unwrap();
        // The server looks at the queue as soon as it is enabled: so many were asked for, and answered.
        memory.write_obj(asked, GuestAddress(layout.available + 2)).unwrap();
        memory.write_obj(asked, GuestAddress(layout.used + 2)).unwrap();
        let mut frontend = Frontend::connect(socket, 2).unwrap();
        frontend.set_owner().unwrap();
        let features = frontend.get_features().unwrap();
        // Without indices of events, which would be one more thing to play.
        frontend.set_features(features & !(1 << 29)).unwrap();
        assert_ne!(features & VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits(), 0);
        let protocol = frontend.get_protocol_features().unwrap();
        frontend.set_protocol_features(protocol & !VhostUserProtocolFeatures::REPLY_ACK).unwrap();
        let region = VhostUserMemoryRegionInfo {
            guest_phys_addr: 0,
            memory_size: bytes,
            userspace_addr: AT,
            mmap_offset: 0,
            mmap_handle: file.as_raw_fd(),
        };
        frontend.set_mem_table(&[region]).unwrap();
        let (kick, call) = (EventFd::new(0).unwrap(), EventFd::new(0).unwrap());
        // The second queue, since the first is what anything works with.
        let number = (frontend.get_queue_num().unwrap() > 1).into();
        let queue = VringConfigData {
            queue_max_size: layout.queue,
            queue_size: layout.queue,
            flags: 0,
            desc_table_addr: AT + layout.descriptors,
            used_ring_addr: AT + layout.used,
            avail_ring_addr: AT + layout.available,
            log_addr: None,
        };
        frontend.set_vring_num(number, layout.queue).unwrap();
        frontend.set_vring_addr(number, &queue).unwrap();
        frontend.set_vring_base(number, asked).unwrap();
        frontend.set_vring_call(number, &call).unwrap();
        frontend.set_vring_kick(number, &kick).unwrap();
        frontend.set_vring_enable(number, true).unwrap();
        Self { frontend, memory, kick, call }
    }
}

/// A queue with room for many requests at a time, each in a slot of its own.
pub struct Ring {
    connection: Connection,
    layout: Layout,
    /// Bytes of the longest content.
    content: u64,
    epoll: Epoll,
    asked: u16,
    seen: u16,
}

/// Descriptors of a slot: a header, content, and room for a status.
const PIECES: u16 = 3;
/// Descriptors of the longest queue.
const MOST: u16 = 256;
/// Where headers lie, and how far one lies from the next. A status lies behind its header.
const HEADERS: u64 = 0x10_000;
const HEADER: u64 = 32;
/// Where content lies.
const CONTENT: u64 = 0x100_000;
/// Flags of a descriptor: another one follows; it is for the answer.
const NEXT: u16 = 1;
const WRITABLE: u16 = 2;
/// A request to write.
const WRITE: u64 = 1;
/// No machine is so busy that an answer takes as long.
const LIMIT_MS: i32 = 600_000;

impl Ring {
    /// With so many slots, for content of so many bytes.
    pub fn new(socket: &Path, slots: u16, content: usize) -> Self {
        let queue = (slots * PIECES).next_power_of_two();
        assert!(queue <= MOST, "{slots} slots are too many for a queue");
        let layout = Layout { queue, descriptors: 0, available: 0x4000, used: 0x8000 };
        let bytes = CONTENT + u64::from(slots) * content as u64;
        let connection = Connection::new(socket, bytes, &layout, 0);
        let epoll = Epoll::new().unwrap();
        let call = EpollEvent::new(EventSet::IN, 0);
        epoll.ctl(ControlOperation::Add, connection.call.as_raw_fd(), call).unwrap();
        Self { connection, layout, content: content as u64, epoll, asked: 0, seen: 0 }
    }

    fn put<T: vm_memory::ByteValued>(&self, value: T, at: u64) {
        self.connection.memory.write_obj(value, GuestAddress(at)).unwrap();
    }

    fn get<T: vm_memory::ByteValued>(&self, at: u64) -> T {
        self.connection.memory.read_obj(GuestAddress(at)).unwrap()
    }

    /// Makes a slot's request a write from a sector on.
    pub fn write(&self, slot: u16, sector: u64, content: &[u8]) {
        let (header, data) = (HEADERS + u64::from(slot) * HEADER, CONTENT + u64::from(slot) * self.content);
        self.put(WRITE, header);
        self.put(sector, header + 8);
        self.put(0xff_u8, header + 16);
        self.connection.memory.write_slice(content, GuestAddress(data)).unwrap();
        let pieces = [(header, 16, NEXT), (data, content.len() as u32, NEXT), (header + 16, 1, WRITABLE)];
        for (number, (address, len, flags)) in (slot * PIECES..).zip(pieces) {
            let at = self.layout.descriptors + u64::from(number) * 16;
            self.put(address, at);
            self.put(len, at + 8);
            self.put(flags, at + 12);
            self.put(number + 1, at + 14);
        }
    }

    /// Asks for what is in slots.
    pub fn push(&mut self, slots: &[u16]) {
        for slot in slots {
            self.put(slot * PIECES, self.layout.available + 4 + u64::from(self.asked % self.layout.queue) * 2);
            self.asked = self.asked.wrapping_add(1);
        }
        fence(Ordering::SeqCst);
        self.put(self.asked, self.layout.available + 2);
        fence(Ordering::SeqCst);
        // The server says whether it looks by itself.
        if self.get::<u16>(self.layout.used) & 1 == 0 {
            self.connection.kick.write(1).unwrap();
        }
    }

    /// Adds the slots whose requests have ended since the last look.
    pub fn ended(&mut self, slots: &mut Vec<u16>) {
        let used: u16 = self.get(self.layout.used + 2);
        fence(Ordering::SeqCst);
        while self.seen != used {
            let at = self.layout.used + 4 + u64::from(self.seen % self.layout.queue) * 8;
            slots.push(self.get::<u32>(at) as u16 / PIECES);
            self.seen = self.seen.wrapping_add(1);
        }
    }

    /// How a slot's request ended.
    pub fn status(&self, slot: u16) -> u8 {
        self.get(HEADERS + u64::from(slot) * HEADER + 16)
    }

    /// Waits for the interrupt that says that something has ended.
    pub fn wait(&self) {
        let mut came = [EpollEvent::default()];
        assert_eq!(self.epoll.wait(LIMIT_MS, &mut came).unwrap(), 1, "no answer came");
        self.connection.call.read().unwrap();
    }
}
