#!/bin/bash
# How fast volumes are served: fio over NBD on an image in memory, and the same on nbdkit's file plugin there, by turns
# in one run, so that what else the machine does touches both. Prints the medians and their ratio, and says whether they
# are at least what is aimed for: half for random writes of 4 KiB at depth 32 while nothing is cleaned, 0.7 for
# sequential ones of 1 MiB. Then latencies with a flush after every write, and while cleaning runs. ROUNDS is how often,
# SIZE how much is written each time.
set -euo pipefail
cd "$(dirname "$0")"

ROUNDS=${ROUNDS:-5} SIZE=${SIZE:-160M}
profile=release
work=$(mktemp -d)
images=$(mktemp -d -p "${IMAGES:-/dev/shm}")
check="nbd bench" required=IMBREX_REQUIRE_PEERS
. ../peers.sh
. ./server.sh
trap 'stop_all > /dev/null 2>&1; [ -z "${file:-}" ] || kill "$file" 2> /dev/null || true; rm -rf "$work" "$images"' EXIT

# NAME FIELD ARGUMENTS...: one number of a run of fio, by its place in fio's terse output.
measured() {
    fio --name=bench --ioengine=nbd --uri="$(uri "$1")" --size="$SIZE" --output-format=terse --terse-version=3 "${@:3}" \
        > "$work/fio" 2>&1 || fail "fio on $1: $(grep -v '^3;' "$work/fio" | tail -n 1)"
    sed -n 's/^3;/3;/p' "$work/fio" | cut -d ';' -f "$2"
}

median() { sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

# WHAT NAME FIELD AIM ARGUMENTS...
compare() {
    local round
    : > "$work/ours"
    : > "$work/file"
    for round in $(seq "$ROUNDS"); do
        # Both begin without room taken in memory.
        [[ "${*:5}" != *write* ]] || { truncate -s 0 "$images/file.raw" && truncate -s 1G "$images/file.raw"; }
        measured file "$3" "${@:5}" >> "$work/file"
        [[ "${*:5}" != *write* ]] || afresh "$2"
        measured "$2" "$3" "${@:5}" >> "$work/ours"
    done
    awk -v what="$1 ($2)" -v ours="$(median < "$work/ours")" -v file="$(median < "$work/file")" -v aim="$4" 'BEGIN {
        said = aim == 0 ? "" : sprintf(", aim %.1f: %s", aim, ours / file >= aim ? "met" : "missed")
        printf "%-42s ours %8d, file plugin %8d, ratio %.2f%s\n", what, ours, file, ours / file, said
    }'
}

# A volume as new, so that no cleaning has to make room.
afresh() {
    stop "$1"
    format "$1" "$1" exos-x18z "${sizes[$1]}"
    serve "$1" --idle-after 3600000
}

# NAME ARGUMENTS...: latencies of one run, in microseconds.
latencies() {
    fio --name=bench --ioengine=nbd --uri="$(uri "$1")" --output-format=json "${@:2}" 2> "$work/fio" |
        awk -F: '/"(read|write|sync)" *:/ { gsub(/[" ]/, "", $1); kind = $1 }
             /"99.000000"|"99.900000"/ { gsub(/[", ]/, ""); if ($2 > 0) { sub(/00000$/, "", $1); printf "  %s p%s %.0f us\n", kind, $1, $2 / 1000 } }' |
        sort -u
}

declare -A sizes=([fifo-log]=16GiB [log-greedy]=4GiB)
need_programs nbdkit:nbdkit fio:fio
build
truncate -s 1G "$images/file.raw"
nbdkit --foreground --unix "$images/file.sock" file "$images/file.raw" > "$work/file.log" 2>&1 &
file=$!
for name in fifo-log log-greedy; do
    format "$name" "$name" exos-x18z "${sizes[$name]}"
    serve "$name" --idle-after 3600000
done
for name in fifo-log log-greedy; do
    compare "4 KiB random writes, depth 32, IOPS" $name 49 0.5 --rw=randwrite --bs=4k --iodepth=32
    compare "1 MiB sequential writes, depth 4, KiB/s" $name 48 0.7 --rw=write --bs=1M --iodepth=4
    compare "1 MiB sequential reads, depth 4, KiB/s" $name 7 0.7 --rw=read --bs=1M --iodepth=4
    compare "4 KiB random reads, depth 32, IOPS" $name 8 0 --rw=randread --bs=4k --iodepth=32
done
echo "4 KiB random writes, a flush after each, on fifo-log:"
latencies fifo-log --rw=randwrite --bs=4k --iodepth=1 --fsync=1 --size=16M
echo "the same on the file plugin:"
latencies file --rw=randwrite --bs=4k --iodepth=1 --fsync=1 --size=16M

# Cleaning that never ends while requests are served: the buffer is filled anew all the time.
format cleaned fifo-log small-zoned 512MiB --buffer 4MiB
serve cleaned --idle-after 0
echo "4 KiB random reads and writes, 500 a second, while fifo-log cleans in steps of 100 ms at most:"
latencies cleaned --rw=randrw --bs=4k --iodepth=4 --size=256M --time_based --runtime=10 --rate_iops=250
"$imbrex" status "$images/cleaned.sock" | tail -n +5
