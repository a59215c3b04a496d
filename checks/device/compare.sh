#!/bin/bash
# Holds a served volume against the kernel's dm-zoned, in one guest: the same host-managed disk of 12 conventional and
# 52 sequential zones of 16 MiB, the same file of 50 MiB on ext4, then the same 4 MiB of random writes of 4 KiB over the
# first 96 MiB. Prints how many bytes the disk is written for each byte that the writes bring, when they end and when
# both have cleaned until nothing is left to do, and how long the writes took. Ours must be lower in all three, and at
# most a fifth of dm-zoned's when they end.
#
# The zones are a sixteenth as long as a real disk's, and so is the disk's rate: it passes 16 MB/s, so that copying a
# zone takes as long as it does there. It has no seeks, which favours dm-zoned. Our volume is served over NBD by nbdkit,
# through the kernel's client. What the check needs is told in ../guest.sh. MBPS is another rate, 0 for none; LAYER and
# SET choose another layer and its settings: then nothing is demanded.
set -euo pipefail
cd "$(dirname "$0")"
check="device check"
. ../guest.sh
. ./programs.sh

layer=${LAYER:-log-greedy} settings=${SET:-} rate=${MBPS:-16}
need_guest_programs nbdkit:nbdkit nbd-client:nbd-client mkfs.ext4:e2fsprogs fio:fio dmsetup:dmsetup
need_kernel
build_programs release
begin_guest nbd null_blk dm_zoned
copy_programs
for name in mkfs.ext4 fio dmsetup; do copy_program "$(program $name)"; done
copy_program "$(find "$cache/root" -name dmzadm -type f | head -n 1)"
cp serving.sh writes.fio "$guest/"

pack_guest compare-guest.sh "mbps=$rate" "$layer" $settings
GUEST_MIB=2560 run_guest

# A number of ours or of the kernel's, and those of a row of the table.
row() { printf '%-44s %10s %10s\n' "$1" "$(said "kernel $2")" "$(said "ours $2")"; }
lower() { awk -v kernel="$(said "kernel $1")" -v ours="$(said "ours $1")" -v part="$2" 'BEGIN { exit !(ours * part < kernel) }'; }

printf '%-44s %10s %10s\n' "" "dm-zoned" "$layer"
row "media bytes per host byte, at the end" before
row "media bytes per host byte, after cleaning" after
row "milliseconds for the writes" milliseconds
[ -z "${LAYER:-}${SET:-}${MBPS:-}" ] || exit 0
for what in before after milliseconds; do lower $what 1 || fail "ours is not lower: $what"; done
lower before 5 || fail "ours is more than a fifth of the kernel's when the writes end"
