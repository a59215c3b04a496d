#!/bin/bash
# How long writes wait beside cleaning, layer by layer: volumes are written to at random until they clean, and then for
# SECONDS_EACH as fast as they answer and for as long at RATE writes a second. Prints what the server measured of the writes
# beside cleaning, how many were held back, and whether 99.9 % took ten steps at most. LAYERS is which: all that ever
# make room for writes, unless said otherwise. LOG_SIZE and LOG_SPAN are the size of logs and how much of it is written.
set -euo pipefail
cd "$(dirname "$0")"

SECONDS_EACH=${SECONDS_EACH:-20} RATE=${RATE:-100} STEP_MS=${STEP_MS:-100} LOG_SIZE=${LOG_SIZE:-4GiB} LOG_SPAN=${LOG_SPAN:-3400M}
ALL="log-greedy log-fifo log-cost-benefit log-choices cold-weight tuned-weight sepbit page-ftl
    fifo-log loop-back block-lru hashed-zones amphisbaena zone-ages zone-alloy dm-zoned skylight
    seagate seagate-two-phase track-flipping track-caching track-mapping tracklace lru-cache pore sac static-sets"
LAYERS=${LAYERS:-$ALL}
check="pacing"
. ./server.sh
. ./waits.sh

# NAME: a volume on which cleaning is much work for little room.
make() {
    case $1 in
        log-* | *-weight | sepbit) format "$1" "$1" exos-x18z "$LOG_SIZE" && span=$LOG_SPAN ;;
        page-ftl) format "$1" page-ftl ssd-pore 1GiB && span=900M ;;
        skylight) format "$1" skylight small-banded 1GiB && span=800M ;;
        seagate* | track*) format "$1" "$1" imrsim 512MiB && span=250M ;;
        zone-alloy) format "$1" zone-alloy small-hybrid 1GiB --buffer 16MiB --set zone-alloy.converted=1.0 && span=800M ;;
        dm-zoned) format "$1" dm-zoned small-zoned 1GiB && span=900M ;;
        lru-cache | pore | sac | static-sets) format_cache "$1" "$1" small-banded 1GiB && span=800M ;;
        *) format "$1" "$1" exos-x18z 4GiB --buffer 64MiB && span=3G ;;
    esac
}

# NAME WHAT: prints the server's numbers.
report() {
    awk -v name="$1" -v what="$2" -v count="$(beside "$1" count)" -v mean="$(beside "$1" mean_ms)" \
        -v most="$(beside "$1" p999_ms)" -v longest="$(beside "$1" max_ms)" -v held="$(number "$1" held_back)" \
        -v wa="$(number "$1" write_amplification)" -v bar=$((10 * STEP_MS)) -v iops="$3" 'BEGIN {
        printf "%-16s %-14s %8d a second, %7.2f written for each; beside cleaning %8d, mean %8.2f ms, p99.9 %8.1f, longest %8.1f, held back %7d: %s\n",
            name, what, iops, wa, count, mean, most, longest, held, most <= bar ? "within ten steps" : "exhausted" }'
}

iops() { sed -n 's/.*IOPS=\([0-9.k]*\).*/\1/p' "$work/fio" | head -n 1 | awk '/k/ { $1 *= 1000 } { print $1 + 0 }'; }

need_programs nbdkit:nbdkit fio:fio
build
for layer in $LAYERS; do
    make "$layer"
    serve "$layer" --step-ms "$STEP_MS"
    fio --name=fill --ioengine=nbd --uri="$(uri "$layer")" --rw=write --bs=1M --iodepth=4 --size=$span --output="$work/fio" ||
        fail "fio cannot fill $layer"
    overwrite "$layer" $span "$SECONDS_EACH"
    report "$layer" "at full speed" "$(iops)"
    stop "$layer"
    serve "$layer" --step-ms "$STEP_MS"
    overwrite "$layer" $span "$SECONDS_EACH" --rate_iops="$RATE"
    report "$layer" "at $RATE a second" "$(iops)"
    stop "$layer"
    rm -f "$images/$layer".{img,ssd}
done
