# What the guest does: the writes through dm-zoned, then on the same disk through a layer of ours, over ublk and over NBD. Arguments: attributes
# of the disk, the layer and its settings.
. /serving.sh
modprobe nbd nbds_max=1
modprobe ublk_drv
modprobe dm_zoned
make_disk null "$1"
layer=$2
shift 2

# Bytes that a device was written.
bytes_of() { awk '{ print $7 * 512 }' "/sys/block/$1/stat"; }

# A file on the device, then the writes, then quiet: what is reported is called after the first argument. The device is
# the second, and the third waits until it has nothing left to clean.
measure() {
    mkfs.ext4 -q -F "/dev/$2" && mount "/dev/$2" /mnt || finish "failed: ext4 on $2"
    dd if=/dev/urandom of=/mnt/file bs=1M count=50 2> /dev/null
    umount /mnt
    media=$(bytes_of "$disk") host=$(bytes_of "$2")
    fio --eta=never --filename="/dev/$2" --output=/tmp/fio --output-format=json /writes.fio || { cat /tmp/fio; finish "failed: fio on $2"; }
    host=$(($(bytes_of "$2") - host))
    report "$1 before"
    echo "$1 milliseconds $(sed -n '/"write" : {/,/}/s/.*"runtime" : \([0-9]*\).*/\1/p' /tmp/fio | head -n 1)"
    "$3"
    report "$1 after"
}

# Media bytes per host byte since the writes began.
report() { awk -v name="$1" -v media=$(($(bytes_of "$disk") - media)) -v host=$host 'BEGIN { printf "%s %.2f\n", name, media / host }'; }

# dm-zoned looks for idle time after ten seconds without requests, and once more when it is resumed.
kernel_idle() {
    name=$(dmsetup ls | cut -f 1)
    dmsetup suspend "$name" && dmsetup resume "$name" || finish "failed: dmsetup"
    sleep 13
    settle
}

# The layer dm-zoned waits as long.
ours_idle() {
    sleep 13
    settle
}

dmzadm --format "/dev/$disk" --force > /dev/null && dmzadm --start "/dev/$disk" > /dev/null || finish "failed: dmzadm"
measure kernel dm-0 kernel_idle
dmsetup remove_all

settings=
for setting in "$@"; do settings="$settings --set $setting"; done
format() { imbrex format "/dev/$disk" --layer "$layer" $settings --force > /dev/null || finish "failed: imbrex format"; }

format
serve_ublk --sector 4096
measure ublk ublkb0 ours_idle
leave_ublk TERM

format
serve
measure nbd nbd0 ours_idle
leave TERM
finish done
