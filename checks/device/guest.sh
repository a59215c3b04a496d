# What the guest does: a file system's life on each disk, and a server that is killed; then the same as a device of
# ublk's.
. /life.sh
. /ublk.sh

# Requests of a disk, recorded until the program is asked to end. Nothing tells when blktrace has begun, so that this
# is tried with longer and longer pauses before the requests.
recording() {
    mount -t debugfs none /sys/kernel/debug
    for pause in 0.5 2 8 32; do
        imbrex trace record "/dev/$disk" -o /tmp/disk.parquet 2> /tmp/said &
        until grep -q 'recording until' /tmp/said; do sleep 0.1; done
        sleep $pause
        dd if=/dev/zero of="/dev/$disk" bs=64k count=20 oflag=direct 2> /dev/null
        dd if="/dev/$disk" of=/dev/null bs=4k count=10 iflag=direct 2> /dev/null
        kill -TERM $!
        wait $! || { cat /tmp/said; finish "failed: imbrex trace record"; }
        grep -q ' 30 requests' /tmp/said && break
    done
    grep -q ' 30 requests' /tmp/said || { cat /tmp/said; finish "failed: the recording has other requests"; }
    imbrex trace stat /tmp/disk.parquet > /tmp/stat || finish "failed: the recording cannot be read"
    echo "served $disk, recorded: $(grep requests /tmp/said)"
}

make_disk scsi
recording
imbrex probe "/dev/$disk" > /tmp/probe 2> /tmp/said || { cat /tmp/said; finish "failed: imbrex probe"; }
grep -q 'host-managed' /tmp/probe && grep -q '12 conventional and 52 sequential of 16 MiB each' /tmp/probe ||
    { cat /tmp/probe; finish "failed: a probe does not find the zones"; }
echo "served $disk, probed: $(grep '^zones' /tmp/probe)"
life log-greedy "scsi_debug with conventional zones"
make_disk null
life dm-zoned "null_blk with conventional zones"
take_disk
make_disk null zone_nr_conv=0:zone_capacity=9
imbrex probe "/dev/$disk" > /tmp/probe 2> /tmp/said || { cat /tmp/said; finish "failed: imbrex probe"; }
grep -q '64 sequential of 16 MiB each, 9 MiB of it to write' /tmp/probe ||
    { cat /tmp/probe; finish "failed: a probe does not find the gaps between zones"; }
life log-greedy "null_blk with sequential zones only, 9 of whose 16 MiB can be written"
take_disk
make_disk null zone_max_open=2:zone_max_active=6
life log-greedy "null_blk with at most 2 open and 6 active zones"
! imbrex format "/dev/$disk" --layer dm-zoned --force > /tmp/refused 2>&1 && grep -q 'dm-zoned cannot be served.* 6 active zones' /tmp/refused ||
    { cat /tmp/refused; finish "failed: a layer that cannot keep the disk's limit is not refused"; }
ublk_life log-greedy
