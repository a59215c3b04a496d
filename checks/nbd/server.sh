# Volumes and their servers, for checks. To be sourced first, in this folder, after `check` names the check. `work` and
# `images` are folders of its own, the latter for images: in IMAGES, or in memory. `profile` is the profile that cargo
# builds, PROFILE or `dev`. With SKIP_BUILD what has been built is taken, and with PROGRAMS what is in that folder.

profile=${profile:-${PROFILE:-dev}} required=IMBREX_REQUIRE_PEERS
work=$(mktemp -d)
images=$(mktemp -d -p "${IMAGES:-$([ -w /dev/shm ] && echo /dev/shm || echo "$work")}")
. ../peers.sh

# What a check has to undo before its servers end; for checks to define.
leave() { :; }

finish() {
    leave
    stop_all > "$work/stopped" 2>&1 || true
    rm -rf "$work" "$images"
}
trap finish EXIT

say() { echo "$check: $1"; }

build() {
    local folder
    if [ -n "${PROGRAMS:-}" ]; then
        imbrex=$PROGRAMS/imbrex
        return
    fi
    [ -n "${SKIP_BUILD:-}" ] ||
        cargo build --quiet --locked --package imbrex-cli --package imbrex-nbdkit --profile "$profile" ||
        fail "it does not build"
    folder=${CARGO_TARGET_DIR:-$(git rev-parse --show-toplevel)/target}/$([ "$profile" = dev ] && echo debug || echo "$profile")
    imbrex=$folder/imbrex
}

uri() { echo "nbd+unix:///?socket=$images/$1.sock"; }

io() { qemu-io -f raw "$(uri "$1")" "${@:2}"; }

# NAME LAYER DRIVE SIZE ...: further arguments go to `imbrex format`.
format() {
    "$imbrex" format "$images/$1.img" --layer "$2" --drive "$3" --capacity "$4" --force "${@:5}" > "$work/$1.format"
}

# A cache on flash in front of a disk.
format_cache() {
    "$imbrex" format "$images/$1.ssd" "$images/$1.img" --layer "$2" --drive ssd-pore --drive "$3" --capacity 128MiB \
        --capacity "$4" --force > "$work/$1.format"
}

stores() {
    [ ! -e "$images/$1.ssd" ] || echo "$images/$1.ssd"
    echo "$images/$1.img"
}

# NAME ...: starts a server and waits until it serves. Further arguments go to `imbrex serve`.
serve() {
    local name=$1 stores waited place=(--socket "$images/$1.sock")
    [[ " ${*:2} " != *" --port "* ]] || place=()
    mapfile -t stores < <(stores "$name")
    rm -f "$work/$name.said"
    "$imbrex" serve "${stores[@]}" "${place[@]}" --pidfile "$work/$name.pid" "${@:2}" \
        > "$work/$name.said" 2>> "$work/$name.log" &
    servers[$name]=$!
    for waited in $(seq 2400); do
        grep -qs '^recovery' "$work/$name.said" && return
        kill -0 "${servers[$name]}" 2> /dev/null || break
        sleep 0.05
    done
    tail -n 3 "$work/$name.log" >&2
    fail "$name is not served after $waited looks"
}

# Waits until a server answers.
await() {
    local waited
    for waited in $(seq 2400); do
        ! status "$1" > /dev/null 2>&1 || return 0
        sleep 0.05
    done
    fail "$1 is not served any more: $(tail -n 1 "$work/$1.log")"
}

# Has a server end as it should.
stop() {
    # One that is reached over TCP does not say how it stands here.
    [ ! -S "$images/$1.sock" ] || is_bounded "$1"
    kill -TERM "${servers[$1]}"
    wait "${servers[$1]}" || fail "the server of $1 ended with status $?: $(tail -n 1 "$work/$1.log")"
    unset "servers[$1]"
    [ ! -e "$images/$1.sock" ] || fail "the server of $1 left its socket behind"
}

# Takes the server away as a power cut would take its process.
kill_server() {
    kill -9 "$(cat "$work/$1.pid")"
    ! wait "${servers[$1]}" 2> /dev/null || fail "the server of $1 was killed, and its status says that all was well"
    unset "servers[$1]"
}

stop_all() {
    local name
    for name in "${!servers[@]}"; do kill "${servers[$name]}" 2> /dev/null && wait "${servers[$name]}" || true; done
}

status() { "$imbrex" status "$images/$1.sock" --format json; }

# NAME FIELD: a number of the status, by the last part of its name.
number() { status "$1" | sed -n "s/^ *\"$2\": \([0-9.]*\).*/\1/p" | head -n 1; }

mib() { awk -v bytes="$(number "$1" resident_bytes)" 'BEGIN { print int(bytes / 1048576) }'; }

# A server is no larger than it was said to become. nbdkit's buffer for a request counts when the request has come, and
# on a busy machine that may be long after nbdkit has made it: then the next look finds it.
is_bounded() {
    local now is most look
    for look in $(seq 50); do
        now=$(status "$1")
        is=$(sed -n 's/^ *"resident_bytes": \([0-9]*\).*/\1/p' <<< "$now")
        most=$(sed -n 's/^ *"most_bytes": \([0-9]*\).*/\1/p' <<< "$now" | head -n 1)
        [ "$is" -gt "$most" ] || return 0
        sleep .1
    done
    fail "the server of $1 takes $((is >> 20)) MiB, and at most $((most >> 20)) were stated"
}

declare -A servers=()
