# What the guest does: makes a host-managed disk, puts dm-zoned on it, writes the pattern and says how many blocks of 4
# KiB the disk below was written.

# Conventional zones that are free, of 10.
free() { dmsetup status | sed 's,.* \([0-9]*\)/10 random.*,\1,'; }

. /serving.sh
make_disk null
modprobe dm_zoned || finish "failed: dm_zoned"
dmzadm --format "/dev/$disk" --force > /dev/null || finish "failed: dmzadm --format"
dmzadm --start "/dev/$disk" > /dev/null || finish "failed: dmzadm --start"
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
dmsetup remove_all
take_disk
