#!/bin/bash
# Volumes with checksums: no block is taken for damaged after a server was killed while it was written to, one that is
# damaged is named by a scrub and is an I/O error, and what checksums cost is measured, by turns with the same volume
# without them in one run, so that what else the machine does touches both. ROUNDS is how often, SIZE how much is
# written each time, KILLS how often a server is killed.
set -euo pipefail
cd "$(dirname "$0")"

ROUNDS=${ROUNDS:-5} SIZE=${SIZE:-160M} KILLS=${KILLS:-5}
profile=${PROFILE:-release}
check="nbd scrub"
. ./server.sh

# NAME STATUS: scrubs a volume that nobody serves, or its server.
expect_scrub() {
    local status=0 volume=$images/$1.img
    [ -z "${servers[$1]:-}" ] || volume=$images/$1.sock
    "$imbrex" scrub "$volume" --throttle 100 --format json > "$work/scrubbed" 2> "$work/scrub.log" || status=$?
    [ $status = "$2" ] || fail "a scrub of $1 ends with $status and not with $2: $(cat "$work/scrub.log")"
}

write_at_random() {
    fio --name=scrub --ioengine=nbd --uri="$(uri "$1")" --rw=randwrite --bs=4k --iodepth=16 --output="$work/fio" \
        --size=128M "${@:2}"
}

check_kills() {
    local round client
    format "$1" "$@"
    for round in $(seq "$KILLS"); do
        serve "$1" --idle-after 20
        write_at_random "$1" --time_based --runtime=20 --fsync=64 > /dev/null 2>&1 &
        client=$!
        sleep "0.$((3 + RANDOM % 6))"
        kill_server "$1"
        wait $client 2> /dev/null || true
        expect_scrub "$1" 0
        serve "$1"
        expect_scrub "$1" 0
        [ "$(number "$1" damaged_blocks)" = 0 ] || fail "a block of $1 was taken for damaged"
        stop "$1"
    done
}

# A byte of the block that lies at the first place of the map changes.
check_damage() {
    local first offset
    serve "$1"
    write_at_random "$1" --end_fsync=1
    stop "$1"
    expect_scrub "$1" 0
    # What was written in the volume's first block, found by what it holds.
    serve "$1"
    expect_io "$1" <<< $'write -P 171 40960 4096\nflush'
    stop "$1"
    offset=$(LC_ALL=C grep -obUaP '\xab{4096}' "$images/$1.img" | head -n 1 | cut -d : -f 1)
    printf 'X' | dd of="$images/$1.img" bs=1 seek=$((offset + 1000)) conv=notrunc status=none
    expect_scrub "$1" 4
    grep -q '"first": 10' "$work/scrubbed" || fail "the damaged block is not named: $(cat "$work/scrubbed")"
    serve "$1"
    write_at_random "$1" --offset=1M --size=64M --time_based --runtime=3 > /dev/null 2>&1 &
    expect_scrub "$1" 4
    grep -q '"first": 10' "$work/scrubbed" || fail "the server does not name the block: $(cat "$work/scrubbed")"
    # Cleaning may have met the damaged block, which ends a life of the layer.
    wait $! || true
    ! qemu-io -f raw "$(uri "$1")" -c 'read 40960 4096' > "$work/read" 2>&1 || fail "a damaged block was read"
    expect_io "$1" <<< $'write -P 172 40960 4096\nread -P 172 40960 4096\nflush'
    expect_scrub "$1" 0
    stop "$1"
}

expect_io() { qemu-io -f raw "$(uri "$1")" > "$work/io" 2>&1 && ! grep -q 'failed\|error' "$work/io" || fail "$1: $(tail -n 1 "$work/io")"; }

# NAME FIELD ARGUMENTS...: one number of a run of fio, by its place in fio's terse output.
measured() {
    fio --name=cost --ioengine=nbd --uri="$(uri "$1")" --size="$SIZE" --output-format=terse --terse-version=3 "${@:3}" |
        sed -n 's/^3;/3;/p' | cut -d ';' -f "$2"
}

median() { sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

# WHAT LAYER FIELD ARGUMENTS...: with checksums and without, by turns.
compare() {
    local round name
    : > "$work/with"
    : > "$work/without"
    for round in $(seq "$ROUNDS"); do
        for name in without with; do
            [[ "${*:4}" != *write* ]] || afresh "$name" "$2"
            measured "$name" "$3" "${@:4}" >> "$work/$name"
        done
    done
    awk -v what="$1 ($2)" -v with="$(median < "$work/with")" -v without="$(median < "$work/without")" \
        'BEGIN { printf "%-54s with %8d, without %8d, ratio %.2f\n", what, with, without, with / without }'
}

# NAME LAYER: a volume as new.
afresh() {
    local sums=()
    [ "$1" = without ] || sums=(--checksums)
    [ -z "${servers[$1]:-}" ] || stop "$1"
    format "$1" "$2" "$(drive_for "$2")" 4GiB "${sums[@]}"
    serve "$1" --idle-after 3600000
}

drive_for() { [ "$1" = conventional ] && echo conventional-7200 || echo exos-x18z; }

need_programs nbdkit:nbdkit fio:fio qemu-io:qemu-utils
build
for layer in fifo-log conventional; do
    check_kills "$layer" "$([ $layer = conventional ] && echo conventional-7200 || echo small-zoned)" 256MiB --checksums
    check_damage "$layer"
    rm -f "$images/$layer.img"
done
say "after $KILLS kills of 2 layers every block matches its checksum, and one that was damaged is found"
for layer in fifo-log conventional; do
    compare "4 KiB random writes, depth 32, IOPS" $layer 49 --rw=randwrite --bs=4k --iodepth=32
    compare "1 MiB sequential writes, depth 4, KiB/s" $layer 48 --rw=write --bs=1M --iodepth=4
    compare "1 MiB sequential reads, depth 4, KiB/s" $layer 7 --rw=read --bs=1M --iodepth=4
    compare "4 KiB random reads, depth 32, IOPS" $layer 8 --rw=randread --bs=4k --iodepth=32
    compare "4 KiB random writes, a flush after each, IOPS" $layer 49 --rw=randwrite --bs=4k --iodepth=1 --fsync=1 --size=16M
    stop with
    stop without
done
