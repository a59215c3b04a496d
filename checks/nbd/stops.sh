# Servers that are told to end, and servers that cannot say anything. To be sourced after server.sh.

# Ends within so many seconds of the signal, with little under way.
IN_TIME=20

check_stops() {
    format "$1" fifo-log small-zoned 256MiB --buffer 8MiB
    check_manager "$1"
    check_stop_beside_idle "$1"
    check_stop_beside_stubborn "$1"
    check_stop_of_parent "$1"
    check_second_signal "$1"
    check_output "$1"
    check_errors_are_logged "$1"
    rm "$images/$1.img"
    say "servers end beside idle clients, at once when told twice, and go on when nobody reads what they say"
}

# A service manager that asks is told when the volume is served and when it ends, in this order.
check_manager() {
    local manager told
    python3 -c 'import socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
    manager.bind(sys.argv[1])
    print("listening", flush=True)
    for _ in range(2):
        print(manager.recv(4096).decode(), end="", flush=True)' "$work/manager" > "$work/told" &
    manager=$!
    until grep -qs listening "$work/told"; do kill -0 $manager || fail "there is no Python"; sleep 0.05; done
    NOTIFY_SOCKET=$work/manager serve "$1"
    stop "$1"
    ends_in_time $manager "a manager that was told twice"
    told=$(grep -o '^[A-Z]*=[a-z1]*' "$work/told" | paste -sd ' ')
    [ "$told" = "READY=1 STATUS=serving STOPPING=1 STATUS=making" ] || fail "the service manager is told: $(cat "$work/told")"
}

# NAME: a client that has written, and then does nothing.
idle_client() {
    rm -f "$work/idle"
    qemu-io -f raw "$(uri "$1")" < <(echo 'write -P 66 1M 64k'; exec sleep 60) > "$work/idle" 2>&1 &
    idle=$!
    for _ in $(seq 600); do
        ! grep -qs wrote "$work/idle" || return 0
        sleep 0.05
    done
    fail "the client of $1 does not write: $(cat "$work/idle")"
}

# The client's own end is not the server's: what it wrote is made durable by the server.
leave_idle() {
    kill -9 "$idle" 2> /dev/null || true
    wait "$idle" 2> /dev/null || true
}

# PID WHAT: that process ends in time.
ends_in_time() {
    local waited
    for waited in $(seq $((IN_TIME * 20))); do
        kill -0 "$1" 2> /dev/null || return 0
        sleep 0.05
    done
    kill -9 "$1"
    fail "$2 does not end in $IN_TIME s: $waited looks"
}

check_stop_beside_idle() {
    local signal server
    for signal in TERM INT; do
        serve "$1"
        idle_client "$1"
        server=$(cat "$work/$1.pid")
        kill -$signal "${servers[$1]}"
        ends_in_time "$server" "a server beside an idle client, by SIG$signal,"
        wait "${servers[$1]}" || fail "SIG$signal beside an idle client ended with status $?: $(tail -n 1 "$work/$1.log")"
        unset "servers[$1]"
        [ ! -e "$images/$1.sock" ] && [ ! -e "$images/$1.sock.control" ] || fail "the server of $1 left a socket behind"
        leave_idle
    done
    serve "$1"
    expect_io "$1" <<< 'read -P 66 1M 64k'
    stop "$1"
}

# A client that asks for more than its socket holds and takes none of it: the server ends without it, and when nbdkit
# itself is told twice, at once.
check_stop_beside_stubborn() {
    local client server
    for times in once twice; do
        serve "$1"
        fio --name=stubborn --thread --ioengine=nbd --uri="$(uri "$1")" --rw=randread --bs=1M --iodepth=16 --size=64M --time_based \
            --runtime=60 --output="$work/stubborn" > "$work/stubborn.said" 2>&1 &
        client=$!
        until [ "$(number "$1" host_read)" -gt 0 ]; do sleep 0.05; done
        kill -STOP $client
        server=$(cat "$work/$1.pid")
        kill "$server"
        if [ $times = twice ]; then
            sleep 0.5
            kill -0 "$server" || fail "a client of $1 that takes no replies is not waited for"
            kill "$server"
        fi
        ends_in_time "$server" "a server beside a client that takes no replies, told $times,"
        if wait "${servers[$1]}"; then [ $times = once ]; else [ $times = twice ]; fi ||
            fail "a server that is told $times ends with another status: $(tail -n 1 "$work/$1.log")"
        unset "servers[$1]"
        kill -CONT $client
        wait $client 2> /dev/null || true
    done
}

# Without the program that the user started, nobody holds the volume.
check_stop_of_parent() {
    serve "$1"
    idle_client "$1"
    kill -9 "${servers[$1]}"
    wait "${servers[$1]}" 2> /dev/null || true
    unset "servers[$1]"
    ends_in_time "$(cat "$work/$1.pid")" "nbdkit without its parent"
    [ ! -e "$images/$1.sock" ] && [ ! -e "$images/$1.sock.control" ] || fail "nbdkit without its parent left a socket behind"
    leave_idle
    serve "$1"
    stop "$1"
}

# A server that stands still ends by the second signal, and says that something may be lost.
check_second_signal() {
    serve "$1"
    kill -STOP "$(cat "$work/$1.pid")"
    kill "${servers[$1]}"
    sleep 0.5
    kill -0 "${servers[$1]}" || fail "the first signal ends a server that stands still"
    kill "${servers[$1]}"
    ends_in_time "${servers[$1]}" "a server that was told twice"
    ! wait "${servers[$1]}" || fail "a server that was ended at once says that all was well"
    unset "servers[$1]"
    tail -n 1 "$work/$1.log" | grep -q 'second signal' || fail "a server that is ended at once says $(tail -n 1 "$work/$1.log")"
    [ ! -e "$images/$1.sock" ] && [ ! -e "$images/$1.sock.control" ] || fail "a server that was told twice left a socket behind"
    serve "$1"
    stop "$1"
}

# NAME ARGUMENTS...: serves without saying so where anybody looks; the caller has chosen where the output goes.
serve_unread() {
    "$imbrex" serve "$images/$1.img" --socket "$images/$1.sock" --pidfile "$work/$1.pid" "${@:2}" &
    servers[$1]=$!
}

# Waits until a server answers whose socket nobody says is there.
await_shown() {
    await "$1"
    for _ in $(seq 2400); do
        [ ! -S "$images/$1.sock" ] || return 0
        sleep 0.05
    done
    fail "the socket of $1 is not there"
}

# Standard error on a full device, with a warning for each slow step and an error for each request that fails; standard
# output that nobody reads.
check_output() {
    serve_unread "$1" --step-ms 1 --idle-after 20 > "$work/$1.said" 2> /dev/full
    await_shown "$1"
    expect_io "$1" <<< $'write -P 68 2M 16M\nwrite -P 69 20M 16M\nflush\nread -P 68 2M 16M'
    "$imbrex" clean "$images/$1.sock" --wait > "$work/clean" || fail "$1 is not cleaned when nothing can be said"
    stop "$1"
    serve_unread "$1" > >(exec true) 2>> "$work/$1.log"
    await_shown "$1"
    expect_io "$1" <<< 'read -P 68 2M 16M'
    stop "$1"
}

# What fails for a client is in the log, and is not why a server ends.
check_errors_are_logged() {
    local length
    serve "$1"
    expect_io "$1" <<< $'write -P 70 64M 1M\nflush'
    "$imbrex" clean "$images/$1.sock" --wait > "$work/clean"
    length=$(stat -c %s "$images/$1.img")
    truncate -s 20M "$images/$1.img"
    io "$1" -c 'read 64M 1M' > "$work/io" 2>&1 || true
    truncate -s "$length" "$images/$1.img"
    grep -q '^nbdkit: imbrex.*error' "$work/$1.log" || fail "the error of a request of $1 is not logged: $(tail -n 3 "$work/$1.log")"
    kill -9 "$(cat "$work/$1.pid")"
    ! wait "${servers[$1]}" 2> /dev/null || fail "a server that was killed says that all was well"
    unset "servers[$1]"
    tail -n 1 "$work/$1.log" | grep -q '^error: nbdkit was ended by signal 9' ||
        fail "a server that was killed says: $(tail -n 1 "$work/$1.log")"
}
