#!/bin/bash
# How fast volumes are served to virtual machines: random writes of 4 KiB, 32 at a time, and writes of 1 MiB one behind
# the other, 4 at a time, by vhost-user on an image in memory, and as many by fio over NBD on nbdkit's file plugin there,
# by turns in one run. For each layer the medians of all rounds: of the ratio of writes a second, and of that of the
# processor's time that the servers take for as much, and the layer's own of both. A guest is played by a program of ours,
# so that no emulation counts. `<` and `>` mark what misses what is aimed for: twice the writes a second, and of the
# processor's time 1.0 with `fifo-log` and `dm-zoned`, 1.4 with caches and `tracklace`, 1.15 with all others, and 1.1 for
# writes in order.
# The last line says what one thread does that only writes: no server with a thread for a queue can do more.
# ROUNDS is how often, and LAYERS which layers. With PROGRAMS the folder has the program `writes`, too.
set -euo pipefail
cd "$(dirname "$0")"

ROUNDS=${ROUNDS:-5} LAYERS=${LAYERS:-fifo-log log-greedy sepbit dm-zoned tracklace lru-cache sac conventional}
profile=${PROFILE:-release}
check="vhost-user bench"
. ../nbd/server.sh
. ../nbd/drives.sh

# Of each kind how many writes, of how many KiB, and how many at a time. They are less than buffers hold:
# of the 16 sets of `static-sets`, of 60 MiB each, 384 MiB in order fill a half of thirteen, and 512 MiB more than one.
declare -A writes=([random]=24576 [sequential]=384) kib=([random]=4 [sequential]=1024) depth=([random]=32 [sequential]=4)
declare -A how=([random]=randwrite [sequential]=write)
mib=1024

leave() { [ -z "${server:-}" ] || kill "$server" 2> /dev/null || true; }

# Starts a server, which is there when its socket is: its socket, and the command.
begin() {
    rm -f "$1"
    "${@:2}" > "$work/server.log" 2>&1 &
    server=$!
    until [ -S "$1" ]; do
        kill -0 "$server" 2> /dev/null || fail "$(tail -n 1 "$work/server.log")"
        sleep 0.05
    done
}

end() {
    kill "$server"
    wait "$server" || true
    server=
}

# KIND: writes a second, and the processor's time that the server takes for all, in ticks.
of_file() {
    local before rate
    truncate -s "${mib}M" "$images/file.raw"
    begin "$images/file.sock" nbdkit --foreground --unix "$images/file.sock" file "$images/file.raw"
    before=$(ticks_of "$server")
    rate=$(fio --name=bench --ioengine=nbd --uri="$(uri file)" --output-format=terse --terse-version=3 --rw="${how[$1]}" \
        --bs="${kib[$1]}k" --iodepth="${depth[$1]}" --size="${mib}M" --io_size=$((writes[$1] * kib[$1] * 1024)) 2> "$work/fio" |
        awk -F ';' '/^3;/ { print $49 }')
    echo "$rate $(($(ticks_of "$server") - before))"
    end
    # Whoever comes next is to find as much memory that was just in use.
    rm "$images/file.raw"
}

# KIND LAYER FAMILY: the same of a volume as new.
of_volume() {
    local before rate stores
    format_new "$2" "$3"
    mapfile -t stores < <(stores "$2")
    begin "$images/volume.sock" "$imbrex" serve "${stores[@]}" --vhost-user "$images/volume.sock" --idle-after 3600000
    before=$(ticks_of "$server")
    rate=$("$played" "$images/volume.sock" "${writes[$1]}" "${depth[$1]}" "$mib" "${kib[$1]}")
    echo "$rate $(($(ticks_of "$server") - before))"
    end
    rm -f "$images/$2".{img,ssd}
}

need_programs nbdkit:nbdkit fio:fio
build
if [ -n "${PROGRAMS:-}" ]; then
    played=$PROGRAMS/writes
else
    cargo build --quiet --locked --package imbrex-vhost --example writes --profile "$profile" || fail "it does not build"
    played=$(dirname "$imbrex")/examples/writes
fi

# KIND: writes a second of a thread that does nothing else.
of_nobody() {
    truncate -s "${mib}M" "$images/file.raw"
    "$played" "$images/file.raw" "${writes[$1]}" "${depth[$1]}" "$mib" "${kib[$1]}"
    rm "$images/file.raw"
}

# LAYER FAMILY KIND: all rounds; each writes a second and ticks, of the volume and of the file.
rounds() {
    local round ours theirs
    for round in $(seq "$ROUNDS"); do
        # Whoever comes first finds the machine as the other left it.
        if ((round % 2)); then
            theirs=$(of_file "$3") ours=$(of_volume "$3" "$1" "$2")
        else
            ours=$(of_volume "$3" "$1" "$2") theirs=$(of_file "$3")
        fi
        echo "$ours $theirs"
    done > "$work/$3"
}

# KIND NUMBER: the median of what is to be had of each round.
column() { awk "{ printf \"%.4f\n\", $2 }" "$work/$1" | median; }

echo "| layer | random writes a second | of the file plugin's | processor, µs | of the file plugin's | MiB/s in order |" \
    "processor, of the file plugin's |"
echo "|---|---|---|---|---|---|---|"
"$imbrex" list layers --format json | sed -n 's/^ *"\(name\|family\)": "\(.*\)",$/\2/p' | paste - - > "$work/layers"
while read -u 3 -r name family; do
    [[ " $LAYERS " == *" $name "* ]] || continue
    rounds "$name" "$family" random
    rounds "$name" "$family" sequential
    echo "$name $(column random '$1') $(column random '$1 / $3') $(column random "\$2 * 1e6 / $ticks / ${writes[random]}")" \
        "$(column random '$2 / $4') $(column sequential '$1') $(column sequential '$2 / $4')" |
        awk -v most="$(processor_aim "$name" "$family" random)" -v in_order="$(processor_aim "$name" "$family" sequential)" \
            '{ printf "| `%s` | %d | %.2f%s | %.1f | %.2f%s | %d | %.2f%s |\n", $1, $2, $3, ($3 < 2 ? " <" : ""), $4,
            $5, ($5 > most ? " >" : ""), $6, $7, ($7 > in_order ? " >" : "") }'
done 3< "$work/layers"
echo "A thread that only writes: $(for round in $(seq "$ROUNDS"); do of_nobody random; done | median) at random," \
    "$(for round in $(seq "$ROUNDS"); do of_nobody sequential; done | median) MiB/s in order"
