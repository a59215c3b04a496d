#!/bin/bash
# Holds a served volume against the kernel's dm-zoned, in one guest: the same host-managed disk of 12 conventional and
# 52 sequential zones of 16 MiB, the same file of 50 MiB on ext4, then the same 4 MiB of random writes of 4 KiB over the
# first 96 MiB. Prints how many bytes the disk is written for each byte that the writes bring, when they end and when
# both have cleaned until nothing is left to do, and how long the writes took. Ours over ublk must be lower in the bytes,
# at most a fifth of dm-zoned's when the writes end, and take no longer. Over NBD, by nbdkit and the kernel's client, it
# is measured beside that.
#
# The disk is memory without a rate, so the time is the processor's, of an emulated one. MBPS is a rate in MB/s that the
# disk passes; 16 is to its zones, a sixteenth as long as a real disk's, what a real disk's rate is to its own. The disk
# has no seeks, which favours dm-zoned. What the check needs is told in ../guest.sh. LAYER and SET choose another layer
# and its settings: then nothing is demanded.
set -euo pipefail
cd "$(dirname "$0")"
check="device check"
. ../guest.sh
. ./programs.sh

layer=${LAYER:-log-greedy} settings=${SET:-} rate=${MBPS:-0}
need_guest_programs nbdkit:nbdkit nbd-client:nbd-client mkfs.ext4:e2fsprogs fio:fio dmsetup:dmsetup
need_kernel
build_programs release
begin_guest nbd ublk_drv null_blk dm_zoned
copy_programs
for name in mkfs.ext4 fio dmsetup; do copy_program "$(program $name)"; done
copy_program "$(find "$cache/root" -name dmzadm -type f | head -n 1)"
cp serving.sh writes.fio "$guest/"

pack_guest compare-guest.sh "mbps=$rate" "$layer" $settings
GUEST_MIB=2560 run_guest

# A row of the table; and whether ours over ublk, so many times, is no more than the kernel's number.
row() { printf '%-44s %10s %16s %16s\n' "$1" "$(said "kernel $2")" "$(said "ublk $2")" "$(said "nbd $2")"; }
at_most() { awk -v kernel="$(said "kernel $1")" -v ours="$(said "ublk $1")" -v times="$2" 'BEGIN { exit !(ours * times <= kernel) }'; }

printf '%-44s %10s %16s %16s\n' "" "dm-zoned" "$layer, ublk" "$layer, NBD"
row "media bytes per host byte, at the end" before
row "media bytes per host byte, after cleaning" after
row "milliseconds for the writes" milliseconds
[ -z "${LAYER:-}${SET:-}${MBPS:-}" ] || exit 0
for what in before after milliseconds; do at_most $what 1 || fail "ours is more: $what"; done
at_most before 5 || fail "ours is more than a fifth of the kernel's when the writes end"
