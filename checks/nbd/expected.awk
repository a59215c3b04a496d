# What each block may hold after the server was killed, from the list of writes of which the first `answered` were answered:
# the block, and bytes from the newest on. The last of them was flushed, or is 0 for a block that nothing was flushed to.
{ byte[NR] = $1; first[NR] = $2; blocks[NR] = $3 }
!$1 && writes < answered { durable = NR }
$1 { writes++; if (writes <= answered + 1) sent = NR }
END {
    for (command = sent; command > 0; command--)
        if (byte[command])
            for (block = first[command]; block < first[command] + blocks[command]; block++)
                if (!(block in settled)) {
                    may[block] = may[block] " " byte[command]
                    if (command < durable) settled[block] = 1
                }
    for (block in may) print block may[block] (block in settled ? "" : " 0")
}
