//! What is on a disk already, told by the marks that file systems and others leave.

use std::io;

use crate::backing::Backing;

/// A mark: where it is, what it is, and what leaves it.
type Mark = (u64, &'static [u8], &'static str);

const BTRFS: &str = "a btrfs file system";

/// The mark of a btrfs on a zoned disk, which appends its superblocks to zones 0 and 1 by turns.
const ZONE_BTRFS: (u64, &[u8]) = (0x40, b"_BHRfS_M");

const MARKS: &[Mark] = &[
    (0, b"IMBREXI1", "an Imbrex image"),
    (0, b"IMBREXS1", "an Imbrex volume"),
    (0, b"XFSB", "an XFS file system"),
    (0x438, &[0x53, 0xef], "an ext2, ext3 or ext4 file system"),
    (0x1_0040, b"_BHRfS_M", BTRFS),
    (0x400, &[0x10, 0x20, 0xf5, 0xf2], "an F2FS file system"),
    (3, b"NTFS    ", "an NTFS file system"),
    (3, b"EXFAT   ", "an exFAT file system"),
    (0x8001, b"CD001", "an ISO 9660 file system"),
    (4086, b"SWAPSPACE2", "swap space"),
    (0x218, b"LVM2 001", "an LVM physical volume"),
    (0, b"LUKS\xba\xbe", "an encrypted volume"),
    (0x1000, &[0xfc, 0x4e, 0x2b, 0xa9], "a RAID member"),
    (0, b"DBZD", "a dm-zoned volume"),
    (0, b"SFOZ", "a zonefs file system"),
    (ZONE_BTRFS.0, ZONE_BTRFS.1, BTRFS),
    (512, b"EFI PART", "a partition table"),
    (4096, b"EFI PART", "a partition table"),
    (510, &[0x55, 0xaa], "a partition table or boot sector"),
];

/// What is there, if it is something that is known. `zones` are where further zones begin that may bear marks, in
/// bytes.
///
/// # Errors
/// When a place that may bear one cannot be read.
pub fn find(disk: &(impl Backing + ?Sized), zones: &[u64]) -> io::Result<Option<&'static str>> {
    let in_zones = zones.iter().map(|zone| (zone + ZONE_BTRFS.0, ZONE_BTRFS.1, BTRFS));
    for (offset, mark, what) in MARKS.iter().copied().chain(in_zones) {
        // Disks are read in whole sectors.
        let mut sectors = [0; 8192];
        let first = offset / 4096 * 4096;
        let within = (offset - first) as usize;
        match disk.read_at(&mut sectors, first) {
            Ok(()) if sectors[within..].starts_with(mark) => return Ok(Some(what)),
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(e) => return Err(e),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn every_mark_is_found_and_zeros_are_nothing() {
        for (offset, mark, what) in MARKS {
            let file = tempfile::tempfile().unwrap();
            file.set_len(1 << 20).unwrap();
            assert_eq!(find(&file, &[]).unwrap(), None);
            file.write_at(mark, *offset).unwrap();
            assert_eq!(find(&file, &[]).unwrap(), Some(*what));
        }
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        file.write_at(ZONE_BTRFS.1, (512 << 10) + ZONE_BTRFS.0).unwrap();
        assert_eq!(find(&file, &[]).unwrap(), None);
        assert_eq!(find(&file, &[512 << 10]).unwrap(), Some(BTRFS), "in the second zone");
        assert_eq!(find(&tempfile::tempfile().unwrap(), &[]).unwrap(), None, "too short for any");
    }
}
