#!/bin/bash
# What recording costs: fio writes blocks of 4 KiB at random, 32 at a time, to a volume in memory that is recorded and to
# one that is not, by turns, so that what else the machine does touches both. Prints the median of the ratios of their
# rates, and the rates. ROUNDS is how often, SECONDS_EACH how long a run lasts at most.
set -euo pipefail
cd "$(dirname "$0")"

ROUNDS=${ROUNDS:-9} SECONDS_EACH=${SECONDS_EACH:-4}
profile=${PROFILE:-release}
check="recording's cost"
. ./server.sh

# ARGUMENTS...: writes in a second to a volume as new, served with these.
rate() {
    format volume log-greedy exos-x18z 4GiB
    serve volume --idle-after 3600000 "$@"
    fio --name=cost --ioengine=nbd --uri="$(uri volume)" --rw=randwrite --bs=4k --iodepth=32 --size=1G --io_size=512M \
        --runtime="$SECONDS_EACH" --output-format=terse --terse-version=3 > "$work/fio" 2>&1 || fail "fio: $(tail -n 1 "$work/fio")"
    stop volume
    rm -f "$images"/volume*
    sed -n 's/^3;/3;/p' "$work/fio" | cut -d ';' -f 49
}

median() { sort -g | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

need_programs nbdkit:nbdkit fio:fio
build
for _ in $(seq "$ROUNDS"); do
    plain=$(rate)
    recorded=$(rate --record "$images/volume.parquet")
    echo "$plain $recorded $(awk "BEGIN { printf \"%.3f\", $recorded / $plain }")"
done > "$work/rounds"
for column in 1 2 3; do cut -d ' ' -f $column "$work/rounds" | median; done | xargs printf 'writes in a second: %s, recorded %s, ratio %s\n'
