# A volume that grows while it is used: the conversion goes on under a load that never pauses and after its server was
# killed in the middle of it, everything that was flushed is there, clients see the new size when they connect again,
# and the file system on top grows with it. To be sourced after server.sh, file_systems.sh and kill.sh.

# The volume sees 152 MiB of its drive at first, and 76 more when all of it is shingled. It is converted from the end of
# what clients see on; this is the part that is written to meanwhile, in regions of 8 MiB.
GROWS=76MiB REGIONS="18 17"

check_growth() {
    local name=grown size round
    format_growing $name
    serve $name --throttle 2 --idle-after 3600000
    size=$(size_seen $name)
    check_growth_refused $name
    fio_on $name --name=old --rw=write --bs=64k --size=128M --end_fsync=1 --do_verify=0
    : > "$work/$name.expected"
    begin_growth $name
    [ "$(zones_left $name)" -gt 0 ] || fail "$name has grown before it could be killed: $(cat "$work/grow")"
    for round in $REGIONS; do
        load $name
        write_until_killed $name "$round" 512
        end_load
        serve $name --throttle 2 --idle-after 3600000
        [ "$(zones_left $name)" -gt 0 ] || fail "the growth of $name does not outlast its server, or ended before it"
        find_expected $name
    done
    "$imbrex" clean "$images/$name.sock" --throttle 100 > "$work/clean"
    load $name
    await_growth $name
    end_load
    find_expected $name
    notices_loss $name
    fio_on $name --name=old --rw=write --bs=64k --size=128M --verify_only
    [ "$(size_seen $name)" -ge $((size + 76 * 1048576)) ] || fail "clients see $(size_seen $name) bytes of $name, and $size before"
    fio_on $name --name=new --rw=randwrite --bs=64k --offset="$size" --size=72M
    stop $name
    check_whole $name
    rm "$images/$name.img"
}

# A file system that is killed with its server while the volume grows, and grown afterwards.
check_grown_file_system() {
    local name=growing before
    format_growing $name
    serve $name --throttle 2 --idle-after 50
    enter $name
    "$(program mkfs.ext4)" -q "$loop" > "$work/mkfs" 2>&1 || fail "mkfs.ext4: $(tail -n 1 "$work/mkfs")"
    mount "$loop" "$images/mounted"
    before=$(blocks_of_mounted)
    cp -r ../../crates "$images/mounted/old"
    head -c 60M /dev/urandom > "$images/mounted/random"
    sha256sum < "$images/mounted/random" > "$work/sum"
    sync -f "$images/mounted"
    begin_growth $name
    cp -r ../../crates "$images/mounted/lost" 2> "$work/lost" &
    sleep 0.3
    [ "$(zones_left $name)" -gt 0 ] || fail "$name has grown before it could be killed"
    kill_server $name
    wait $! || true
    # What the file system has not written yet cannot be written any more.
    { umount "$images/mounted" || umount -l "$images/mounted"; } 2> "$work/umount"
    leave_file_systems 2> "$work/umount"
    serve $name --idle-after 50
    await_growth $name
    enter $name
    PATH=$PATH:/sbin:/usr/sbin e2fsck -f -y "$loop" > "$work/fsck" 2>&1 || [ $? -le 1 ] || fail "e2fsck: $(tail -n 3 "$work/fsck")"
    "$(program resize2fs)" "$loop" > "$work/resize" 2>&1 || fail "resize2fs: $(tail -n 1 "$work/resize")"
    PATH=$PATH:/sbin:/usr/sbin e2fsck -f -n "$loop" > "$work/fsck" 2>&1 || fail "e2fsck: $(tail -n 3 "$work/fsck")"
    mount "$loop" "$images/mounted"
    [ "$(blocks_of_mounted)" -gt $((before * 5 / 4)) ] || fail "the file system does not grow: $(cat "$work/resize")"
    diff -r ../../crates "$images/mounted/old" || fail "$name does not hold the files that were on it when it was killed"
    [ "$(sha256sum < "$images/mounted/random")" = "$(cat "$work/sum")" ] || fail "$name does not hold what was written to it"
    umount "$images/mounted"
    leave_file_systems
    stop $name
    check_whole $name
    rm "$images/$name.img"
}

format_growing() { format "$1" zone-alloy small-hybrid 272MiB --buffer 8MiB; }

# More than there can be is refused, with the layer's reason, and nothing changes.
check_growth_refused() {
    ! "$imbrex" grow "$images/$1.sock" 1TiB > "$work/grow" 2>&1 || fail "$1 grows by more than there is"
    grep -q '^error: .*ask for at most those' "$work/grow" || fail "it is not said why $1 does not grow: $(cat "$work/grow")"
    [ -z "$(zones_left "$1")" ] || fail "$1 grows, though it said that it cannot"
}

begin_growth() {
    "$imbrex" grow "$images/$1.sock" $GROWS > "$work/grow" 2>&1 || fail "$1 does not grow: $(cat "$work/grow")"
    grep -q 'left to convert; a step delays a request by' "$work/grow" || fail "the status of $1 says nothing of growth"
    "$imbrex" status "$images/$1.sock" --format prometheus | grep -q '^imbrex_growth_zones_left [1-9]' ||
        fail "the metrics of $1 say nothing of growth"
}

await_growth() {
    local waited
    for waited in $(seq 3000); do
        [ -n "$(zones_left "$1")" ] || return 0
        sleep 0.1
    done
    fail "$1 does not grow to an end in $waited looks: $(zones_left "$1") zones are left"
}

# Nothing when it does not grow.
zones_left() { number "$1" zones_left; }

size_seen() { nbdinfo --size "$(uri "$1")"; }

# Requests that never pause, beside the regions that are looked at.
load() {
    fio --name=load --thread --ioengine=nbd --uri="$(uri "$1")" --rw=randrw --bs=4k --iodepth=32 --offset=128M --size=8M \
        --norandommap --time_based --runtime=600 --output="$work/load" > "$work/load.said" 2>&1 &
    loads=$!
}

end_load() {
    [ -n "${loads:-}" ] || return 0
    kill "$loads" 2> /dev/null || true
    wait "$loads" 2> /dev/null || true
    loads=''
}

# What was written must be read.
fio_on() {
    fio --ioengine=nbd --uri="$(uri "$1")" --iodepth=16 --verify=crc32c --verify_fatal=1 --verify_state_save=0 --randrepeat=1 \
        --output="$work/fio" "${@:2}" || fail "fio found on $1 what it did not write: $(tail -n 3 "$work/fio")"
}

blocks_of_mounted() { stat -f -c %b "$images/mounted"; }

check_whole() {
    "$imbrex" check "$images/$1.img" --read-data > "$work/check" 2>&1 || fail "imbrex check on $1: $(tail -n 3 "$work/check")"
}
