//! A volume served to a guest that is played here: its memory, one of its queues, and the requests in it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod monitor;

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use imbrex::drive::DrivePreset;
use imbrex::layers;
use imbrex_live::service::{Service, ServiceOptions};
use imbrex_live::store_path;
use imbrex_live::volume::{FormatOptions, format};
use imbrex_vhost::{Options, Server};
use monitor::{Connection, Layout, Ring};
use tempfile::TempDir;
use vhost::VhostBackend;
use vhost::vhost_user::message::VhostUserConfigFlags;
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};
use vmm_sys_util::epoll::{ControlOperation, Epoll, EpollEvent, EventSet};
use vmm_sys_util::eventfd::EventFd;

/// The guest's memory: a queue's descriptors, what is in it, what was answered, and room for a request.
const MEMORY: u64 = 4 << 20;
const QUEUE: u16 = 16;
const DESCRIPTORS: u64 = 0;
const AVAILABLE: u64 = 0x1000;
const USED: u64 = 0x2000;
const HEADER: u64 = 0x3000;
const STATUS: u64 = 0x3100;
const OUT: u64 = 0x10_0000;
const ROOM: u64 = 0x20_0000;
/// No machine is so busy that an answer takes as long: without it, a server that never answers would hold up all tests.
const LIMIT_MS: i32 = 600_000;

/// Flags of a descriptor.
const NEXT: u16 = 1;
const WRITABLE: u16 = 2;
/// Types of requests.
const READ: u32 = 0;
const WRITE: u32 = 1;
const FLUSH: u32 = 4;
const NAME: u32 = 8;
const DISCARD: u32 = 11;
const ZEROES: u32 = 13;

fn formatted(path: &Path) {
    let drive = DrivePreset::named("small-zoned").unwrap().with_capacity(64 << 20).unwrap();
    let mut prepared = store_path::prepare(path, Some(&drive), false).unwrap();
    let (layer, config) = (layers::find("log-greedy").unwrap(), toml::Table::new());
    prepared.make().unwrap();
    let options = FormatOptions { layer, config: &config, buffer: None, journal_blocks: None, map_memory: None };
    format(vec![prepared.store()], &options).unwrap();
    prepared.keep();
}

fn service(path: &Path, read_only: bool) -> Arc<Service> {
    let mut options = ServiceOptions::default();
    options.set("store", path.to_str().unwrap()).unwrap();
    options.set("readonly", &read_only.to_string()).unwrap();
    Arc::new(Service::start(&options).unwrap())
}

fn served(socket: &Path, service: &Arc<Service>) -> Server {
    let options = Options { queues: 2, threads: 3 };
    Server::serve(UnixListener::bind(socket).unwrap(), service, options).unwrap()
}

/// A new volume that is served.
struct Disk {
    socket: PathBuf,
    volume: Arc<Service>,
    server: Server,
    _folder: TempDir,
}

impl Disk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (image, socket) = (folder.path().join("disk.img"), folder.path().join("disk.sock"));
        formatted(&image);
        let volume = service(&image, false);
        let server = served(&socket, &volume);
        Self { socket, volume, server, _folder: folder }
    }

    fn end(self) {
        self.server.end();
        self.volume.stop().unwrap();
    }
}

/// A guest and its monitor.
struct Guest {
    frontend: Frontend,
    memory: GuestMemoryMmap,
    kick: EventFd,
    call: EventFd,
    asked: u16,
}

impl Guest {
    fn connected(socket: &Path) -> Self {
        Self::going_on(socket, 0)
    }

    /// One that has asked for something of an earlier server.
    fn going_on(socket: &Path, asked: u16) -> Self {
        let layout = Layout { queue: QUEUE, descriptors: DESCRIPTORS, available: AVAILABLE, used: USED };
        let Connection { frontend, memory, kick, call } = Connection::new(socket, MEMORY, &layout, asked);
        Self { frontend, memory, kick, call, asked }
    }

    fn put<T: vm_memory::ByteValued>(&self, value: T, at: u64) {
        self.memory.write_obj(value, GuestAddress(at)).unwrap();
    }

    /// Waits for the interrupt that says that there is an answer.
    fn wait(&self) {
        let (epoll, mut came) = (Epoll::new().unwrap(), [EpollEvent::default()]);
        epoll.ctl(ControlOperation::Add, self.call.as_raw_fd(), EpollEvent::new(EventSet::IN, 0)).unwrap();
        assert_eq!(epoll.wait(LIMIT_MS, &mut came).unwrap(), 1, "no answer came");
        self.call.read().unwrap();
    }

    /// Asks for something, and waits for the status and what was read.
    fn ask(&mut self, kind: u32, sector: u64, out: &[u8], room: u32) -> (u8, Vec<u8>) {
        let pieces = [(HEADER, 16, 0), (OUT, out.len() as u32, 0), (ROOM, room, WRITABLE), (STATUS, 1, WRITABLE)];
        let pieces: Vec<_> = pieces.into_iter().filter(|(_, len, _)| *len > 0).collect();
        let status = self.ask_in(kind, sector, out, &pieces);
        let mut read = vec![0; room as usize];
        self.memory.read_slice(&mut read, GuestAddress(ROOM)).unwrap();
        (status, read)
    }

    /// Asks for something in pieces of memory, by their addresses, lengths and flags. The status.
    fn ask_in(&mut self, kind: u32, sector: u64, out: &[u8], pieces: &[(u64, u32, u16)]) -> u8 {
        self.put(u64::from(kind), HEADER);
        self.put(sector, HEADER + 8);
        self.put(0xff_u8, STATUS);
        self.memory.write_slice(out, GuestAddress(OUT)).unwrap();
        for (number, (address, len, flags)) in (0_u16..).zip(pieces) {
            let at = DESCRIPTORS + u64::from(number) * 16;
            let more = if usize::from(number) + 1 < pieces.len() { NEXT } else { 0 };
            self.put(*address, at);
            self.put(*len, at + 8);
            self.put(flags | more, at + 12);
            self.put(number + 1, at + 14);
        }
        self.put(0_u16, AVAILABLE + 4 + u64::from(self.asked % QUEUE) * 2);
        self.asked += 1;
        self.put(self.asked, AVAILABLE + 2);
        self.kick.write(1).unwrap();
        self.wait();
        assert_eq!(self.memory.read_obj::<u16>(GuestAddress(USED + 2)).unwrap(), self.asked);
        self.memory.read_obj(GuestAddress(STATUS)).unwrap()
    }
}

fn segment(sector: u64, sectors: u32) -> Vec<u8> {
    [&sector.to_le_bytes()[..], &sectors.to_le_bytes(), &[0; 4]].concat()
}

#[test]
fn a_guest_finds_what_it_wrote_and_so_does_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let (image, socket) = (folder.path().join("disk.img"), folder.path().join("disk.sock"));
    formatted(&image);
    let volume = service(&image, false);
    let server = served(&socket, &volume);
    let mut guest = Guest::connected(&socket);
    let (_, told) = guest.frontend.get_config(0, 60, VhostUserConfigFlags::empty(), &[0; 60]).unwrap();
    assert_eq!(u64::from_le_bytes(told[..8].try_into().unwrap()), volume.bytes() / 512);
    let content: Vec<u8> = (0..=u8::MAX).cycle().take(256 << 10).collect();
    assert_eq!(guest.ask(WRITE, 7, &content, 0).0, 0);
    assert_eq!(guest.ask(READ, 7, &[], 256 << 10), (0, content.clone()));
    assert_eq!(guest.ask(FLUSH, 0, &[], 0).0, 0);
    let (status, name) = guest.ask(NAME, 0, &[], 20);
    assert_eq!((status, name.as_slice()), (0, format!("{:016x}\0\0\0\0", volume.identity()).as_bytes()));
    assert_eq!(guest.ask(ZEROES, 0, &segment(8, 8), 0).0, 0);
    assert_eq!(guest.ask(READ, 8, &[], 4096), (0, vec![0; 4096]));
    assert_eq!(guest.ask(DISCARD, 0, &segment(16, 8), 0).0, 0);
    assert_eq!(guest.ask(READ, 16, &[], 4096), (0, vec![0; 4096]));
    assert_eq!(guest.ask(99, 0, &[], 0).0, 2, "no guest may ask that");
    assert_eq!(guest.ask(READ, volume.bytes() / 512, &[], 512).0, 1, "beyond the end");
    assert_eq!(guest.ask(WRITE, 0, &[1; 100], 0).0, 1, "no whole sector");
    drop(guest);
    // The next one, and one that goes without a word.
    drop(std::os::unix::net::UnixStream::connect(&socket).unwrap());
    let mut next = Guest::connected(&socket);
    assert_eq!(next.ask(READ, 24, &[], 4096), (0, content[17 * 512..25 * 512].to_vec()));
    assert_eq!(next.frontend.get_vring_base(1).unwrap(), 1);
    server.end();
    volume.stop().unwrap();
    drop((next, volume));
    let volume = service(&image, true);
    let again = folder.path().join("again.sock");
    let server = served(&again, &volume);
    let mut reader = Guest::connected(&again);
    assert_eq!(reader.ask(READ, 24, &[], 512), (0, content[17 * 512..18 * 512].to_vec()), "after a restart");
    assert_eq!(reader.ask(WRITE, 24, &[0; 512], 0).0, 1, "it may only read");
    server.end();
}

#[test]
fn a_guest_that_had_another_server_is_told_that_something_may_be_lost() {
    let disk = Disk::new();
    drop(std::os::unix::net::UnixStream::connect(&disk.socket).unwrap());
    let mut guest = Guest::going_on(&disk.socket, 5);
    assert_eq!(guest.ask(WRITE, 0, &[1; 512], 0).0, 0);
    assert_eq!(guest.ask(FLUSH, 0, &[], 0).0, 1, "a killed server may have lost what it had answered");
    assert_eq!(guest.ask(FLUSH, 0, &[], 0).0, 0);
    drop(guest);
    // This server is the same.
    let mut guest = Guest::going_on(&disk.socket, 9);
    assert_eq!(guest.ask(FLUSH, 0, &[], 0).0, 0);
    drop(guest);
    disk.end();
}

#[test]
fn a_guest_whose_queue_is_nonsense_is_answered_once_it_is_mended() {
    const NONSENSE: u16 = 7;
    let disk = Disk::new();
    let mut guest = Guest::connected(&disk.socket);
    assert_eq!(guest.ask(WRITE, 0, &[1; 512], 0).0, 0);
    // More than a queue holds.
    guest.put(guest.asked + QUEUE + 1, AVAILABLE + 2);
    guest.put(NONSENSE, USED);
    guest.kick.write(1).unwrap();
    // The server says in the end that it wants to be told of more.
    while guest.memory.read_obj::<u16>(GuestAddress(USED)).unwrap() != 0 {
        std::thread::yield_now();
    }
    assert_eq!(guest.ask(READ, 0, &[], 512), (0, vec![1; 512]));
    drop(guest);
    disk.end();
}

#[test]
fn what_is_asked_for_at_once_is_done_as_if_it_came_alone() {
    const BLOCK: usize = 4096;
    let disk = Disk::new();
    let mut ring = Ring::new(&disk.socket, 80, BLOCK);
    // Whole blocks, the first of them twice; some beyond the end, and a part of a block.
    let beyond = disk.volume.bytes() / 512;
    let places = |slot: u16| if slot % 50 == 49 { beyond } else { u64::from(slot % 70) * 8 };
    let content = |slot: u16| vec![slot as u8 + 1; if slot == 60 { 512 } else { BLOCK }];
    let slots: Vec<u16> = (0..80).collect();
    slots.iter().for_each(|slot| ring.write(*slot, places(*slot), &content(*slot)));
    ring.push(&slots);
    let mut ended = Vec::new();
    while ended.len() < slots.len() {
        ring.wait();
        ring.ended(&mut ended);
    }
    ended.sort_unstable();
    assert_eq!(ended, slots, "each once");
    for slot in slots {
        assert_eq!(ring.status(slot), u8::from(places(slot) == beyond), "{slot}");
    }
    drop(ring);
    let mut guest = Guest::connected(&disk.socket);
    for slot in (0..70).filter(|slot| places(*slot) != beyond) {
        let (status, read) = guest.ask(READ, places(slot), &[], BLOCK as u32);
        // Two writes of a block that were under way at a time come in any order.
        let may_be = [Some(slot), (slot < 10).then_some(slot + 70)].into_iter().flatten();
        let written = |slot: u16| [content(slot), vec![0; BLOCK]].concat()[..BLOCK].to_vec();
        assert!(status == 0 && may_be.into_iter().any(|slot| read == written(slot)), "{slot}");
    }
    drop(guest);
    disk.end();
}

#[test]
fn a_piece_in_no_memory_harms_nobody() {
    let disk = Disk::new();
    let mut guest = Guest::connected(&disk.socket);
    // An empty one, before a block that is there, takes nothing away.
    for (len, is_written) in [(4096, false), (0, true)] {
        let pieces = [(HEADER, 16, 0), (MEMORY * 2, len, 0), (OUT, 4096, 0), (STATUS, 1, WRITABLE)];
        assert_eq!(guest.ask_in(WRITE, 0, &[1; 4096], &pieces) == 0, is_written);
        assert_eq!(guest.ask(READ, 0, &[], 4096), (0, vec![u8::from(is_written); 4096]), "it is served still");
    }
    drop(guest);
    disk.end();
}
