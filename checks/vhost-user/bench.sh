#!/bin/bash
# How fast volumes are served to virtual machines: random writes of 4 KiB, 32 at a time, by vhost-user on an image in
# memory, and as many by fio over NBD on nbdkit's file plugin there, by turns in one run. For each layer the medians of
# all rounds: of the ratio of writes a second, and of that of the processor's time that the servers take for as much, and
# the layer's own of both. A guest is played by a program of ours, so that no emulation counts. `<` and `>` mark what
# misses what is aimed for: twice the writes a second, and of the processor's time 1.0 with `fifo-log` and `dm-zoned`, 1.4
# with caches and `tracklace`, and 1.15 with all others.
# ROUNDS is how often, and LAYERS which layers. With PROGRAMS the folder has the program `writes`, too.
set -euo pipefail
cd "$(dirname "$0")"

ROUNDS=${ROUNDS:-5} LAYERS=${LAYERS:-fifo-log log-greedy sepbit dm-zoned tracklace lru-cache sac conventional}
profile=${PROFILE:-release}
check="vhost-user bench"
. ../nbd/server.sh
. ../nbd/drives.sh

# What is written: less than buffers hold.
writes=24576 depth=32 mib=1024

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

# Writes a second, and the processor's time that the server takes for all, in ticks.
of_file() {
    local before rate
    rm -f "$images/file.raw" && truncate -s "${mib}M" "$images/file.raw"
    begin "$images/file.sock" nbdkit --foreground --unix "$images/file.sock" file "$images/file.raw"
    before=$(ticks_of "$server")
    rate=$(fio --name=bench --ioengine=nbd --uri="$(uri file)" --output-format=terse --terse-version=3 --rw=randwrite \
        --bs=4k --iodepth="$depth" --size="${mib}M" --io_size=$((writes * 4096)) 2> "$work/fio" |
        awk -F ';' '/^3;/ { print $49 }')
    echo "$rate $(($(ticks_of "$server") - before))"
    end
}

# LAYER FAMILY: the same of a volume as new.
of_volume() {
    local before rate stores
    format_new "$1" "$2"
    mapfile -t stores < <(stores "$1")
    begin "$images/volume.sock" "$imbrex" serve "${stores[@]}" --vhost-user "$images/volume.sock" --idle-after 3600000
    before=$(ticks_of "$server")
    rate=$("$played" "$images/volume.sock" "$writes" "$depth" "$mib")
    echo "$rate $(($(ticks_of "$server") - before))"
    end
    rm -f "$images/$1".{img,ssd}
}

need_programs nbdkit:nbdkit fio:fio
build
if [ -n "${PROGRAMS:-}" ]; then
    played=$PROGRAMS/writes
else
    cargo build --quiet --locked --package imbrex-vhost --example writes --profile "$profile" || fail "it does not build"
    played=$(dirname "$imbrex")/examples/writes
fi

echo "| layer | writes a second | of the file plugin's | processor, µs | of the file plugin's |"
echo "|---|---|---|---|---|"
"$imbrex" list layers --format json | sed -n 's/^ *"\(name\|family\)": "\(.*\)",$/\2/p' | paste - - > "$work/layers"
while read -u 3 -r name family; do
    [[ " $LAYERS " == *" $name "* ]] || continue
    rm -f "$work/rounds"
    for round in $(seq "$ROUNDS"); do
        # Whoever comes first finds the machine as the other left it.
        if ((round % 2)); then
            theirs=$(of_file) ours=$(of_volume "$name" "$family")
        else
            ours=$(of_volume "$name" "$family") theirs=$(of_file)
        fi
        echo "$ours $theirs" >> "$work/rounds"
    done
    column() { awk -v micros="$((1000000 / ticks))" -v writes="$writes" "{ printf \"%.4f\n\", $1 }" "$work/rounds" | median; }
    echo "$name $(column '$1') $(column '$1 / $3') $(column '$2 * micros / writes') $(column '$2 / $4')" |
        awk -v most="$(processor_aim "$name" "$family" random)" '{ printf "| `%s` | %d | %.2f%s | %.1f | %.2f%s |\n",
            $1, $2, $3, ($3 < 2 ? " <" : ""), $4, $5, ($5 > most ? " >" : "") }'
done 3< "$work/layers"
