# What a client or a scraper can send, and panics: neither ends or hangs a served disk. To be sourced after server.sh.
# ATTACKS is how often each request is sent, SEED what they are drawn from.

# While fio verifies what it writes, hostile clients do what they can. The server of the volume stays the one that it
# was, fio is content, and the end takes no notice of who is connected.
check_attacks() {
    local name=$1 server load attackers ports web
    format "$name" fifo-log small-zoned 256MiB
    serve "$name" --http 0 --metrics 0
    mapfile -t ports < <(web_ports "$name")
    [ ${#ports[@]} = 2 ] || fail "where $name is told about is not said: $(cat "$work/$name.said")"
    server=$(cat "$work/$name.pid")
    fio --name=verified --ioengine=nbd --uri="$(uri "$name")" --rw=randwrite --bs=16k --iodepth=8 --size=64M --loops=1000000 --verify=crc32c \
        --verify_fatal=1 --verify_state_save=0 --output="$work/$name.fio" > "$work/$name.load" 2>&1 &
    load=$!
    rm -f "$work/$name.hold" && mkfifo "$work/$name.hold"
    ./attacks.py "${SEED:-1}" "${ATTACKS:-25}" "$images/$name.sock.control" "${ports[@]}" > "$work/$name.attacks" 2>&1 < "$work/$name.hold" &
    attackers=$!
    exec 7> "$work/$name.hold"
    until grep -q 'clients that say nothing' "$work/$name.attacks"; do
        kill -0 $attackers 2> /dev/null || fail "attacks on $name with SEED=${SEED:-1}: $(tail -n 3 "$work/$name.attacks")"
        sleep 0.1
    done
    # It reads when it has written, to compare, and then begins again.
    until [ "$(number "$name" host_read)" -gt 0 ]; do
        kill -0 $load 2> /dev/null || break
        sleep 0.1
    done
    kill -0 $load 2> /dev/null || fail "fio finds fault with $name under attack: $(tail -n 3 "$work/$name.load")"
    web=$(pgrep -P "${servers[$name]}" -f ' web ')
    # It is told once a second.
    until_said "$name" 'service web: 0 restarts, [1-9]'
    [ "$(cat "$work/$name.pid")" = "$server" ] && kill -0 "$server" || fail "the server of $name is another one after attacks"
    is_told_again "$name" "$web" "${ports[@]}"
    stop "$name"
    ! kill -0 "$web" 2> /dev/null || fail "what tells about $name has outlived its server"
    exec 7>&-
    wait $attackers || fail "attacks on $name: $(tail -n 3 "$work/$name.attacks")"
    wait $load 2> /dev/null || true
    rm "$images/$name.img"
    say "$(head -n 1 "$work/$name.attacks"): the disk is served as if there were none"
}

# NAME WHAT: the status of a volume says so, now or later.
until_said() {
    until "$imbrex" status "$images/$1.img" | grep -q "$2"; do
        kill -0 "${servers[$1]}" 2> /dev/null || fail "the server of $1 ended before it said '$2'"
        sleep 0.1
    done
}

# NAME PROCESS PORT...: what tells about a volume is started again when it ends, at the same ports, and that is said.
is_told_again() {
    local port
    kill -9 "$2"
    until_said "$1" 'service web: 1 restarts'
    web=$(pgrep -P "${servers[$1]}" -f ' web ')
    for port in "${@:3}"; do
        (exec 8<> "/dev/tcp/127.0.0.1/$port") || fail "nothing is told about $1 at port $port any more"
    done
}

# NAME KIND: how many microseconds a server takes to end beside such clients, in `took`.
end_beside() {
    local ports clients began
    serve "$1" --http 0 --metrics 0
    mapfile -t ports < <(web_ports "$1")
    rm -f "$work/$1.hold" && mkfifo "$work/$1.hold"
    ./silent.py "$2" "$images/$1.sock" "${ports[@]}" > "$work/$1.clients" 2>&1 < "$work/$1.hold" &
    clients=$!
    exec 7> "$work/$1.hold"
    until grep -q ' clients$' "$work/$1.clients"; do
        kill -0 $clients 2> /dev/null || fail "$2 clients cannot be at $1: $(tail -n 1 "$work/$1.clients")"
        sleep 0.05
    done
    began=${EPOCHREALTIME/./}
    stop "$1"
    took=$((${EPOCHREALTIME/./} - began))
    exec 7>&-
    wait $clients || fail "$2 clients of $1: $(tail -n 1 "$work/$1.clients")"
}

# A server ends beside whoever is connected. It waits for nobody but a client that takes no replies, so that takes
# longer; a machine may be busy, and once in three times has to do.
check_ends_beside_clients() {
    local least= took
    format "$1" fifo-log small-zoned 256MiB
    for _ in 1 2 3; do
        end_beside "$1" silent
        [ -n "$least" ] && [ "$least" -lt "$took" ] || least=$took
    done
    end_beside "$1" stubborn
    [ "$least" -lt "$took" ] || fail "a server waits for clients that say nothing: $least us, and $took us for one that takes no replies"
    rm "$images/$1.img"
    say "a server ends in $((least / 1000)) ms beside clients that say nothing, and in $((took / 1000)) ms beside one that takes no replies"
}

# Where the page and the metrics are told.
web_ports() { grep -o '127.0.0.1:[0-9]*/' "$work/$1.said" | sed 's/.*:\([0-9]*\).*/\1/'; }

# Waits until a server ends, for longer than anything may take.
is_ending() {
    local waited
    for waited in $(seq 2400); do
        kill -0 "${servers[$1]}" 2> /dev/null || return 0
        sleep 0.05
    done
    return 1
}

# Has a server end while a client is there, for which nbdkit waits: without one it might end before anything else does.
end_beside_a_client() {
    io "$1" -c 'read 0 4096' -c 'sleep 100000' > "$work/idle" 2>&1 &
    idle=$!
    until [ "$(number "$1" host_read)" -gt 0 ]; do
        kill -0 $idle 2> /dev/null || fail "no client can be at $1: $(tail -n 1 "$work/idle")"
        sleep 0.05
    done
    kill -TERM "${servers[$1]}"
}

# A thread that panics ends the server in order, or costs no more than an answer; nothing hangs. Injected panics are in
# programs with debug assertions only.
check_panics() {
    local name=$1 place idle
    [ "$profile" = dev ] || return 0
    format "$name" fifo-log small-zoned 256MiB --checksums --set fifo-log.idle_free=1.0
    for place in worker request cleaner scrub allocator ending; do
        rm -f "$work/$name.panic"
        IMBREX_PANIC=$place@$work/$name.panic serve "$name" --idle-after 1
        : > "$work/$name.panic"
        case $place in
            scrub) "$imbrex" scrub "$images/$name.img" > "$work/scrub" 2>&1 || true ;;
            ending) end_beside_a_client "$name" ;;
            # Blocks here and there, for cleaning to have something to do.
            *) seq 200 | awk '{ print "write -P 1", $1 * 37 % 50 * 1048576, 4096 } END { print "flush" }' | io "$name" > "$work/io" 2>&1 || true
                "$imbrex" clean "$images/$name.img" > "$work/clean" 2>&1 || true ;;
        esac
        is_ending "$name" || fail "a panic of '$place' leaves the server of $name as it is"
        ! wait "${servers[$name]}" || fail "the server of $name ended without an error although its thread '$place' panicked"
        unset "servers[$name]"
        tail -n 1 "$work/$name.log" | grep -q 'may not be durable: thread .* panicked' ||
            fail "a panic of '$place' is not said: $(tail -n 3 "$work/$name.log")"
        [ ! -e "$images/$name.sock" ] && [ ! -e "$images/$name.sock.control" ] || fail "a panic of '$place' leaves sockets behind"
    done
    kill $idle 2> /dev/null || true
    rm "$work/$name.panic"
    IMBREX_PANIC=control@$work/$name.panic serve "$name"
    : > "$work/$name.panic"
    ! "$imbrex" status "$images/$name.img" > "$work/status" 2>&1 || fail "a panic is no error to whoever asked"
    rm "$work/$name.panic"
    "$imbrex" status "$images/$name.img" | grep -q 'service control: 1 restarts' || fail "nothing is said of a panic at the control socket"
    stop "$name"
    rm "$images/$name.img"
    say "a thread that panics ends the server in order, wherever it is"
}
