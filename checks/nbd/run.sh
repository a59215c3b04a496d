#!/bin/bash
# Serves volumes to the programs that people use NBD with, and holds what they read against what they wrote: fio,
# nbdcopy, qemu-io, and file systems on loop devices by way of nbdfuse. Then servers are killed while they are written
# to, stopped, given a full and an unreadable store, left by their clients, and started on what cannot be served, and
# volumes grow. A full interlaced disk is discarded, and must be fast again; holes are told, and copies pass them over;
# writes beside compaction must not wait for all of it. What clients ask for is recorded. Hostile clients of the page,
# the metrics and the control socket, and threads that panic, leave the disk as it is. The page is behind a reverse proxy
# as docs/serving.md shows it.
#
# Needs nbdkit, libnbd's programs, qemu-utils, fio, curl and OpenSSL, installed quietly where this is Debian and the user is root. File
# systems also need /dev/fuse and loop devices. What cannot be had is skipped with a message, or the check fails if
# IMBREX_REQUIRE_PEERS is 1. Images lie in IMAGES, or in memory. KILLS is how often each server is killed.
set -euo pipefail
cd "$(dirname "$0")"

KILLS=${KILLS:-1}
check="nbd check"
. ./server.sh
. ./file_systems.sh
. ./databases.sh
. ./kill.sh
. ./trim.sh
. ./holes.sh
. ./waits.sh
. ./stops.sh
. ./growth.sh
. ./attacks.sh
. ./proxy.sh
. ./recording.sh

leave() {
    end_load
    leave_file_systems
    stop_all > "$work/stopped" 2>&1 || true
    ! mountpoint -q "$images/small" 2> /dev/null || umount "$images/small"
}

# The reads in what qemu-io is told must find what they expect.
expect_io() {
    io "$1" > "$work/io" 2>&1 || true
    ! grep -iE 'failed|error' "$work/io" || fail "qemu-io on $1"
}

check_fio() {
    local options="--ioengine=nbd --uri=$(uri "$1") --verify=crc32c --verify_fatal=1 --verify_state_save=0 --iodepth=16 --randrepeat=1
        --output=$work/fio"
    fio --name=random $options --rw=randwrite --bsrange=512-64k --blockalign=512 --size=32M --io_size=48M ||
        fail "fio found on $1 what it did not write: $(tail -n 3 "$work/fio")"
    fio --name=parallel $options --rw=randwrite --bs=4k --numjobs=3 --size=8M --offset=64M --offset_increment=16M --fsync=64 ||
        fail "fio found on $1 what it did not write: $(tail -n 3 "$work/fio")"
}

check_nbdcopy() {
    head -c 50000123 /dev/urandom > "$work/sent"
    head -c 501 /dev/zero >> "$work/sent"
    nbdcopy --flush "$work/sent" "$(uri "$1")"
    nbdcopy "$(uri "$1")" "$work/got"
    cmp -n "$(stat -c %s "$work/sent")" "$work/sent" "$work/got" || fail "nbdcopy got back from $1 what it did not send"
    rm "$work/sent" "$work/got"
}

check_qemu_io() {
    expect_io "$1" << 'END'
write -P 11 0 1M
write -P 12 4099 9001
read -P 11 0 4099
read -P 12 4099 9001
read -P 11 13100 1000
write -z 512 4096
read -P 0 512 4096
read -P 12 4608 8492
write -z 262144 65536
read -P 11 258048 4096
read -P 0 262144 65536
read -P 11 327680 4096
discard 65536 65536
read -P 11 131072 4096
write -f -P 13 1047041 2049
flush
read -P 13 1047041 2049
read -P 11 1040384 6657
END
    nbdinfo --can fast-zero "$(uri "$1")" || fail "$1 does not say that it answers requests for fast zeros"
    [ "$(io "$1" -c 'read -P 12 0 512' | grep -c 'verification failed')" = 1 ] || fail "qemu-io does not notice a wrong byte"
}

# What is written in sequence reaches the layer in sequence, whichever of nbdkit's threads brings it: skylight writes
# nothing twice then, and more than twice as much when the stream comes in pieces.
check_order() {
    format "$1" skylight small-banded 512MiB
    serve "$1"
    fio --name=stream --ioengine=nbd --uri="$(uri "$1")" --rw=write --bs=64k --iodepth=16 --size=128M --output="$work/fio" ||
        fail "fio cannot write to $1: $(tail -n 3 "$work/fio")"
    awk -v wa="$(number "$1" write_amplification)" 'BEGIN { exit !(wa >= 1 && wa < 1.3) }' ||
        fail "a stream comes to $1 in pieces: for each byte it writes $(number "$1" write_amplification)"
    stop "$1"
    rm "$images/$1.img"
}

# Clients that go away in the middle harm nobody.
check_disconnects() {
    local client
    for _ in 1 2 3; do
        fio --name=gone --thread --ioengine=nbd --uri="$(uri "$1")" --rw=randwrite --bs=16k --iodepth=32 --size=64M --time_based \
            --runtime=60 --output="$work/gone" &
        client=$!
        sleep 0.4
        kill -9 $client
        wait $client 2> /dev/null || true
        # nbdkit before 1.34 may end over this, and is started again. Then the first flush tells of what may be lost.
        await "$1"
        io "$1" -c flush > /dev/null 2>&1 || true
    done
    check_qemu_io "$1"
}

# A server that nbdkit's fault ends is started again. The fault is played by a program in front of nbdkit.
check_hung_up() {
    mkdir "$work/bin"
    cat > "$work/bin/nbdkit" << END
#!/bin/sh
[ -e "$work/ended" ] && exec "$(command -v nbdkit)" "\$@"
touch "$work/ended"
echo "nbdkit: connections.c:402: raw_send_socket: Assertion \\\`sock >= 0' failed." >&2
kill -ABRT \$\$
END
    chmod +x "$work/bin/nbdkit"
    PATH=$work/bin:$PATH serve "$1"
    grep -q 'it is started again' "$work/$1.log" || fail "nothing is said of a server that is started again"
    ! io "$1" -c flush > "$work/io" 2>&1 || fail "no flush tells that writes may be lost: $(cat "$work/io")"
    io "$1" -c flush > "$work/io" 2>&1 || fail "a second flush fails: $(cat "$work/io")"
    expect_io "$1" <<< 'read -P 77 8M 4M'
    stop "$1"
}

# Ends with a client in the middle of writing, and everything flushed is there afterwards.
check_stop() {
    expect_io "$1" <<< $'write -P 77 8M 4M\nflush'
    fio --name=cut --thread --ioengine=nbd --uri="$(uri "$1")" --rw=randwrite --bs=4k --iodepth=16 --offset=16M --size=16M --time_based \
        --runtime=60 --output="$work/cut" > "$work/cut.said" 2>&1 &
    sleep 0.5
    stop "$1"
    wait $! || true
    serve "$1"
    expect_io "$1" <<< 'read -P 77 8M 4M'
}

check_status() {
    status "$1" > "$work/status"
    [ "$(number "$1" host_written)" -gt 0 ] || fail "the status of $1 counts no bytes"
    "$imbrex" status "$images/$1.sock" --format prometheus | grep -q '^imbrex_host_written_bytes_total [1-9]' ||
        fail "the metrics of $1 count no bytes"
    ! program promtool > /dev/null || "$imbrex" status "$images/$1.sock" --format prometheus | promtool check metrics ||
        fail "promtool finds fault with the metrics of $1"
    "$imbrex" clean "$images/$1.sock" --pause | grep -q 'cleaning paused' || fail "cleaning of $1 is not paused"
    "$imbrex" clean "$images/$1.sock" --throttle 50 | grep -q 'throttle 50' || fail "cleaning of $1 is not throttled"
    "$imbrex" clean "$images/$1.sock" --wait > "$work/clean"
    grep -q 'cleaning paused' "$work/clean" || fail "cleaning of $1 does not end: $(cat "$work/clean")"
    "$imbrex" clean "$images/$1.sock" --resume | grep -q 'cleaning when-idle' || fail "cleaning of $1 does not go on"
}

# Nothing is written to a store that is only read, and clients cannot.
check_read_only() {
    local before
    before=$(sha256sum < "$images/$1.img")
    serve "$1" --read-only
    expect_io "$1" <<< 'read -P 77 8M 4M' > "$work/readable" || true
    ! qemu-io -f raw "$(uri "$1")" -c 'write 0 4096' > "$work/io" 2>&1 || ! grep -q wrote "$work/io" || fail "$1 is written to"
    qemu-io -r -f raw "$(uri "$1")" -c 'read -P 77 8M 4M' | grep -q 'read 4194304' || fail "$1 cannot be read"
    stop "$1"
    [ "$before" = "$(sha256sum < "$images/$1.img")" ] || fail "the image of $1 has changed"
}

# Over TCP, and only to those who know the key.
check_tls() {
    local port
    echo "reader:$(head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n')" > "$work/keys"
    serve "$1" --port 0 --tls require --tls-psk "$work/keys"
    port=$(sed -n 's/.*at nbd:.*:\([1-9][0-9]*\)$/\1/p' "$work/$1.said")
    [ -n "$port" ] || fail "which port $1 is served at is not said: $(cat "$work/$1.said")"
    nbdinfo --size "nbds://reader@127.0.0.1:$port/?tls-psk-file=$work/keys" > "$work/size" || fail "$1 is not served over TLS"
    ! nbdinfo --size "nbd://127.0.0.1:$port/" > "$work/size" 2>&1 || fail "$1 is served to those who do not know the key"
    stop "$1"
}

# What cannot be served is refused with one line that says why.
check_refusals() {
    local name=$1
    serve "$name"
    refused "in use" "$images/$name.img" --socket "$images/other.sock"
    refused "socket of a server that runs" "$images/$name.img" --socket "$images/$name.sock"
    stop "$name"
    : > "$images/empty.img"
    refused "empty.img" "$images/empty.img"
    refused "nothing.img" "$images/nothing.img"
    cp --sparse=always "$images/$name.img" "$images/damaged.img"
    head -c 1M /dev/urandom | dd of="$images/damaged.img" conv=notrunc status=none
    refused "header" "$images/damaged.img"
    rm "$images/damaged.img" "$images/empty.img"
}

# WHAT ARGUMENTS...: the server ends at once, with one line on standard error that contains WHAT.
refused() {
    ! timeout 20 "$imbrex" serve "${@:2}" > "$work/refused" 2>&1 || fail "served: ${*:2}"
    [ "$(wc -l < "$work/refused")" = 1 ] && grep -q "^error: .*$1" "$work/refused" ||
        fail "serving ${*:2} is refused with: $(cat "$work/refused")"
}

# A store that cannot be read any more: errors reach the client, and the server lives.
check_unreadable() {
    local length
    format "$1" fifo-log small-zoned 256MiB
    serve "$1"
    expect_io "$1" <<< $'write -P 5 0 8M\nwrite -P 5 128M 8M\nflush'
    length=$(stat -c %s "$images/$1.img")
    truncate -s 40M "$images/$1.img"
    io "$1" -c 'read 128M 1M' > "$work/io" 2>&1 || true
    grep -q 'read failed: Input/output error' "$work/io" || fail "an unreadable block of $1 is no error: $(cat "$work/io")"
    kill -0 "$(cat "$work/$1.pid")" || fail "the server of $1 ended because a block is unreadable"
    [ "$(number "$1" failures)" -gt 0 ] || fail "the status of $1 says nothing of failures"
    truncate -s "$length" "$images/$1.img"
    kill_server "$1"
    rm "$images/$1.img"
}

# A store without room below it: clients are told so, what was flushed can be read, and writes go on when there is room.
check_full() {
    [ "$(id -u)" = 0 ] && mkdir "$images/small" && mount -t tmpfs -o size=64M tmpfs "$images/small" 2> /dev/null || {
        skip_part "a store without room is not tried: it takes root and a tmpfs"
        return
    }
    "$imbrex" format "$images/small/full.img" --layer fifo-log --drive small-zoned --capacity 512MiB > "$work/full.format"
    ln -s small/full.img "$images/full.img"
    serve full
    expect_io full <<< $'write -P 5 0 8M\nflush'
    io full -c 'write -P 6 16M 64M' > "$work/io" 2>&1 || true
    grep -q 'write failed: No space left' "$work/io" || fail "a full store is no error: $(cat "$work/io")"
    expect_io full <<< 'read -P 5 0 8M'
    mount -o remount,size=600M "$images/small"
    sleep 0.3
    expect_io full <<< $'write -P 6 16M 64M\nflush\nread -P 6 16M 64M\nread -P 5 0 8M'
    stop full
    umount "$images/small"
    rm "$images/full.img"
}

skip_part() {
    [ "${!required:-0}" != 1 ] || fail "$1, and $required does not let it be skipped"
    say "$1"
    left_out "$check, in part" "$1"
}

need_programs nbdkit:nbdkit nbdcopy:libnbd-bin qemu-io:qemu-utils fio:fio pgrep:procps curl:curl openssl:openssl
need_nginx || true
prepared
fio --enghelp 2> /dev/null | grep -qw nbd || skip "this fio cannot speak NBD"
build

format plain fifo-log small-zoned 512MiB --buffer 8MiB --set fifo-log.idle_free=1.0
serve plain --idle-after 50
check_fio plain
check_nbdcopy plain
check_qemu_io plain
check_disconnects plain
check_status plain
check_stop plain
stop plain
check_stops stopped
check_order stream
# A layer that trims for zeros.
format zeros log-greedy small-zoned 512MiB
serve zeros
check_qemu_io zeros
stop zeros
rm "$images/zeros.img"
check_recording recorded
check_hung_up plain
check_read_only plain
check_tls plain
check_refusals plain
say "fio, nbdcopy and qemu-io find what they wrote; clients may go, servers stop, and what cannot be served is refused"
check_attacks attacked
check_ends_beside_clients ended
check_panics panics
check_proxy proxied
check_file_systems
check_unreadable unreadable
check_full
check_trims
check_holes
check_waits waits
check_kills fifo-log log-greedy dm-zoned amphisbaena seagate lru-cache
check_growth
say "a volume grows under load and after its server was killed; what was flushed is there, and clients see the new size"
