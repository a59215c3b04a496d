#!/bin/busybox sh
# The guest's first program: makes a host-managed disk, puts dm-zoned on it, writes the pattern and says on the second
# serial line how many blocks of 4 KiB the disk below was written.
export PATH=/bin:/sbin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
exec > /dev/ttyS1 2>&1 < /dev/null

finish() {
    echo "$1"
    poweroff -f
}

written() { awk '{ print int($7 / 8) }' /sys/block/nullb0/stat; }

# Conventional zones that are free, of 10.
free() { dmsetup status | sed 's,.* \([0-9]*\)/10 random.*,\1,'; }

# Waits until nothing has been written for half a second: longer than reclaim sleeps to keep to its share of the time.
settle() {
    before=$(written)
    quiet=0
    while [ "$quiet" -lt 10 ]; do
        sleep 0.05
        now=$(written)
        if [ "$before" = "$now" ]; then quiet=$((quiet + 1)); else quiet=0; fi
        before=$now
    done
}

modprobe null_blk nr_devices=1 gb=1 bs=4096 zoned=1 zone_size=16 zone_nr_conv=12 memory_backed=1 || finish "failed: null_blk"
modprobe dm_zoned || finish "failed: dm_zoned"
dmzadm --format /dev/nullb0 --force > /dev/null || finish "failed: dmzadm --format"
dmzadm --start /dev/nullb0 > /dev/null || finish "failed: dmzadm --start"
[ -b /dev/dm-0 ] || finish "failed: there is no /dev/dm-0"
echo "capacity $(($(cat /sys/block/dm-0/size) / 8))"
start=$(written)

awk '$3 == "write" { print $4 / 4096 }' /pattern | while read -r block; do
    dd if=/dev/zero of=/dev/dm-0 bs=4096 count=1 seek="$block" oflag=direct conv=notrunc 2> /dev/null || echo "failed: a write"
    # Above 30 % busy reclaim is over; at that it may be, or not have begun.
    [ "$(free)" -gt 3 ] || settle
done
settle
echo "before $(($(written) - start))"

# Reclaim that was busy does not look for idle time until the device is resumed; then it waits for ten seconds of it.
name=$(dmsetup ls | cut -f 1)
dmsetup suspend "$name" && dmsetup resume "$name" || finish "failed: dmsetup"
sleep 13
settle
echo "after $(($(written) - start))"
finish done
