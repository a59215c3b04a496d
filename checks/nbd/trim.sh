# A full interlaced disk gets its speed back when what is not needed is discarded: what updates write is counted by the
# server itself. To be sourced after server.sh.

check_trims() {
    local name=trimmed size bottoms
    format $name tracklace imrsim 512MiB --set tracklace.update_blocks=64 "$@"
    serve $name
    size=$(number $name capacity_bytes)
    bottoms=$((size * 55 / 100 / 1048576 * 1048576))
    fill $name 21 0 "$size"
    expect_updates $name full '>' 3
    io $name -c "discard $bottoms $((size - bottoms))" -c flush > "$work/io"
    expect_updates $name trimmed '<' 1.5
    kill_server $name
    serve $name
    expect_io $name <<< "read -P 0 $bottoms $((size - bottoms))"$'\nread -P 21 0 8M'
    expect_updates $name "trimmed and recovered" '<' 1.5
    fill $name 22 $bottoms $((size - bottoms))
    expect_updates $name "full again" '>' 3
    expect_io $name <<< "read -P 22 $bottoms $((size - bottoms))"$'\nread -P 21 0 8M'
    stop $name
    rm "$images/$name.img"
    say "an interlaced disk writes $amplifications bytes for each of an update"
}

# NAME BYTE FROM LENGTH
fill() {
    expect_io "$1" < <(awk -v byte="$2" -v from="$3" -v end=$(($3 + $4)) 'BEGIN {
        for (step = 8388608; from < end; from += step) print "write -P", byte, from, (end - from < step ? end - from : step)
        print "flush" }')
}

# NAME STATE < or > LIMIT: how many bytes the server writes to its store, journal included, for each of small updates all
# over the bottom tracks behind the first 8 MiB.
expect_updates() {
    local host media amplification
    host=$(number "$1" host_written) media=$(number "$1" media_written)
    fio --name=updates --ioengine=nbd --uri="$(uri "$1")" --rw=randwrite --bs=20k --offset=8M --size=128M --io_size=16M \
        --iodepth=16 --randrepeat=1 --end_fsync=1 --output="$work/fio" || fail "fio cannot write to $1"
    amplification=$(awk -v host=$(($(number "$1" host_written) - host)) -v media=$(($(number "$1" media_written) - media)) \
        'BEGIN { printf "%.2f", media / host }')
    awk "BEGIN { exit !($amplification $3 $4) }" ||
        fail "where $1 is $2, $amplification bytes are written for each of an update, and not $3 $4"
    amplifications="${amplifications:+$amplifications, }$amplification ($2)"
}
