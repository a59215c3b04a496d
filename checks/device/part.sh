# Serves real host-managed disks, in a guest: the kernel's scsi_debug and null_blk as zoned disks, a volume made on
# them, nbdkit with Imbrex's plugin, and on the kernel's NBD device a file system that is filled, remounted, trimmed and
# checked; then the server is killed, and what had been made durable is read again from what it left on the disk. In the
# end the last disk is served by the kernel's ublk, and its server is killed while it is in use.
#
# Sourced by ../guests.sh.
programs+=(blktrace:blktrace blkparse:blktrace nbdkit:nbdkit nbd-client:nbd-client mkfs.ext4:e2fsprogs e2fsck:e2fsprogs fio:fio blkdiscard:util-linux)
modules+=(nbd null_blk scsi_debug sd_mod ublk_drv)

put_device() {
    local name
    build_programs dev
    copy_programs
    for name in blktrace blkparse mkfs.ext4 e2fsck fio blkdiscard; do copy_program "$(program $name)"; done
    cp device/ublk.sh "$guest/"
}

judge_device() { sed -n 's/^served /device check: /p' "$work/report"; }
