# Volumes as members of a mirror of ZFS's, in a guest: three of them over ublk. Members are replaced, one in the order of
# addresses and one file by file; in between a server is killed, and a scrub repairs what its volume lost.
#
# ZFS's modules are compiled by Debian's own packages, which takes some minutes the first time. Sourced by ../guests.sh.
programs+=(mmdebstrap:mmdebstrap)
modules+=(null_blk ublk_drv)

# The program needs newer libraries than this machine may have: it has a root of its own.
keep_zfs() {
    local name
    mkdir -p "$2"/{proc,dev,sys,etc,run}
    for name in spl zfs; do
        find "$1/usr/lib/modules/$version" -name "$name.ko.xz" -exec xz -dc {} \; > "$2/$name.ko"
        [ -s "$2/$name.ko" ] || fail "Debian's packages did not compile $name for $version"
    done
    (cd "$1" && cp --parents -L sbin/zpool $(chroot . ldd /sbin/zpool | grep -o '/[^ ]*' | sed 's/^/./') "$2")
}

put_zfs() {
    build_programs dev
    copy_program "$PROGRAMS/imbrex"
    need_compiled zfs dkms,zfs-dkms,zfsutils-linux
    cp -a "$compiled" "$guest/zfs"
}

judge_zfs() { sed -n 's/^pooled /zfs check: /p' "$work/report"; }
