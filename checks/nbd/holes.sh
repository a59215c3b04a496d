# Clients are told which block size is best, and which blocks are holes: those that nobody wrote, and those that were
# given up where the layer's map says so. Copies pass them over and are the same. To be sourced after server.sh.

check_holes() {
    local name=holes told best
    format $name log-greedy small-zoned 512MiB
    serve $name
    nbdinfo "$(uri $name)" > "$work/info"
    best=$(sed -n 's/.*block_size_preferred: //p' "$work/info")
    [ -z "$best" ] || [ "$best" = 4096 ] || fail "blocks of $best bytes are said to be best for $name"
    io $name -c 'write -P 7 0 1M' -c 'write -P 9 100M 64k' -c 'discard 512k 512k' -c 'write -P 8 700k 4k' -c flush > "$work/io"
    told=$(nbdinfo --map "$(uri $name)" | awk '$3 == 0 { printf "%d+%d ", $1, $2 }')
    [ "$told" = "0+524288 716800+4096 104857600+65536 " ] || fail "$name is said to hold data at $told"
    nbdcopy "$(uri $name)" "$work/copied"
    nbdcopy --no-extents "$(uri $name)" "$work/read"
    cmp "$work/copied" "$work/read" || fail "what nbdcopy copies of $name is not what it reads"
    qemu-img convert -f raw -O raw "$(uri $name)" "$work/converted"
    cmp "$work/converted" "$work/read" || fail "what qemu-img copies of $name is not what is read"
    [ "$(du -k "$work/copied" | cut -f 1)" -lt 2000 ] || fail "nbdcopy copies holes of $name"
    kill_server $name
    serve $name
    [ "$(nbdinfo --map "$(uri $name)" | awk '$3 == 0 { printf "%d+%d ", $1, $2 }')" = "$told" ] ||
        fail "after a recovery $name is said to hold data elsewhere"
    stop $name
    rm "$images/$name.img" "$work"/{copied,read,converted}
    say "holes are told and not copied"
}
