# A volume as a device of ublk's, in the guest: what the kernel knows of it, a file system, zeros, servers that are
# killed and that panic, and streams. Sourced by guest.sh, whose functions it uses.

# What the kernel knows of the device, and what it should.
knows() {
    known=$(cat "/sys/block/ublkb0/queue/$1")
    [ "$known" = "$2" ] || finish "failed: $1 of the device of ublk's is $known, and not $2"
}

# Writes MiB of random bytes to the device from a MiB on, and keeps them in a file. What follows is for dd.
random_to() {
    dd if=/dev/urandom of="/tmp/random$1" bs=1M count="$2" 2> /dev/null
    count=$2
    at=$1
    shift 2
    dd if="/tmp/random$at" of=/dev/ublkb0 bs=1M seek="$at" conv=notrunc,fsync "$@" 2> /dev/null
}

# Compares the device with that file, past what the kernel keeps of it.
same_as_random() {
    echo 3 > /proc/sys/vm/drop_caches
    dd if=/dev/ublkb0 bs=1M skip="$1" count="$2" 2> /dev/null | cmp -s - "/tmp/random$1" ||
        finish "failed: what was written at $1 MiB of the device of ublk's is not there: $3"
}

# Compares bytes of the device with zeros.
zeros() {
    dd if=/dev/zero of=/tmp/zeros bs=4k count="$2" 2> /dev/null
    echo 3 > /proc/sys/vm/drop_caches
    dd if=/dev/ublkb0 bs=4k skip="$1" count="$2" 2> /dev/null | cmp -s - /tmp/zeros ||
        finish "failed: $3 leaves something else than zeros"
}

ublk_limits() {
    knows logical_block_size 512
    knows physical_block_size 4096
    knows minimum_io_size 4096
    knows rotational 1
    knows discard_granularity 4096
    knows discard_max_bytes $((256 << 20))
    knows write_zeroes_max_bytes $((16 << 20))
    knows write_cache "write back"
    knows fua 1
}

# By its path: the shell would take its own, which writes no zeros.
ublk_zeros() {
    random_to 64 4 || finish "failed: the device of ublk's cannot be written"
    same_as_random 64 4 "written and flushed"
    /bin/blkdiscard -o $((64 << 20)) -l $((300 << 12)) /dev/ublkb0 || finish "failed: discard"
    zeros 16384 300 "discard"
    /bin/blkdiscard -z -o $((66 << 20)) -l $((200 << 12)) /dev/ublkb0 || finish "failed: write zeroes"
    zeros 16896 200 "write zeroes"
    # Less than a block of the volume.
    /bin/blkdiscard -z -o $(((67 << 20) + 512)) -l 1024 /dev/ublkb0 || finish "failed: write zeroes of two sectors"
    dd if=/dev/zero of=/tmp/random64 bs=512 seek=$(((3 << 11) + 1)) count=2 conv=notrunc 2> /dev/null
    echo 3 > /proc/sys/vm/drop_caches
    dd if=/dev/ublkb0 bs=64k skip=1072 count=16 2> /dev/null > /tmp/is
    dd if=/tmp/random64 bs=64k skip=48 count=16 2> /dev/null > /tmp/should
    cmp -s /tmp/is /tmp/should || finish "failed: zeros in two sectors change others"
}

ublk_files() {
    mkfs.ext4 -q -F /dev/ublkb0 && mount /dev/ublkb0 /mnt || finish "failed: ext4 over ublk"
    fill over 2
    umount /mnt && mount /dev/ublkb0 /mnt || finish "failed: remount over ublk"
    verify over
    umount /mnt
    e2fsck -fn /dev/ublkb0 > /tmp/e2fsck 2>&1 || { cat /tmp/e2fsck; finish "failed: e2fsck over ublk"; }
}

# A server is killed and another one takes the device over. What was flushed is there, and the next flush fails, once,
# since what was written without one may be lost.
ublk_kill() {
    random_to 128 4 || finish "failed: a write and a flush over ublk"
    dd if=/dev/urandom of=/dev/ublkb0 bs=1M seek=160 count=4 oflag=direct conv=notrunc 2> /dev/null
    leave_ublk KILL
    serve_ublk
    grep -q 'which a killed server left' /tmp/served || finish "failed: the device of ublk's is not taken over"
    same_as_random 128 4 "flushed before the server was killed"
    ! random_to 192 1 || finish "failed: the first flush after a kill does not fail"
    random_to 192 1 || finish "failed: the second flush after a kill fails"
    same_as_random 192 1 "flushed after the server was killed"
}

# Writes that are each durable when they are answered (FUA) go on while the server is killed, and all of them are there.
ublk_kill_beside_writes() {
    fio --eta=never --output=/tmp/fio --name=durable --filename=/dev/ublkb0 --direct=1 --sync=1 --rw=randwrite --bs=4k-32k \
        --offset=256m --size=16m --io_size=4m --ioengine=libaio --iodepth=8 --verify=crc32c --do_verify=1 --verify_fatal=1 &
    client=$!
    sleep 1
    leave_ublk KILL
    serve_ublk
    wait "$client" || { cat /tmp/fio /tmp/log; finish "failed: durable writes beside a server that is killed"; }
    ! sync_device || finish "failed: no flush fails after the second kill"
}

# A thread that panics ends the server, and says so. The device waits for the next one, and what was flushed is there.
# Injected panics are in programs with debug assertions only.
ublk_panics() {
    for place in queue request; do
        rm -f /tmp/panic
        IMBREX_PANIC=$place@/tmp/panic serve_ublk
        random_to 200 1 || random_to 200 1 || finish "failed: a write before a panic of '$place'"
        : > /tmp/panic
        dd if=/dev/ublkb0 bs=4k skip=1234 count=1 iflag=direct > /dev/null 2>&1 &
        client=$!
        ! wait "$server" || finish "failed: a server ended without an error although its thread '$place' panicked"
        tail -n 1 /tmp/log | grep -q 'may not be durable: thread .* panicked' || { tail -n 5 /tmp/log; finish "failed: a panic of '$place' is not said"; }
        [ ! -e /tmp/control ] || finish "failed: a panic of '$place' leaves the control socket behind"
        serve_ublk
        wait "$client" || finish "failed: what was asked of a server that panicked is not answered by the next one"
        same_as_random 200 1 "flushed before a panic of '$place'"
        ! sync_device || finish "failed: no flush fails after a panic of '$place'"
        leave_ublk TERM
    done
    rm /tmp/panic
}

# What is written in sequence reaches a layer in sequence, whichever thread brings it and whatever else wants the
# processor: then no layer writes anything twice, nor does it clean.
ublk_order() {
    (while :; do :; done) &
    busy=$!
    (while :; do :; done) &
    busy="$busy $!"
    store=/tmp/order.img
    for layer in fifo-log block-lru amphisbaena skylight; do
        drive=small-zoned
        [ $layer != skylight ] || drive=small-banded
        imbrex format $store --layer $layer --drive $drive --capacity 256MiB --force > /tmp/format || finish "failed: imbrex format"
        # On a busy machine the stream may pause for longer than layers wait before they clean.
        serve_ublk --idle-after 3600000
        fio --eta=never --output=/tmp/fio --name=stream --filename=/dev/ublkb0 --direct=1 --rw=write --bs=64k --size=16m --end_fsync=1 \
            --ioengine=libaio --iodepth=16 || { cat /tmp/fio /tmp/log; finish "failed: a stream over ublk"; }
        until imbrex status /tmp/control --format json > /tmp/status 2> /tmp/refused; do sleep 0.1; done
        written=$(sed -n 's/^ *"write_amplification": \([0-9.]*\).*/\1/p' /tmp/status)
        echo "$written" | awk '{ exit !($1 >= 1 && $1 < 1.05) }' || finish "failed: a stream comes to $layer in pieces: for each byte it writes $written"
        leave_ublk TERM
    done
    kill $busy
    rm $store
    unset store
}

sync_device() { dd if=/dev/zero of=/dev/ublkb0 bs=4k count=1 conv=notrunc,fsync 2> /dev/null; }

ublk_life() {
    modprobe ublk_drv || finish "failed: ublk_drv"
    ! imbrex serve --ublk=0 /dev/null 2> /tmp/refused || finish "failed: no volume is served over ublk"
    imbrex format "/dev/$disk" --layer "$1" --force > /tmp/format || finish "failed: imbrex format"
    serve_ublk
    ublk_limits
    ublk_zeros
    ublk_files
    ublk_kill
    ublk_kill_beside_writes
    leave_ublk TERM
    serve_ublk --sector 4096
    knows logical_block_size 4096
    same_as_random 128 4 "after a restart"
    same_as_random 192 1 "after a restart"
    leave_ublk TERM
    ublk_panics
    ublk_order
    echo "served $disk over ublk: $1 keeps what was flushed over two kills, with the device in use"
}
