# Volumes as members of a mirror of md's, in a guest: three of them over ublk, ext4 on two. A member is replaced, and the
# other rebuilt on; then a server is killed, and the mirror told.
#
# Sourced by ../guests.sh.
programs+=(mdadm:mdadm mkfs.ext4:e2fsprogs e2fsck:e2fsprogs)
modules+=(null_blk ublk_drv raid1)

put_raid() {
    local name
    build_programs dev
    copy_programs
    for name in mdadm mkfs.ext4 e2fsck; do copy_program "$(program $name)"; done
}

judge_raid() { sed -n 's/^mirrored /raid check: /p' "$work/report"; }
