//! A page of a map as it lies on the drive: one of two blocks beside each other, which are written in turn.
//!
//! ```text
//! offset  size  field
//!      0     8  magic "IMBREXP1"
//!      8     8  identity of the formatted store
//!     16     8  the page's number
//!     24     8  version: records of journal entries that start before this number are in it
//!     32     4  epoch: how often the store had been started
//!     36     4  bytes of content
//!     40     4  CRC-32C of header and content, with this field zero
//!     44        zeros
//!     64        content
//! ```
//!
//! All integers are little-endian. A block of which anything is wrong counts as never written: the other one holds an
//! older version, and the journal what is new since.

use bytes::Bytes;

use imbrex_core::layer::{HomePage, MAP_PAGE_HEADER};

const HEADER: usize = MAP_PAGE_HEADER as usize;
const MAGIC: &[u8; 8] = b"IMBREXP1";
const CRC_AT: usize = 40;

/// What a page says about itself.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct PageHeader {
    /// Identity of the formatted store.
    pub identity: u64,
    /// Its number.
    pub page: u64,
    /// Records of journal entries that start before this number are in it.
    pub version: u64,
    /// How often the store had been started.
    pub epoch: u32,
}

/// A page in the newest of its two blocks.
#[derive(Copy, Clone, Debug)]
pub struct Newest<'a> {
    /// Which of the blocks it is, 0 or 1.
    pub block: usize,
    /// The start of the store in which it was written.
    pub epoch: u32,
    /// The page; nothing is known of the epoch yet.
    pub page: HomePage<'a>,
}

/// The block that holds a page.
#[must_use]
pub fn encode_page(header: PageHeader, content: &[u8], block_bytes: usize) -> Bytes {
    Unsealed::new(block_bytes, |block| block.extend(content)).seal(header)
}

/// A block with a page's content that lacks its header.
#[derive(Debug)]
pub(in crate::pages) struct Unsealed {
    block: Vec<u8>,
    block_bytes: usize,
}

impl Unsealed {
    /// The block to which `append` has appended the content.
    pub fn new(block_bytes: usize, append: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut block = Vec::with_capacity(block_bytes);
        block.resize(HEADER, 0);
        append(&mut block);
        Self { block, block_bytes }
    }

    /// The whole block.
    pub fn seal(self, PageHeader { identity, page, version, epoch }: PageHeader) -> Bytes {
        let Self { mut block, block_bytes } = self;
        let content = (block.len() - HEADER) as u32;
        block[..8].copy_from_slice(MAGIC);
        block[8..16].copy_from_slice(&identity.to_le_bytes());
        block[16..24].copy_from_slice(&page.to_le_bytes());
        block[24..32].copy_from_slice(&version.to_le_bytes());
        block[32..36].copy_from_slice(&epoch.to_le_bytes());
        block[36..40].copy_from_slice(&content.to_le_bytes());
        let crc = crc32c::crc32c(&block);
        block[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
        block.resize(block_bytes.max(block.len()), 0);
        block.into()
    }
}

/// The page in a block, if it is that page of that store, and whole.
#[must_use]
pub fn decode_page(block: &[u8], identity: u64, page: u64) -> Option<(PageHeader, &[u8])> {
    let u64_at = |at: usize| Some(u64::from_le_bytes(block.get(at..at + 8)?.try_into().ok()?));
    let u32_at = |at: usize| Some(u32::from_le_bytes(block.get(at..at + 4)?.try_into().ok()?));
    let header = PageHeader { identity: u64_at(8)?, page: u64_at(16)?, version: u64_at(24)?, epoch: u32_at(32)? };
    if block.get(..8)? != MAGIC || header.identity != identity || header.page != page {
        return None;
    }
    let content = block.get(HEADER..HEADER.checked_add(u32_at(36)? as usize)?)?;
    let crc = crc32c::crc32c(&block[..CRC_AT]);
    let crc = crc32c::crc32c_append(crc, &[0; 4]);
    let crc = crc32c::crc32c_append(crc, &block[CRC_AT + 4..HEADER + content.len()]);
    (u32_at(CRC_AT)? == crc).then_some((header, content))
}

/// Whether a block is that page of that store, and not whole.
#[must_use]
pub fn is_torn_page(block: &[u8], identity: u64, page: u64) -> bool {
    let is = |at: usize, number: u64| block.get(at..at + 8) == Some(&number.to_le_bytes());
    block.starts_with(MAGIC) && is(8, identity) && is(16, page) && decode_page(block, identity, page).is_none()
}

/// The newest whole page in the two blocks that it may lie in; nothing if it is in neither.
#[must_use]
pub fn newest_page(blocks: [Option<&[u8]>; 2], identity: u64, page: u64) -> Option<Newest<'_>> {
    let found = blocks.into_iter().enumerate().filter_map(|(block, bytes)| {
        let (header, content) = decode_page(bytes?, identity, page)?;
        let page = HomePage { content, version: header.version, is_of_epoch: false };
        Some(Newest { block, epoch: header.epoch, page })
    });
    found.max_by_key(|newest| newest.page.version)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn block(version: u64) -> Bytes {
        encode_page(PageHeader { identity: 7, page: 3, version, epoch: 2 }, &[9, 8, version as u8], 128)
    }

    #[test]
    fn the_newer_of_two_blocks_counts() {
        let (old, new) = (block(4), block(5));
        let newest = newest_page([Some(&new), Some(&old)], 7, 3).unwrap();
        assert_eq!((newest.block, newest.epoch, newest.page.version), (0, 2, 5));
        assert_eq!(newest.page.content, [9, 8, 5]);
        assert_eq!(newest_page([None, Some(&old)], 7, 3).unwrap().page.content, [9, 8, 4]);
    }

    #[test]
    fn whatever_is_changed_in_a_block_it_does_not_count() {
        let whole = block(4);
        assert!(decode_page(&whole, 8, 3).is_none());
        assert!(decode_page(&whole, 7, 2).is_none());
        for at in 0..HEADER + 3 {
            let mut torn = whole.to_vec();
            torn[at] ^= 1;
            // What lies between the checksum and the content is summed too.
            assert!(decode_page(&torn, 7, 3).is_none(), "byte {at}");
            assert_eq!(is_torn_page(&torn, 7, 3), at >= 24, "byte {at}");
        }
        assert!(decode_page(&whole[..20], 7, 3).is_none());
        assert!(decode_page(&[0; 128], 7, 3).is_none());
    }
}
