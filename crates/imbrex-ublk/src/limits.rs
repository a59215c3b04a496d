//! What the kernel is told of a device.

use imbrex_live::service::Service;

use crate::abi::Params;

/// The longest read or write.
pub const REQUEST_BYTES: u32 = 1 << 20;
/// The longest discard, and the most zeros that are written at once: with many layers that takes as long as content does.
const DISCARD_BYTES: u32 = 256 << 20;
const ZEROES_BYTES: u32 = 16 << 20;

/// A logical block of the device: what requests begin and end at.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Sector {
    /// 512 bytes, as most clients of NBD see a volume too, so that a file system fits both.
    #[default]
    Half,
    /// A block of the volume.
    Block,
}

/// What is told of a volume.
pub fn params(service: &Service, sector: Sector) -> Params {
    of(service.bytes(), service.engine().block_bytes(), sector, service.read_only(), service.rotational())
}

fn of(bytes: u64, block_bytes: u32, sector: Sector, read_only: bool, rotational: bool) -> Params {
    let block = block_bytes.trailing_zeros() as u8;
    Params {
        read_only,
        rotational,
        logical_shift: if sector == Sector::Half { 9 } else { block },
        physical_shift: block,
        most_sectors: REQUEST_BYTES / 512,
        device_sectors: bytes / 512,
        discard_granularity: block_bytes,
        most_discard_sectors: DISCARD_BYTES / 512,
        most_zeroes_sectors: ZEROES_BYTES / 512,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn u32_at(bytes: &[u8], at: usize) -> u32 {
        u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    }

    #[test]
    fn blocks_are_the_volumes_and_sectors_what_was_asked_for() {
        let half = of(1 << 30, 4096, Sector::Half, false, true);
        assert_eq!((half.logical_shift, half.physical_shift, half.device_sectors), (9, 12, 1 << 21));
        let whole = of(1 << 30, 4096, Sector::Block, false, true);
        assert_eq!((whole.logical_shift, whole.physical_shift, whole.discard_granularity), (12, 12, 4096));
    }

    /// At the places of `struct ublk_params`.
    #[test]
    fn the_driver_is_told_of_caches_rights_and_limits() {
        let bytes = of(1 << 30, 4096, Sector::Half, false, false).to_bytes();
        assert_eq!((u32_at(&bytes, 0), u32_at(&bytes, 4), u32_at(&bytes, 8)), (60, 3, 0b1100));
        assert_eq!(bytes[12..16], [9, 12, 12, 12], "logical, physical, best and least");
        assert_eq!(u32_at(&bytes, 16), 2048);
        assert_eq!(bytes[24..32], (1_u64 << 21).to_ne_bytes());
        assert_eq!([44, 48, 52].map(|at| u32_at(&bytes, at)), [4096, 1 << 19, 1 << 15]);
        assert_eq!(bytes[56..58], 1_u16.to_ne_bytes());
        assert_eq!(u32_at(&of(0, 4096, Sector::Half, true, true).to_bytes(), 8), 0b1111);
    }
}
