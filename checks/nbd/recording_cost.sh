#!/bin/bash
# What recording costs: fio writes blocks of 4 KiB at random, 32 at a time, to a volume in memory that is recorded and to
# one that is not, by turns, so that what else the machine does touches both. Prints how many it writes in a second, and
# the server's processor time for a write, in microseconds: the medians, and the median of the ratios. ROUNDS is how
# often, SECONDS_EACH how long a run lasts at most.
set -euo pipefail
cd "$(dirname "$0")"

ROUNDS=${ROUNDS:-9} SECONDS_EACH=${SECONDS_EACH:-4}
profile=${PROFILE:-release}
check="recording's cost"
. ./server.sh

# ARGUMENTS...: writes in a second to a volume as new, served with these, and the processor time of one.
cost() {
    local ticks writes
    format volume log-greedy exos-x18z 4GiB
    serve volume --idle-after 3600000 "$@"
    fio --name=cost --ioengine=nbd --uri="$(uri volume)" --rw=randwrite --bs=4k --iodepth=32 --size=1G --io_size=512M \
        --runtime="$SECONDS_EACH" --output-format=terse --terse-version=3 > "$work/fio" 2>&1 || fail "fio: $(tail -n 1 "$work/fio")"
    # The thread that writes the recording looks five times in a second.
    sleep 0.5
    ticks=$(sed 's/.*) //' "/proc/$(cat "$work/volume.pid")/stat" | awk '{ print $12 + $13 }')
    stop volume
    rm -f "$images"/volume*
    writes=$(($(sed -n 's/^3;/3;/p' "$work/fio" | cut -d ';' -f 47) / 4))
    echo "$(sed -n 's/^3;/3;/p' "$work/fio" | cut -d ';' -f 49)" \
        "$(awk "BEGIN { printf \"%.2f\", $ticks * 1e6 / $(getconf CLK_TCK) / $writes }")"
}

median() { sort -g | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

need_programs nbdkit:nbdkit fio:fio
build
for _ in $(seq "$ROUNDS"); do
    plain=$(cost)
    recorded=$(cost --record "$images/volume.parquet")
    echo "$plain $recorded"
done | awk '{ print $0, $3 / $1, $4 / $2 }' > "$work/rounds"
for column in 1 3 5 2 4 6; do cut -d ' ' -f $column "$work/rounds" | median; done |
    xargs printf 'writes in a second: %s, recorded %s, ratio %.3f; microseconds of processor: %s, recorded %s, ratio %.3f\n'
