#!/bin/bash
# How much memory a server takes: 20 TB host-managed images with a buffer of 1 %, served, and written to at random in
# blocks of 4 KiB. Prints how long formatting took and its memory, the server's memory before the writes and after each
# GiB, and MiB for each GiB that the map holds then. GIBS is how much is written, LAYERS by which layers.
set -euo pipefail
cd "$(dirname "$0")"

GIBS=${GIBS:-2} LAYERS=${LAYERS:-fifo-log}
profile=release
work=$(mktemp -d)
# Not every file system has files that long.
images=$(mktemp -d -p "${IMAGES:-/dev/shm}")
check="memory" required=IMBREX_REQUIRE_PEERS
. ../peers.sh
. ./server.sh
trap 'stop_all > /dev/null 2>&1; rm -rf "$work" "$images"' EXIT

mib() { awk -v bytes="$(number "$1" resident_bytes)" 'BEGIN { print int(bytes / 1048576) }'; }

# Blocks in the buffer, which are what the map holds.
mapped() { number "$1" used_blocks; }

need_programs nbdkit:nbdkit fio:fio
build
for layer in $LAYERS; do
    start=$(date +%s%N)
    format "$layer" "$layer" exos-x18z 20TB --buffer 1%
    echo "$layer: formatted in $((($(date +%s%N) - start) / 1000000)) ms"
    serve "$layer" --idle-after 3600000
    before=$(mib "$layer")
    echo "$layer: served with $before MiB"
    for gib in $(seq "$GIBS"); do
        fio --name=writes --ioengine=nbd --uri="$(uri "$layer")" --rw=randwrite --bs=4k --iodepth=32 --size=18000g \
            --io_size=1g --randrepeat=0 --norandommap --output="$work/fio" || fail "fio on $layer"
        awk -v gib="$gib" -v now="$(mib "$layer")" -v before="$before" -v blocks="$(mapped "$layer")" -v layer="$layer" \
            'BEGIN { held = blocks * 4096 / 2 ^ 30; printf "%s: %d GiB written, %d MiB, %.1f for each GiB mapped\n", layer, gib, now, (now - before) / held }'
    done
    stop "$layer"
    rm "$images/$layer.img"
done
