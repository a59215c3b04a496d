# How long writes wait beside cleaning, by the server's own histograms. To be sourced after server.sh.

# NAME SPAN SECONDS ARGUMENTS...: writes to that many bytes at random, as fast as they are answered; further arguments go
# to fio.
overwrite() {
    fio --name=waits --ioengine=nbd --uri="$(uri "$1")" --rw=randwrite --bs=4k --iodepth=32 --size="$2" --norandommap \
        --time_based --runtime="$3" --output="$work/fio" "${@:4}" || fail "fio cannot write to $1: $(tail -n 3 "$work/fio")"
}

# NAME FIELD: a number of the writes beside cleaning.
beside() {
    status "$1" | awk -v field="\"$2\":" '/^ *"write": /{ kind = 1 } kind && /"beside_cleaning"/{ beside = 1 }
        beside && $1 == field { gsub(/,/, ""); print $2; exit }'
}

# A full log on bands of 256 MiB is compacted while clients write: they wait for a small part of what they would if it
# began when they found no room. Both are of one run, on whatever machine that is.
check_waits() {
    local name=$1 mean rare paused
    format "$name" log-greedy exos-x18z 2GiB --set log-greedy.spare_fraction=0.25
    serve "$name" --step-ms 100
    fio --name=fill --ioengine=nbd --uri="$(uri "$name")" --rw=write --bs=1M --iodepth=4 --size=1300M --output="$work/fio" ||
        fail "fio cannot fill $name"
    fio --name=age --ioengine=nbd --uri="$(uri "$name")" --rw=randwrite --bs=128k --iodepth=4 --size=1300M --io_size=220M \
        --norandommap --output="$work/fio" || fail "fio cannot overwrite $name"
    overwrite "$name" 1300M "${2:-8}"
    [ "$(beside "$name" count)" -gt 100 ] || fail "$(beside "$name" count) writes to $name came beside cleaning only"
    mean=$(beside "$name" mean_ms) rare=$(beside "$name" p999_ms)
    stop "$name"
    serve "$name" --step-ms 100
    "$imbrex" clean "$images/$name.sock" --pause > "$work/clean"
    overwrite "$name" 1300M "${2:-8}"
    paused=$(beside "$name" mean_ms)
    awk -v mean="$mean" -v rare="$rare" -v paused="$paused" 'BEGIN { exit !(mean < paused / 4 && rare < paused * 8) }' ||
        fail "writes to $name beside cleaning take $mean ms in the mean and $rare ms at most but for .1 %, and $paused ms in the mean where it is not ahead"
    say "writes beside compaction take ${mean%.*} ms in the mean, and ${paused%.*} ms where it is not ahead of them"
    stop "$name"
    rm "$images/$name.img"
}
