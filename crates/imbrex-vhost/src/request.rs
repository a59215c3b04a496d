//! What a guest asks for, and what it is answered. A request is a chain of descriptors in the guest's memory: a header
//! and what is to be written, and then room for what is read and for a status.

use std::cell::RefCell;
use std::io::{self, Read, Write};

use imbrex_live::service::{Client, Content, Request, Service, What};
use virtio_queue::{DescriptorChain, Reader, Writer};
use vm_memory::{Address as _, Bytes as _, GuestMemoryLoadGuard, GuestMemoryMmap};

use crate::virtio::{self, ID_BYTES, SECTOR_BYTES};

/// A request in the guest's memory, which stays where it is until it is answered.
pub type Chain = DescriptorChain<GuestMemoryLoadGuard<GuestMemoryMmap>>;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 16;

/// What is asked for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Asked {
    Of(Request),
    /// The device's name.
    Name,
    /// What no volume does.
    Unknown,
}

/// Has a request answered, and says how many bytes of its room were used; nothing where it has no room for a status.
/// `buffer` is for what is read.
pub fn answer(chain: &Chain, client: &Client, buffer: &mut Vec<u8>) -> Option<u32> {
    let memory = chain.memory();
    let mut reader = chain.clone().reader(memory).ok()?;
    let mut writer = chain.clone().writer(memory).ok()?;
    let room = writer.available_bytes().checked_sub(1)?;
    let mut status_at = writer.split_at(room).ok()?;
    let status = match asked(&mut reader, room as u64) {
        // A guest has been told that it may only read.
        Ok(Asked::Of(request)) if client.service().read_only() && changes(request) => virtio::IOERR,
        Ok(Asked::Of(request)) => {
            let content = InGuest { chain, writer: RefCell::new(&mut writer) };
            match request.answer(client, &content, buffer) {
                Ok(()) => virtio::OK,
                Err(_) => virtio::IOERR,
            }
        }
        Ok(Asked::Name) => {
            let name = name(client.service());
            writer.write_all(&name[..ID_BYTES.min(room)]).map_or(virtio::IOERR, |()| virtio::OK)
        }
        Ok(Asked::Unknown) => virtio::UNSUPP,
        Err(_) => virtio::IOERR,
    };
    status_at.write_all(&[status]).ok()?;
    Some(writer.bytes_written() as u32 + 1)
}

/// What a guest sees a volume called.
fn name(service: &Service) -> [u8; ID_BYTES] {
    let mut name = [0; ID_BYTES];
    let text = format!("{:016x}", service.identity());
    name[..text.len()].copy_from_slice(text.as_bytes());
    name
}

fn changes(request: Request) -> bool {
    matches!(request.what, What::Write | What::Trim | What::Zero)
}

/// Reads what is asked for; `room` bytes can be read into.
fn asked(reader: &mut impl Readable, room: u64) -> io::Result<Asked> {
    let [kind, _, low, high] = words(reader)?;
    let offset = sectors(u64::from(high) << 32 | u64::from(low))?;
    let of = |what, offset, len| Ok(Asked::Of(Request { what, offset, len, durably: false }));
    match kind {
        virtio::IN => of(What::Read, offset, content(room)?),
        virtio::OUT => of(What::Write, offset, content(reader.left() as u64)?),
        virtio::FLUSH => of(What::Flush, 0, 0),
        virtio::GET_ID => Ok(Asked::Name),
        virtio::DISCARD | virtio::WRITE_ZEROES => {
            let [low, high, count, flags] = words(reader)?;
            let offset = sectors(u64::from(high) << 32 | u64::from(low))?;
            let len = u64::from(count) * SECTOR_BYTES;
            // Zeros may be had by a trim, if a guest says so; a discard has no such word.
            let (what, most, known) = match kind {
                virtio::DISCARD => (What::Trim, virtio::DISCARD_BYTES, 0),
                _ => (What::Zero, virtio::ZEROES_BYTES, 1),
            };
            match () {
                () if flags & !known != 0 => Ok(Asked::Unknown),
                () if len > most || reader.left() > 0 => Err(io::ErrorKind::InvalidInput.into()),
                () => of(what, offset, len),
            }
        }
        _ => Ok(Asked::Unknown),
    }
}

/// The write that a header asks for, with content of so many bytes behind it, if it asks for one.
pub fn write(header: &[u8], content: u64) -> Option<Request> {
    struct Behind<'a>(&'a [u8], u64);
    impl Read for Behind<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0.read(into)
        }
    }
    impl Readable for Behind<'_> {
        fn left(&self) -> usize {
            self.1 as usize
        }
    }
    match asked(&mut Behind(header, content), 0) {
        Ok(Asked::Of(request)) if request.what == What::Write => Some(request),
        _ => None,
    }
}

/// Four numbers of 32 bits.
fn words(reader: &mut impl Read) -> io::Result<[u32; 4]> {
    let mut bytes = [0; 16];
    reader.read_exact(&mut bytes)?;
    Ok(std::array::from_fn(|at| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[at * 4 + byte]))))
}

fn sectors(number: u64) -> io::Result<u64> {
    number.checked_mul(SECTOR_BYTES).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// The length of content, which is whole sectors and no longer than a guest was told.
fn content(bytes: u64) -> io::Result<u64> {
    let is_good = bytes.is_multiple_of(SECTOR_BYTES) && bytes <= virtio::REQUEST_BYTES;
    is_good.then_some(bytes).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Something of which it is known how much is left to read.
trait Readable: Read {
    fn left(&self) -> usize;
}

impl Readable for Reader<'_> {
    fn left(&self) -> usize {
        self.available_bytes()
    }
}

/// The content of a request, in the guest's memory.
struct InGuest<'a, 'm> {
    chain: &'a Chain,
    writer: RefCell<&'a mut Writer<'m>>,
}

impl Content for InGuest<'_, '_> {
    fn fetch(&self, len: usize) -> io::Result<Vec<u8>> {
        // The library's reader would have all of it filled with zeros first.
        let mut content = Vec::with_capacity(len);
        let mut header = HEADER_BYTES;
        for descriptor in self.chain.clone().readable() {
            let skipped = header.min(descriptor.len() as usize);
            header -= skipped;
            let at = descriptor.addr().checked_add(skipped as u64).ok_or(io::ErrorKind::InvalidInput)?;
            let piece = (descriptor.len() as usize - skipped).min(len - content.len());
            self.chain.memory().write_all_volatile_to(at, &mut content, piece).map_err(io::Error::other)?;
        }
        // A guest may have changed the chain since its length was read.
        (content.len() == len).then_some(content).ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    fn hand_over(&self, content: &[u8]) -> io::Result<()> {
        self.writer.borrow_mut().write_all(content)
    }
}

#[cfg(test)]
mod tests {
    use virtio_queue::desc::{RawDescriptor, split::Descriptor};
    use virtio_queue::mock::MockSplitQueue;
    use virtio_queue::{Queue, QueueT};
    use vm_memory::{GuestAddress, GuestAddressSpace, GuestMemoryAtomic};

    use super::*;

    impl Readable for &[u8] {
        fn left(&self) -> usize {
            self.len()
        }
    }

    fn bytes(kind: u32, sector: u64, rest: &[u8]) -> Vec<u8> {
        [&kind.to_le_bytes()[..], &[0; 4], &sector.to_le_bytes(), rest].concat()
    }

    fn of(kind: u32, sector: u64, rest: &[u8], room: u64) -> io::Result<Asked> {
        asked(&mut bytes(kind, sector, rest).as_slice(), room)
    }

    fn segment(sector: u64, count: u32, flags: u32) -> Vec<u8> {
        [&sector.to_le_bytes()[..], &count.to_le_bytes(), &flags.to_le_bytes()].concat()
    }

    #[test]
    fn chains_become_requests() {
        let request = |what, offset, len| Asked::Of(Request { what, offset, len, durably: false });
        assert_eq!(of(0, 8, &[], 4096).unwrap(), request(What::Read, 4096, 4096));
        assert_eq!(of(1, 1 << 33, &[0; 512], 0).unwrap(), request(What::Write, 1 << 42, 512));
        assert_eq!(of(4, u64::MAX >> 9, &[], 0).unwrap(), request(What::Flush, 0, 0));
        assert_eq!(of(8, 0, &[], 20).unwrap(), Asked::Name);
        assert_eq!(of(11, 0, &segment(16, 8, 0), 0).unwrap(), request(What::Trim, 8192, 4096));
        assert_eq!(of(13, 0, &segment(1, 1, 1), 0).unwrap(), request(What::Zero, 512, 512));
        assert_eq!(of(13, 0, &segment(1, 1, 2), 0).unwrap(), Asked::Unknown, "a flag that is none");
        assert_eq!(of(11, 0, &segment(1, 1, 1), 0).unwrap(), Asked::Unknown);
        assert_eq!(of(99, 0, &[], 0).unwrap(), Asked::Unknown);
    }

    /// What is fetched as so many bytes of a chain of these descriptors: addresses and lengths, in a page of memory that
    /// holds the low byte of its address everywhere.
    fn fetched(descriptors: &[(u64, u32)], len: usize) -> io::Result<Vec<u8>> {
        const MEMORY: u64 = 1 << 16;
        let whole = GuestMemoryMmap::<()>::from_ranges(&[(GuestAddress(0), MEMORY as usize)]).unwrap();
        let (memory, queues) = (GuestMemoryAtomic::new(whole), GuestAddress(MEMORY / 2));
        let guard = memory.memory();
        guard.write_slice(&(0..=255).cycle().take(4096).collect::<Vec<u8>>(), GuestAddress(0)).unwrap();
        let raw = |(number, (at, len)): (usize, &(u64, u32))| {
            let has_next = u16::from(number + 1 < descriptors.len());
            RawDescriptor::from(Descriptor::new(*at, *len, has_next, number as u16 + 1))
        };
        let mock = MockSplitQueue::create(&*guard, queues, 16);
        mock.add_desc_chains(&descriptors.iter().enumerate().map(raw).collect::<Vec<_>>(), 0).unwrap();
        let chain = mock.create_queue::<Queue>().unwrap().pop_descriptor_chain(memory.memory()).unwrap();
        let mut writer = chain.clone().writer(chain.memory()).unwrap();
        InGuest { chain: &chain, writer: RefCell::new(&mut writer) }.fetch(len)
    }

    #[test]
    fn content_is_what_lies_behind_the_header_in_whatever_pieces() {
        let alone = fetched(&[(0, 16), (100, 3), (200, 2)], 5).unwrap();
        assert_eq!(alone, [100, 101, 102, 200, 201]);
        assert_eq!(
            fetched(&[(0, 10), (20, 8), (40, 3)], 5).unwrap(),
            [26, 27, 40, 41, 42],
            "the header is in two pieces"
        );
        assert_eq!(fetched(&[(0, 18)], 2).unwrap(), [16, 17]);
    }

    #[test]
    fn a_chain_that_a_guest_has_changed_is_refused() {
        assert!(fetched(&[(0, 16), (100, 3)], 5).is_err(), "shorter than it was");
        assert_eq!(fetched(&[(0, 16), (100, 5000)], 2).unwrap(), [100, 101], "longer: no more than it was is read");
        assert!(fetched(&[(0, 16), (1 << 20, 5)], 5).is_err(), "outside of the memory");
        assert!(fetched(&[(u64::MAX - 3, 16), (100, 5)], 5).is_err(), "beyond all addresses");
    }

    #[test]
    fn what_a_guest_must_not_ask_is_refused() {
        assert!(of(0, 0, &[], 100).is_err(), "no whole sectors");
        assert!(of(0, 0, &[], virtio::REQUEST_BYTES + 512).is_err(), "longer than it was told");
        assert!(of(0, u64::MAX, &[], 512).is_err(), "further than there are bytes");
        assert!(asked(&mut &[0_u8; 15][..], 512).is_err(), "no whole header");
        assert!(of(11, 0, &segment(0, u32::MAX, 0), 0).is_err());
        assert!(of(11, 0, &segment(0, 8, 0).repeat(2), 0).is_err(), "one segment at a time");
        assert!(of(13, 0, &[0; 8], 0).is_err());
    }
}
