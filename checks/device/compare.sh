#!/bin/bash
# Holds a served volume against what else makes a host-managed disk usable, in one guest and on the same disk of 20
# conventional and 108 sequential zones of 16 MiB: ext4 on the kernel's dm-zoned, ext4 on a volume, over ublk and over NBD
# by nbdkit and the kernel's client, and XFS and btrfs, which write zones themselves. On each:
#
# - 4 MiB of random writes of 4 KiB over a file of 512 MiB, at once and when all has been cleaned;
# - a database, of which each transaction changes a row and adds one;
# - an archive of 2000 files of 12 KiB that is unpacked four times, each time but the first after one tree is deleted;
# - random writes of 4 KiB for five minutes, but no more than 512 MiB, over a file that fills the file system to 95 %.
#
# Ours over ublk must write no more than dm-zoned for the first, at most a fifth of it when the writes end, and take no
# longer.
#
# The disk is memory without a rate, so the time is the processor's, of an emulated one. MBPS is a rate in MB/s that the
# disk passes; 16 is to its zones, a sixteenth as long as a real disk's, what a real disk's rate is to its own. The disk
# has no seeks, which favours dm-zoned. LAYER and SET choose another layer and its settings: then nothing is demanded.
# SYSTEMS are those that are compared, of kernel, ublk, nbd, xfs and btrfs. What the check needs is told in ../guest.sh;
# the kernel is a newer one, since XFS has had zones since Linux 6.15, and so is mkfs.xfs.
set -euo pipefail
cd "$(dirname "$0")"
check="device check"
export GUEST_SUITE=trixie-backports GUEST_SECONDS=${GUEST_SECONDS:-3600}
. ../guest.sh
. ./programs.sh

layer=${LAYER:-log-greedy} settings=${SET:-} rate=${MBPS:-0} systems=${SYSTEMS:-kernel ublk nbd xfs btrfs}
need_guest_programs nbdkit:nbdkit nbd-client:nbd-client mkfs.ext4:e2fsprogs mkfs.btrfs:btrfs-progs fio:fio \
    dmsetup:dmsetup sqlite3:sqlite3
need_kernel
fetch_xfs() {
    from_debian forky && fetching 180 apt-get -qq -y --no-install-recommends --download-only install xfsprogs
}
need_fetched "${cache%/*}/xfsprogs" mkfs.xfs fetch_xfs
build_programs release
begin_guest nbd ublk_drv null_blk dm_zoned xfs btrfs
copy_programs
for name in mkfs.ext4 mkfs.btrfs fio dmsetup sqlite3 split; do copy_program "$(program $name)"; done
copy_program "$(find "$cache/root" -name dmzadm -type f | head -n 1)"
# With the C library that it needs.
mkdir -p "$guest/xfs/dev" "$guest/xfs/proc" "$guest/xfs/sys"
(cd "${cache%/*}/xfsprogs/root" && cp -r --parents usr/sbin/mkfs.xfs usr/share/xfsprogs usr/lib64 \
    usr/lib/*/{ld-linux-x86-64,lib{c,m,blkid,uuid,inih,urcu}}.so.* "$guest/xfs")
ln -s usr/lib usr/lib64 "$guest/xfs"
cp serving.sh writes.fio "$guest/"

pack_guest compare-guest.sh "size=2048:zone_nr_conv=20:mbps=$rate" "$systems" "$layer" $settings
GUEST_MIB=4608 run_guest

# A row of the table; and whether ours over ublk, so many times, is no more than the kernel's number.
row() {
    printf '%-50s' "$1"
    for system in $systems; do printf ' %9s' "$(said "$system $2")"; done
    echo
}
at_most() { awk -v kernel="$(said "kernel $1")" -v ours="$(said "ublk $1")" -v times="$2" 'BEGIN { exit !(ours * times <= kernel) }'; }

declare -A called=([kernel]=dm-zoned [ublk]=ublk [nbd]=NBD [xfs]=XFS [btrfs]=btrfs)
printf '%-50s' "ublk and NBD: $layer $settings"
for system in $systems; do printf ' %9s' "${called[$system]}"; done
echo
row "random writes: media bytes per byte, at the end" "random before"
row "  after cleaning" "random after"
row "  milliseconds" "random milliseconds"
row "  the longest write, ms" "random longest"
row "database: media KB per transaction" "database kilobytes"
row "  milliseconds" "database milliseconds"
row "files: media bytes per byte unpacked" "files before"
row "  milliseconds" "files milliseconds"
row "MiB that an empty file system offers" "full offered"
row "random writes at 95 %: MiB in five minutes" "full wrote"
row "  media bytes per byte" "full before"
row "  the longest write, ms" "full longest"
[ -z "${LAYER:-}${SET:-}${MBPS:-}${SYSTEMS:-}" ] || exit 0
for what in before after milliseconds; do at_most "random $what" 1 || fail "ours is more: $what"; done
at_most "random before" 5 || fail "ours is more than a fifth of the kernel's when the writes end"
