//! What is on a disk already, told by the marks that file systems and others leave.

use crate::backing::Backing;

/// A mark: where it is, what it is, and who leaves it.
type Mark = (u64, &'static [u8], &'static str);

const MARKS: &[Mark] = &[
    (0, b"IMBREXI1", "an Imbrex image"),
    (0, b"IMBREXS1", "an Imbrex volume"),
    (0, b"XFSB", "an XFS file system"),
    (0x438, &[0x53, 0xef], "an ext2, ext3 or ext4 file system"),
    (0x1_0040, b"_BHRfS_M", "a btrfs file system"),
    (0x400, &[0x10, 0x20, 0xf5, 0xf2], "an F2FS file system"),
    (3, b"NTFS    ", "an NTFS file system"),
    (3, b"EXFAT   ", "an exFAT file system"),
    (0x8001, b"CD001", "an ISO 9660 file system"),
    (4086, b"SWAPSPACE2", "swap space"),
    (0x218, b"LVM2 001", "an LVM physical volume"),
    (0, b"LUKS\xba\xbe", "an encrypted volume"),
    (0x1000, &[0xfc, 0x4e, 0x2b, 0xa9], "a RAID member"),
    (0, b"DBZD", "a dm-zoned volume"),
    (512, b"EFI PART", "a partition table"),
    (4096, b"EFI PART", "a partition table"),
    (510, &[0x55, 0xaa], "a partition table or boot sector"),
];

/// What is there, if it is something that is known.
pub fn find(disk: &(impl Backing + ?Sized)) -> Option<&'static str> {
    let is_there = |(offset, mark, _): &&Mark| {
        // Disks are read in whole sectors.
        let mut sectors = [0; 8192];
        let first = offset / 4096 * 4096;
        let within = (offset - first) as usize;
        disk.read_at(&mut sectors, first).is_ok() && sectors[within..].starts_with(mark)
    };
    MARKS.iter().find(is_there).map(|(.., what)| *what)
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
            assert_eq!(find(&file), None);
            file.write_at(mark, *offset).unwrap();
            assert_eq!(find(&file), Some(*what));
        }
    }
}
