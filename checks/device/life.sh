# A file system's life on a volume over NBD. Sourced by guests' scripts.
. /serving.sh
modprobe nbd nbds_max=1

# A file system's life on $disk, under a layer; the second argument says what disk that is.
life() {
    imbrex format "/dev/$disk" --layer "$1" > /tmp/format || finish "failed: imbrex format"
    ! imbrex format "/dev/$disk" --layer "$1" 2> /tmp/refused || finish "failed: it is formatted twice"
    serve
    mkfs.ext4 -q -F /dev/nbd0 || finish "failed: mkfs.ext4"
    mount /dev/nbd0 /mnt || finish "failed: mount"
    fill first 8
    umount /mnt && mount /dev/nbd0 /mnt || finish "failed: remount"
    verify first
    rm /mnt/first*
    fill second 6
    fstrim /mnt || finish "failed: fstrim"
    umount /mnt
    check_files /dev/nbd0
    leave TERM
    serve
    mount /dev/nbd0 /mnt || finish "failed: mount after a restart"
    verify second
    fill third 2
    sync
    dd if=/dev/urandom of=/mnt/unfinished bs=1M count=4 2> /dev/null
    leave KILL
    umount /mnt
    serve
    # The journal of the file system is replayed by mounting it.
    mount /dev/nbd0 /mnt || finish "failed: mount after a kill"
    verify second
    verify third
    # One byte would be the one that is there now and then, since the file is random.
    printf changed | dd of=/mnt/third1 bs=1 seek=4097 conv=notrunc 2> /dev/null
    ! md5sum -c -s /tmp/third.sums || finish "failed: nobody notices changed bytes"
    umount /mnt
    check_files /dev/nbd0
    leave TERM
    ! grep 'an operation failed' /tmp/log || finish "failed: the disk refused what it was asked"
    echo "served $disk, $2: $1 found all files again after a restart and a kill, $(written) blocks written"
}
