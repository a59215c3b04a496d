# What the guest does on a disk of zloop's.
. /life.sh

# Options of zloop's.
make_zloop() {
    disk=zloop0
    mkdir -p /files/0
    echo "add id=0,capacity_mb=1024,zone_size_mb=16,conv_zones=12,base_dir=/files$1" > /dev/zloop-control || finish "failed: zloop"
    until [ -b /dev/zloop0 ]; do sleep 0.1; done
}

take_zloop() { echo "remove id=0" > /dev/zloop-control || finish "failed: zloop cannot be removed"; }

# The power goes while a file is written: how many KiB of zones were not flushed.
cut_power() {
    start=$(written)
    dd if=/dev/urandom of=/mnt/unflushed bs=1M count=48 oflag=direct 2> /dev/null &
    writer=$!
    until [ "$(written)" -gt $((start + 3000)) ]; do sleep 0.02; done
    leave KILL
    wait "$writer"
    umount /mnt
    before=$(du -s /files | cut -f 1)
    take_zloop
    lost=$((before - $(du -s /files | cut -f 1)))
    make_zloop ,discard_write_cache
}

# What was flushed is there after a power cut that takes something.
life_with_power_cuts() {
    imbrex format "/dev/$disk" --layer "$1" > /dev/null || finish "failed: imbrex format"
    serve
    mkfs.ext4 -q -F /dev/nbd0 && mount /dev/nbd0 /mnt || finish "failed: ext4"
    fill flushed 8
    sync
    lost=0 cuts=0
    while [ "$lost" = 0 ]; do
        cuts=$((cuts + 1))
        [ $cuts -lt 10 ] || finish "failed: no power cut takes anything"
        cut_power
        serve
        mount /dev/nbd0 /mnt || finish "failed: mount after a power cut"
        verify flushed
    done
    umount /mnt
    check_files /dev/nbd0
    leave TERM
    echo "served $disk: $1 has all that was flushed after a power cut that took $lost KiB"
}

insmod /zloop.ko || finish "failed: the module zloop"
mkdir /files && mount -t tmpfs none /files
make_zloop
imbrex probe "/dev/$disk" > /tmp/probe 2> /tmp/said || { cat /tmp/said; finish "failed: imbrex probe"; }
echo "served $disk, probed: $(grep '^zones' /tmp/probe)"
life log-greedy "zloop with conventional zones"
take_zloop
for layer in log-greedy log-lifetimes zone-ages; do
    rm -rf /files/0
    make_zloop ,discard_write_cache
    life_with_power_cuts "$layer"
    take_zloop
done
