# A volume that is served is recorded, and what its clients asked for is a trace when the server has ended. To be sourced
# after server.sh.

check_recording() {
    local recording="$images/$1.parquet"
    format "$1" fifo-log small-zoned 256MiB --buffer 8MiB
    serve "$1" --record "$recording" --record-size 64KiB
    expect_io "$1" <<< $'write -P 31 0 1M\ndiscard 512k 64k\nwrite -P 32 5000 100\nflush\nread -P 31 64k 64k'
    fio --name=recorded --ioengine=nbd --uri="$(uri "$1")" --rw=randwrite --bs=4k --iodepth=16 --size=32M --end_fsync=1 \
        --output="$work/fio" || fail "fio cannot write to $1: $(tail -n 3 "$work/fio")"
    "$imbrex" status "$images/$1.sock" --format prometheus | grep -qx 'imbrex_recording 1' ||
        fail "the metrics of $1 say nothing of its recording"
    [ "$(number "$1" lost)" = 0 ] || fail "the recording of $1 cannot follow a client"
    stop "$1"
    [ -e "$images/$1-0002.parquet" ] && ! compgen -G "$images/*.part" || fail "the files of the recording of $1: $(ls "$images")"
    refused "is there and is not overwritten" "$images/$1.img" --record "$recording"
    "$imbrex" trace stat "$recording" --format json > "$work/stat"
    # Those of fio, four, and what lies before and behind the hundred bytes in their block.
    grep -q "\"requests\": $((8192 + 4 + 2)),$" "$work/stat" ||
        fail "the recording of $1 has other requests than its clients had: $(grep -m 1 requests "$work/stat")"
    "$imbrex" compare "$recording" --layers fifo-log --drive small-zoned --buffer 8MiB --as-live --prefill 0 --beyond wrap \
        --queue-depth 1 > "$work/compared" || fail "the recording of $1 is not replayed"
    rm "$images/$1"[-.]*
    say "what clients ask for is recorded in files that are one trace"
}
