#!/bin/bash
# What a map in pages costs a served log: a volume of 1 TB on an image in memory, with its whole map in memory and with
# pages of it, by turns in one run. First random writes over 1 GiB, whose pages are all in memory; then over the whole
# volume, with a hundredth of the map's pages in memory. Prints for each the median of the processor's time that the
# server took for a write, and of writes a second, over ROUNDS rounds of WRITES blocks, and the ratios. LAYERS is by which
# layers.
set -euo pipefail
cd "$(dirname "$0")"

ROUNDS=${ROUNDS:-9} WRITES=${WRITES:-65536} LAYERS=${LAYERS-log-greedy sepbit}
# As much as a drive of that size offers, and a hundredth of the bytes that places and holders take.
SIZE=1TB SPAN=900g HUNDREDTH=24MiB
profile=${PROFILE:-release}
check="map memory"
. ./server.sh
ticks=$(getconf CLK_TCK)

# NAME SPAN BLOCKS: writes at random.
write_at_random() {
    fio --name=writes --ioengine=nbd --uri="$(uri "$1")" --rw=randwrite --bs=4k --iodepth=32 --size="$2" \
        --io_size="$(($3 * 4))k" --randrepeat=0 --norandommap --output-format=terse --terse-version=3 > "$work/fio" 2>&1 ||
        fail "fio on $1: $(tail -n 3 "$work/fio")"
}

# NAME: the processor's time that its server has taken, in ticks.
used() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$(cat "$work/$1.pid")/stat"; }

# NAME SPAN: microseconds of the processor for a write, and writes a second.
measured() {
    local before after
    before=$(used "$1")
    write_at_random "$1" "$2" "$WRITES"
    after=$(used "$1")
    awk -v ticks="$((after - before))" -v each="$ticks" -v writes="$WRITES" \
        -v rate="$(sed -n 's/^3;/3;/p' "$work/fio" | cut -d ';' -f 49)" \
        'BEGIN { printf "%.2f %d\n", ticks * 1e6 / each / writes, rate }'
}

median() { sort -g | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

# TITLE LAYER SPAN MEMORY: a volume with the whole map in memory and one with so much of it, by turns.
compare() {
    local title=$1 layer=$2 span=$3 memory=$4 name round
    format whole "$layer" exos-x18z "$SIZE" --any-memory --map-memory all
    format pages "$layer" exos-x18z "$SIZE" --any-memory --map-memory "$memory"
    for name in whole pages; do
        serve "$name" --idle-after 3600000
        # What is mapped for the first time begins pages.
        write_at_random "$name" "$span" 262144
        : > "$work/$name.measured"
    done
    for round in $(seq "$ROUNDS"); do
        # Whoever is second finds a machine that was used.
        for name in $([ $((round % 2)) = 0 ] && echo whole pages || echo pages whole); do
            measured "$name" "$span" >> "$work/$name.measured"
        done
    done
    for name in whole pages; do
        awk '{ print $1 }' "$work/$name.measured" | median > "$work/$name.time"
        awk '{ print $2 }' "$work/$name.measured" | median > "$work/$name.rate"
        stop "$name"
        rm "$images/$name.img"
    done
    paste "$work"/{whole,pages}.{time,rate} | awk -v title="$title" -v layer="$layer" -v memory="$memory" \
        '{ printf "| %s | `%s` | %s | %.2f | %.2f | %.2f | %d | %d |\n", title, layer, memory, $1, $3, $3 / $1, $2, $4 }'
}

need_programs nbdkit:nbdkit fio:fio
build
echo "| writes over | layer | pages in memory | µs, whole map | µs, pages | ratio | writes a second, whole map | pages |"
echo "|---|---|---|---|---|---|---|---|"
for layer in $LAYERS; do
    compare "1 GiB" "$layer" 1g 1GiB
    compare "the volume" "$layer" "$SPAN" "$HUNDREDTH"
done
