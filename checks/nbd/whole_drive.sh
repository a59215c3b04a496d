#!/bin/bash
# What a log on a whole drive of 18 TB takes: formatting it, in time and in room on the host; and the server, in memory
# and in time to recover when it was killed: empty, with GIBS GiB written in order, as much more with every block of a
# stretch written at random, and as much more in single blocks from all over the drive. Everything is read back. Each is
# also printed for a terabyte: by how much it is more than before. LAYERS are the layers.
set -euo pipefail
cd "$(dirname "$0")"

GIBS=${GIBS:-4} LAYERS=${LAYERS:-log-greedy}
profile=release
# Not every file system has files that long.
check="whole drive"
. ./server.sh

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# LAYER WHAT ARGUMENTS...: writes or reads back what is there.
content() {
    local arguments
    case $2 in
        "in order") arguments=(--rw=write --bs=1m --size="${GIBS}g") ;;
        "at random") arguments=(--rw=randwrite --bs=4k --offset=100g --size="${GIBS}g") ;;
        "all over") arguments=(--rw=randwrite --bs=4k --offset=1000g --size=13000g --io_size="${GIBS}g" --norandommap) ;;
    esac
    fio --name=content --ioengine=nbd --uri="$(uri "$1")" --iodepth=16 --randseed=7 \
        --verify=crc32c --verify_fatal=1 --verify_state_save=0 \
        --output="$work/fio" "${arguments[@]}" "${@:3}" || fail "fio of what is $2 on $1: $(tail -n 3 "$work/fio")"
}

# LAYER WHAT: kills the server, starts it again, and says what that took and what it has taken before.
recover() {
    local layer=$1 what=$2 served recovered start took used
    served=$(mib "$layer")
    kill_server "$layer"
    start=$(now_ms)
    serve "$layer" --idle-after 3600000
    took=$(($(now_ms) - start)) recovered=$(mib "$layer") used=$(number "$layer" journal_used)
    awk -v layer="$layer" -v what="$what" -v gibs="$GIBS" -v served="$served" -v recovered="$recovered" -v used="$used" \
        -v took="$took" -v before="$before" -v took_before="$took_before" 'BEGIN {
        printf "%s: %s, %d MiB; recovered in %d ms from %d blocks of journal, %d MiB", layer, what, served, took, used, recovered
        tb = gibs * 2 ^ 30 / 1e12
        if (before) printf "; for each TB %.1f GiB and %.0f s", (recovered - before) / 1024 / tb, (took - took_before) / 1000 / tb
        print "" }'
    before=$recovered took_before=$took
}

need_programs nbdkit:nbdkit fio:fio
build
for layer in $LAYERS; do
    start=$(now_ms)
    format "$layer" "$layer" exos-x18z 18TB
    took=$(($(now_ms) - start))
    echo "$layer: formatted in $took ms, $(($(du -k "$images/$layer.img" | cut -f 1) / 1024)) MiB of the host"
    serve "$layer" --idle-after 3600000
    before='' took_before=''
    recover "$layer" "empty"
    for what in "in order" "at random" "all over"; do
        content "$layer" "$what" --do_verify=0 --end_fsync=1
        recover "$layer" "$what"
        content "$layer" "$what" --verify_only
    done
    stop "$layer"
    rm "$images/$layer.img"
done
