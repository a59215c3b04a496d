#!/bin/bash
# How much memory a server takes. First 20 TB host-managed images with a buffer of 1 %, served, and written to at random
# in blocks of 4 KiB. Prints how long formatting took and its memory, the server's memory before the writes and after
# each GiB, and MiB for each GiB that the map holds then. GIBS is how much is written, LAYERS by which layers.
#
# Then layers that clean all the time (CLEANED), on 4 GiB of an 18 TB drive's zones: filled, overwritten at random
# (CLEANED_GIBS), and trimmed. Fails when a server is ever larger than `imbrex format` said, or keeps more than KEPT MiB
# beyond what it had at first when everything is trimmed.
#
# And clients with requests of 32 MiB, whose buffers are counted while they are connected.
set -euo pipefail
cd "$(dirname "$0")"

GIBS=${GIBS:-2} LAYERS=${LAYERS-fifo-log} CLEANED=${CLEANED-log-greedy} CLEANED_GIBS=${CLEANED_GIBS:-4} KEPT=${KEPT:-64}
profile=${PROFILE:-release}
# Not every file system has files that long.
check="memory"
. ./server.sh

# Blocks in the buffer, which are what the map holds.
mapped() { number "$1" used_blocks; }

write_at_random() {
    fio --name=writes --ioengine=nbd --uri="$(uri "$1")" --rw=randwrite --bs=4k --iodepth=32 --size="$2" --io_size=1g \
        --randrepeat=0 --norandommap --output="$work/fio" || fail "fio on $1: $(tail -n 3 "$work/fio")"
}

measure_growth() {
    local layer=$1 start before gib
    start=$(date +%s%N)
    format "$layer" "$layer" exos-x18z 20TB --buffer 1%
    echo "$layer: formatted in $((($(date +%s%N) - start) / 1000000)) ms"
    serve "$layer" --idle-after 3600000
    before=$(mib "$layer")
    echo "$layer: served with $before MiB"
    for gib in $(seq "$GIBS"); do
        write_at_random "$layer" 18000g
        awk -v gib="$gib" -v now="$(mib "$layer")" -v before="$before" -v blocks="$(mapped "$layer")" -v layer="$layer" \
            'BEGIN { held = blocks * 4096 / 2 ^ 30; printf "%s: %d GiB written, %d MiB, %.1f for each GiB mapped\n", layer, gib, now, (now - before) / held }'
        is_bounded "$layer"
    done
    stop "$layer"
    rm "$images/$layer.img"
}

measure_cleaning() {
    local layer=$1 before size gib now waited
    format "$layer" "$layer" exos-x18z 4GiB
    serve "$layer"
    before=$(mib "$layer") size=$(number "$layer" capacity_bytes)
    echo "$layer: served with $before MiB, at most $(($(number "$layer" most_bytes) >> 20)) MiB stated"
    fio --name=fill --ioengine=nbd --uri="$(uri "$layer")" --rw=write --bs=1m --iodepth=8 --size="$size" --output="$work/fio" ||
        fail "fio cannot fill $layer: $(tail -n 3 "$work/fio")"
    for gib in $(seq "$CLEANED_GIBS"); do
        write_at_random "$layer" "$size" &
        # Also while it is cleaning.
        while kill -0 $! 2> /dev/null; do
            is_bounded "$layer"
            sleep 1
        done
        wait $!
        echo "$layer: $gib GiB overwritten, $(mib "$layer") MiB"
    done
    fio --name=trim --ioengine=nbd --uri="$(uri "$layer")" --rw=trim --bs=64m --size="$size" --output="$work/fio" ||
        fail "fio cannot trim $layer: $(tail -n 3 "$work/fio")"
    for waited in $(seq 20); do
        now=$(mib "$layer")
        [ "$now" -gt $((before + KEPT)) ] || break
        sleep 1
    done
    [ "$now" -le $((before + KEPT)) ] || fail "a server with $layer keeps $now MiB when nothing is mapped, $before at first"
    echo "$layer: everything trimmed, $now MiB"
    stop "$layer"
    rm "$images/$layer.img"
}

# Clients whose requests are long: nbdkit has a buffer for each that is under way.
measure_clients() {
    local said
    format clients fifo-log small-zoned 1GiB
    serve clients
    said=$(number clients most_bytes)
    fio --name=reads --ioengine=nbd --uri="$(uri clients)" --rw=randread --bs=32m --iodepth=8 --numjobs=4 --size=900m \
        --output="$work/fio" &
    while kill -0 $! 2> /dev/null; do
        is_bounded clients
        # What is there while clients are connected.
        said="$said $(number clients most_bytes)"
        sleep .1
    done
    wait $! || fail "fio cannot read: $(tail -n 3 "$work/fio")"
    echo "$said" | tr ' ' '\n' | sort -n | awk '{ at[NR] = $1 / 2 ^ 20 }
        END { printf "clients of 32 MiB: at most %d MiB stated without them, %d MiB with them\n", at[1], at[NR] }'
    stop clients
    rm "$images/clients.img"
}

need_programs nbdkit:nbdkit fio:fio
build
for layer in $LAYERS; do measure_growth "$layer"; done
for layer in $CLEANED; do measure_cleaning "$layer"; done
measure_clients
