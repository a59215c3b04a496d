#!/bin/bash
# How fast volumes are served: fio over NBD on an image in memory, and the same on nbdkit's file plugin there, by turns
# in one run, so that what else the machine does touches both. First every layer on a volume as new, with room in its
# buffer: for random writes, sequential ones, and writes with a flush after each, the median of the ratios of all
# rounds, and the layer's own median; for the first two also that of the processor's time that the server takes, for as
# much written. `<` and `>` mark what misses what is aimed for: 0.9 of the writes, 0.8 of the sequential ones, and of the
# processor's time 1.1 for sequential writes and for random ones 1.0 with `fifo-log` and `dm-zoned`, 1.4 with caches and
# `tracklace`, and 1.15 with all others. Then reads, and latencies with a flush after every write and while cleaning runs.
# ROUNDS is how often, LAYERS which layers, SECONDS_EACH how long a run lasts at most, THREADS how many threads serve
# volumes where that is not to be the default, and with READS=0 the table is all.
set -euo pipefail
cd "$(dirname "$0")"

ROUNDS=${ROUNDS:-3} LAYERS=${LAYERS:-} SECONDS_EACH=${SECONDS_EACH:-4} READS=${READS:-1}
profile=${PROFILE:-release}
check="nbd bench"
. ./server.sh
. ./drives.sh
leave() { [ -z "${file:-}" ] || kill "$file" 2> /dev/null || true; }

# What is measured: its place in fio's terse output, and fio's arguments. Writes are fewer than buffers hold, see the
# benchmark of vhost-user.
declare -A field=([random]=49 [sequential]=48 [flushed]=49 [reads]=7 [random-reads]=8)
declare -A job=(
    [random]="--rw=randwrite --bs=4k --iodepth=32 --size=1G --io_size=96M"
    [sequential]="--rw=write --bs=1M --iodepth=4 --size=384M"
    [flushed]="--rw=randwrite --bs=4k --iodepth=1 --fsync=1 --size=8M"
    [reads]="--rw=read --bs=1M --iodepth=4 --size=384M"
    [random-reads]="--rw=randread --bs=4k --iodepth=32 --size=384M"
)
declare -A aim=([random]=0.9 [sequential]=0.8 [flushed]=0) unit=([random]=1 [sequential]=1024 [flushed]=1)

# NAME: the processor's time that its server has taken, in ticks.
used() { ticks_of "$([ "$1" = file ] && echo "$file" || cat "$work/$1.pid")"; }

# NAME JOB: one number of a run of fio, and microseconds of the processor for each 4 KiB written.
measured() {
    local before
    before=$(used "$1")
    # shellcheck disable=SC2086 # the job is several arguments
    fio --name=bench --ioengine=nbd --uri="$(uri "$1")" --runtime="$SECONDS_EACH" --output-format=terse \
        --terse-version=3 ${job[$2]} > "$work/fio" 2>&1 || fail "fio on $1: $(grep -v '^3;' "$work/fio" | tail -n 1)"
    sed -n 's/^3;/3;/p' "$work/fio" | awk -F ';' -v field="${field[$2]}" -v used="$(($(used "$1") - before))" \
        -v ticks="$ticks" '{ print $field, ($47 > 0 ? used / ticks * 1e6 / ($47 / 4) : 0) }'
}

# LAYER FAMILY: a volume as new, served.
afresh() {
    [ -z "${servers[$1]:-}" ] || stop "$1"
    format_new "$1" "$2"
    serve "$1" --idle-after 3600000 ${THREADS:+--threads "$THREADS"}
}

# Where nothing takes room in memory yet.
empty_file() { truncate -s 0 "$images/file.raw" && truncate -s 1G "$images/file.raw"; }

ratio() { awk -v ours="$1" -v theirs="$2" 'BEGIN { printf "%.3f\n", (theirs > 0 ? ours / theirs : 0) }'; }

# LAYER FAMILY: a line of the table.
compare() {
    local round kind ours theirs
    rm -f "$work"/{ratio,processor,own}.*
    for round in $(seq "$ROUNDS"); do
        for kind in random sequential flushed; do
            empty_file
            theirs=$(measured file $kind)
            afresh "$1" "$2"
            ours=$(measured "$1" $kind)
            ratio "${ours% *}" "${theirs% *}" >> "$work/ratio.$kind"
            ratio "${ours#* }" "${theirs#* }" >> "$work/processor.$kind"
            echo "${ours% *}" >> "$work/own.$kind"
        done
    done
    printf '| `%s`' "$1"
    for kind in random sequential flushed; do
        awk -v ratio="$(median < "$work/ratio.$kind")" -v own="$(median < "$work/own.$kind")" -v aim="${aim[$kind]}" \
            -v unit="${unit[$kind]}" 'BEGIN { printf " | %.2f%s | %d", ratio, ratio < aim ? " <" : "", own / unit }'
        # Of writes with a flush there are too few.
        [ $kind = flushed ] || awk -v ratio="$(median < "$work/processor.$kind")" -v aim="$(processor_aim "$1" "$2" $kind)" \
            'BEGIN { printf " | %.2f%s", ratio, (ratio > aim ? " >" : "") }'
    done
    echo " |"
    stop "$1"
    rm -f "$images/$1".{img,ssd}
}

# NAME FAMILY: reads of what was written in order.
compare_reads() {
    local round kind
    afresh "$1" "$2"
    empty_file
    measured "$1" sequential > /dev/null
    measured file sequential > /dev/null
    for kind in reads random-reads; do
        rm -f "$work"/{ratio,own}.*
        for round in $(seq "$ROUNDS"); do
            echo "$(measured "$1" $kind) $(measured file $kind)" | awk '{ printf "%.3f\n", $1 / $3 }' >> "$work/ratio.$kind"
        done
        echo "$kind of $1: $(median < "$work/ratio.$kind") of the file plugin's"
    done
}

# NAME ARGUMENTS...: latencies of one run, in microseconds.
latencies() {
    fio --name=bench --ioengine=nbd --uri="$(uri "$1")" --output-format=json "${@:2}" 2> "$work/fio" |
        awk -F: '/"(read|write|sync)" *:/ { gsub(/[" ]/, "", $1); kind = $1 }
             /"99.000000"|"99.900000"/ { gsub(/[", ]/, ""); if ($2 > 0) { sub(/00000$/, "", $1); printf "  %s p%s %.0f us\n", kind, $1, $2 / 1000 } }' |
        sort -u
}

need_programs nbdkit:nbdkit fio:fio
build
empty_file
nbdkit --foreground --unix "$images/file.sock" file "$images/file.raw" > "$work/file.log" 2>&1 &
file=$!
until [ -S "$images/file.sock" ]; do sleep 0.05; done

echo "| layer | random writes | a second | processor | sequential | MiB/s | processor | flushed | a second |"
echo "|---|---|---|---|---|---|---|---|---|"
"$imbrex" list layers --format json | sed -n 's/^ *"\(name\|family\)": "\(.*\)",$/\2/p' | paste - - > "$work/layers"
while read -u 3 -r name family; do
    [[ -z $LAYERS || " $LAYERS " == *" $name "* ]] || continue
    compare "$name" "$family"
done 3< "$work/layers"
[ "$READS" = 1 ] || exit 0

for pair in fifo-log:shingled log-greedy:banded; do compare_reads "${pair%:*}" "${pair#*:}"; done
afresh fifo-log shingled
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
