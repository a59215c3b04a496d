//! Short writes, which are many. They are read without what the library does for chains of any shape: a driver lays them
//! out as a header, pieces of content, and a byte for the status, each in descriptors of its own. A chain of another
//! shape is for [`crate::request`].

use imbrex_live::service::{Client, Request};
use vm_memory::{Bytes as _, GuestAddress, GuestMemory, Permissions};

use crate::request::{self, Chain, HEADER_BYTES};
use crate::virtio;

type Pieces = Vec<(GuestAddress, usize)>;

/// A write of a client's batch, in the guest's memory.
pub struct ShortWrite {
    chain: Chain,
    /// Where it goes.
    pub offset: u64,
    /// Where its content lies, and how much of it in each place.
    pieces: Pieces,
    status: GuestAddress,
}

impl ShortWrite {
    /// The write that a chain is, if it can be one of a batch; or else the chain.
    pub fn of(chain: Chain, client: &Client) -> Result<Self, Chain> {
        match Self::parts(&chain, client) {
            Some((offset, pieces, status)) => Ok(Self { chain, offset, pieces, status }),
            None => Err(chain),
        }
    }

    fn parts(chain: &Chain, client: &Client) -> Option<(u64, Pieces, GuestAddress)> {
        let memory = chain.memory();
        let mut descriptors = chain.clone();
        let first = descriptors.next()?;
        if first.len() as usize != HEADER_BYTES || first.is_write_only() {
            return None;
        }
        let mut header = [0; HEADER_BYTES];
        memory.read_slice(&mut header, first.addr()).ok()?;
        let (mut pieces, mut len) = (Vec::new(), 0);
        let status = loop {
            let next = descriptors.next()?;
            if next.is_write_only() {
                break next;
            }
            if !memory.check_range(next.addr(), next.len() as usize, Permissions::Read) {
                return None;
            }
            pieces.push((next.addr(), next.len() as usize));
            len += u64::from(next.len());
        };
        if status.len() != 1 || status.has_next() {
            return None;
        }
        let Request { offset, .. } = request::write(&header, len).filter(|write| write.may_be_in_batch(client))?;
        Some((offset, pieces, status.addr()))
    }

    /// Bytes of its content.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(|(_, len)| len).sum()
    }

    /// Adds its content to others.
    pub fn fetch(&self, into: &mut Vec<u8>) {
        for (at, len) in &self.pieces {
            let read = self.chain.memory().write_all_volatile_to(*at, into, *len);
            read.unwrap_or_else(|e| unreachable!("this memory was there, and stays while it is held: {e}"));
        }
    }

    /// Says how it ended: the room of the answer that was used, for [`crate::device`]; nothing if there is none.
    pub fn end(&self, is_done: bool) -> (u16, Option<u32>) {
        let status = if is_done { virtio::OK } else { virtio::IOERR };
        (self.chain.head_index(), self.chain.memory().write_obj(status, self.status).ok().map(|()| 1))
    }
}
