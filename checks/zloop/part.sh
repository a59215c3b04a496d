# A volume on zloop, the kernel's zoned disk of files, in a guest: a file system's life, and a power cut. zloop forgets what
# was not flushed, which scsi_debug and null_blk cannot.
#
# It is in Linux since 6.16, and in none of Debian's kernels, so it is compiled for the guest's. Sourced by ../guests.sh.
programs+=(mmdebstrap:mmdebstrap nbdkit:nbdkit nbd-client:nbd-client mkfs.ext4:e2fsprogs e2fsck:e2fsprogs)
modules+=(nbd)

keep_zloop() { cp "$1/zloop/zloop.ko" "$2/"; }

put_zloop() {
    local name source
    [ "$suite" != trixie ] || skip "the kernel of Debian 13 is older than zloop; GUEST_SUITE=trixie-backports has a newer one"
    build_programs dev
    copy_programs
    for name in mkfs.ext4 e2fsck; do copy_program "$(program $name)"; done
    # 7.3 of 7.3.4+deb13-cloud-amd64.
    source=linux-source-$(grep -o '^[0-9]*\.[0-9]*' <<< "$version")
    need_compiled zloop "make,$source" "mkdir \"\$1/zloop\" &&
        tar -C \"\$1/zloop\" -xf \"\$1/usr/src/$source.tar.xz\" --occurrence=1 --strip-components=3 $source/drivers/block/zloop.c &&
        echo 'obj-m := zloop.o' > \"\$1/zloop/Makefile\" &&
        chroot \"\$1\" make -s -C /usr/src/linux-headers-$version M=/zloop modules"
    cp "$compiled/zloop.ko" "$guest/"
}

judge_zloop() { sed -n 's/^served /zloop check: /p' "$work/report"; }
