# A mirror of ZFS's on volumes that are devices of ublk's. Sourced by the guest's script.

. /members.sh

zpool() { chroot /zfs /sbin/zpool "$@"; }

begin_zfs() {
    for name in spl zfs; do insmod "/zfs/$name.ko" || finish "failed: the module $name"; done
    echo $((64 << 20)) > /sys/module/zfs/parameters/zfs_arc_max
    for name in proc dev sys; do mount --bind "/$name" "/zfs/$name"; done
}

# What is wrong with the pool, and the guest ends.
not_well() {
    zpool status -v pool
    finish "failed: $1"
}

# Copies a member to another one, which takes its place, and says how much the new one's disk was written. The third
# argument is an option of ZFS's.
replace() {
    before=$(media "$2")
    zpool replace $3 -w pool "ublkb$1" "ublkb$2" || not_well "a member cannot be replaced"
    zpool wait -t scrub pool
    zpool sync pool
    amplified=$(written_for_each "$2" "$before" "$(zpool list -Hpo allocated pool)") || finish "failed: a rebuild, $amplified"
    echo "pooled zpool replace${3:+ $3}: $amplified"
}

# Reads everything and repairs it. How much is said in a word.
scrub() {
    zpool scrub -w pool || not_well "no scrub"
    zpool status pool | sed -n 's/^ *scan: scrub repaired \([^ ]*\) .*/\1/p'
}

# Kills the server of a member while a file is written, and serves it again.
lose_some() {
    before=$(media 3)
    dd if=/dev/urandom of=/mnt/lost bs=1M count=48 conv=fsync 2> /dev/null &
    writer=$!
    until [ "$(media 3)" -gt $((before + (4 << 20))) ]; do sleep 0.02; done
    end_member 3 KILL
    serve_member 3
    wait "$writer" || not_well "a file cannot be written"
    md5sum /mnt/lost >> /tmp/zfs.sums
}

pool_life() {
    zpool create -o ashift=12 -o cachefile=none -O mountpoint=legacy -O atime=off -O compression=off pool \
        mirror /dev/ublkb1 /dev/ublkb2 || finish "failed: zpool create"
    mount -t zfs pool /mnt || finish "failed: mount"
    fill zfs 16
    zpool sync pool
    replace 2 3 -s
    lose_some
    zpool sync pool
    # As docs/devices.md says.
    dmesg | grep -q 'zio pool=pool vdev=/dev/ublkb3 error=5' || not_well "no flush failed after a kill"
    zpool status -x pool | grep -q healthy || not_well "ZFS says by itself that a member lost something"
    echo "pooled zpool scrub after a kill: $(scrub) repaired"
    [ "$(scrub)" = 0B ] || not_well "a second scrub repairs something, too"
    zpool clear pool
    replace 1 2
    verify zfs
    # A copy by itself, and nothing of what was read before.
    zpool detach pool ublkb2 || not_well "a member cannot be taken out"
    umount /mnt && zpool export pool && zpool import -d /dev -o cachefile=none pool && mount -t zfs pool /mnt ||
        finish "failed: the pool cannot be taken elsewhere"
    verify zfs
    [ "$(zpool list -Ho health pool)" = ONLINE ] || not_well "the pool is not well"
    umount /mnt && zpool export pool || finish "failed: the pool cannot be ended"
    for member in 1 2 3; do end_member "$member" TERM; done
    echo "pooled volumes keep all files"
}

make_members
begin_zfs
pool_life
