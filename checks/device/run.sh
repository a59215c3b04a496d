#!/bin/bash
# Serves real host-managed disks, in a guest: the kernel's scsi_debug and null_blk as zoned disks, a volume made on
# them, nbdkit with Imbrex's plugin, and on the kernel's NBD device a file system that is filled, remounted, trimmed and
# checked; then the server is killed, and what had been made durable is read again from what it left on the disk. In the
# end the last disk is served by the kernel's ublk, and its server is killed while it is in use.
#
# What it needs is told in ../guest.sh.
set -euo pipefail
cd "$(dirname "$0")"
check="device check"
. ../guest.sh
. ./programs.sh

need_guest_programs nbdkit:nbdkit nbd-client:nbd-client mkfs.ext4:e2fsprogs e2fsck:e2fsprogs \
    fio:fio blkdiscard:util-linux
need_kernel
prepared
build_programs dev
begin_guest nbd null_blk scsi_debug sd_mod ublk_drv
copy_programs
for name in mkfs.ext4 e2fsck fio blkdiscard; do copy_program "$(program $name)"; done
cp serving.sh ublk.sh "$guest/"
pack_guest guest.sh
GUEST_MIB=2560 run_guest
sed -n 's/^served /device check: /p' "$work/report"
