//! Numbers of virtio's block devices (virtio 1.2, §5.2 and §6), and what a guest is told of a volume.

use imbrex_live::service::Service;

/// Bytes of a sector, in which requests count.
pub const SECTOR_BYTES: u64 = 512;

/// Types of requests.
pub const IN: u32 = 0;
pub const OUT: u32 = 1;
pub const FLUSH: u32 = 4;
pub const GET_ID: u32 = 8;
pub const DISCARD: u32 = 11;
pub const WRITE_ZEROES: u32 = 13;

/// What a request came to.
pub const OK: u8 = 0;
pub const IOERR: u8 = 1;
pub const UNSUPP: u8 = 2;

/// Bytes of a device's name.
pub const ID_BYTES: usize = 20;

/// Features: of block devices, and of all.
const SIZE_MAX: u64 = 1 << 1;
const SEG_MAX: u64 = 1 << 2;
const RO: u64 = 1 << 5;
const BLK_SIZE: u64 = 1 << 6;
const FLUSHES: u64 = 1 << 9;
const TOPOLOGY: u64 = 1 << 10;
const MQ: u64 = 1 << 12;
const DISCARDS: u64 = 1 << 13;
const WRITES_ZEROES: u64 = 1 << 14;
const INDIRECT_DESC: u64 = 1 << 28;
const EVENT_IDX: u64 = 1 << 29;
const VERSION_1: u64 = 1 << 32;

/// Pieces of a request at most, and bytes of each: as a guest is told, so that no request is longer than
/// [`REQUEST_BYTES`].
const SEGMENTS: u32 = 126;
const SEGMENT_BYTES: u32 = 64 << 10;
pub const REQUEST_BYTES: u64 = SEGMENTS as u64 * SEGMENT_BYTES as u64;
/// The longest discard, and the most zeros that are written at once: with many layers that takes as long as content does.
pub const DISCARD_BYTES: u64 = 256 << 20;
pub const ZEROES_BYTES: u64 = 16 << 20;

/// Bytes of the configuration that say something.
const CONFIG_BYTES: usize = 60;

/// What a device of a volume can do.
pub fn features(read_only: bool) -> u64 {
    let all = SIZE_MAX | SEG_MAX | BLK_SIZE | FLUSHES | TOPOLOGY | MQ | INDIRECT_DESC | EVENT_IDX | VERSION_1;
    all | if read_only { RO } else { DISCARDS | WRITES_ZEROES }
}

/// `struct virtio_blk_config` of a volume with as many queues.
pub fn config(service: &Service, queues: u16) -> [u8; CONFIG_BYTES] {
    of(service.bytes(), service.engine().block_bytes(), queues)
}

fn of(bytes: u64, block_bytes: u32, queues: u16) -> [u8; CONFIG_BYTES] {
    let mut config = [0; CONFIG_BYTES];
    let mut put = |at: usize, value: &[u8]| config[at..at + value.len()].copy_from_slice(value);
    let sectors = |bytes: u64| ((bytes / SECTOR_BYTES) as u32).to_le_bytes();
    let block_sectors = block_bytes / SECTOR_BYTES as u32;
    put(0, &(bytes / SECTOR_BYTES).to_le_bytes());
    put(8, &SEGMENT_BYTES.to_le_bytes());
    put(12, &SEGMENTS.to_le_bytes());
    put(20, &(SECTOR_BYTES as u32).to_le_bytes());
    // A physical block is a block of the volume, and best written whole.
    put(24, &[block_sectors.trailing_zeros() as u8]);
    put(26, &(block_sectors as u16).to_le_bytes());
    put(34, &queues.to_le_bytes());
    put(36, &sectors(DISCARD_BYTES));
    put(40, &1_u32.to_le_bytes());
    put(44, &block_sectors.to_le_bytes());
    put(48, &sectors(ZEROES_BYTES));
    put(52, &1_u32.to_le_bytes());
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At the places of `struct virtio_blk_config`.
    #[test]
    fn a_guest_is_told_of_sizes() {
        let config = of(1 << 30, 4096, 3);
        let u32_at = |at: usize| u32::from_le_bytes(config[at..at + 4].try_into().unwrap());
        assert_eq!(u64::from_le_bytes(config[..8].try_into().unwrap()), 1 << 21);
        assert_eq!([8, 12, 20].map(u32_at), [65_536, 126, 512]);
        assert_eq!((config[24], config[26], config[34]), (3, 8, 3), "eight sectors of a block, and three queues");
        assert_eq!([36, 40, 44, 48, 52].map(u32_at), [1 << 19, 1, 8, 1 << 15, 1]);
        assert_eq!(features(true) & (1 << 13 | 1 << 14 | 1 << 5), 1 << 5);
    }
}
