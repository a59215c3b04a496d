# Servers that are killed while they are written to: everything that was flushed is there again. To be sourced after
# server.sh; `KILLS` is how often.

REGION=2048 COMMANDS=20000

check_kills() {
    local setup name
    format fifo-log fifo-log small-zoned 256MiB --buffer 4MiB
    format log-greedy log-greedy small-zoned 256MiB
    "$imbrex" format "$images/dm-zoned.img" --layer dm-zoned --drive ../dm-zoned/drive.toml > "$work/dm-zoned.format"
    format amphisbaena amphisbaena small-zoned 256MiB
    format seagate seagate imrsim 256MiB
    format_cache lru-cache lru-cache small-banded 256MiB
    for name in fifo-log log-greedy dm-zoned amphisbaena seagate lru-cache; do
        check_killed "$name"
        rm -f "$images/$name".{img,ssd}
    done
    say "what was flushed to each of 6 layers is there after $KILLS kills; $flushed blocks were looked at"
}

# Kills a server again and again. Blocks of earlier rounds are looked at in later ones too.
check_killed() {
    local name=$1 round
    : > "$work/$name.expected"
    serve "$name" --idle-after 20
    for round in $(seq "$KILLS"); do
        write_until_killed "$name" "$round"
        serve "$name" --idle-after 20
        find_expected "$name"
    done
    notices_loss "$name"
    stop "$name"
}

# With another byte expected of one block, that block is found to be lost.
notices_loss() {
    cp "$work/$1.expected" "$work/true"
    sed -i '1s/ .*/ 251/' "$work/$1.expected"
    ! (find_expected "$1") 2> "$work/noticed" && grep -q 'lost what was flushed: 1 block' "$work/noticed" ||
        fail "a block of $1 that is lost is not noticed, and so nothing is proved"
    mv "$work/true" "$work/$1.expected"
}

write_until_killed() {
    local name=$1 round=$2 client answered waited
    awk -v seed="$round" -v commands=$COMMANDS -v region=$REGION -v base=$((round * REGION)) -v list="$work/list" \
        -f writes.awk > "$work/commands"
    : > "$work/written" # the client is not yet there when the first look at it is taken
    qemu-io -f raw "$(uri "$name")" < "$work/commands" > "$work/written" 2>&1 &
    client=$!
    sleep "0.$((3 + RANDOM % 6))"
    for waited in $(seq 600); do
        [ "$(answers)" -le 64 ] || break
        sleep 0.05
    done
    kill_server "$name"
    wait $client 2> /dev/null || true
    answered=$(answers)
    [ "$answered" -gt 32 ] || fail "$name answered $answered writes only before it was killed: $(tail -n 2 "$work/written")"
    [ "$answered" -lt $((COMMANDS * 15 / 16)) ] || fail "$name was killed after the last write, which proves nothing"
    awk -v answered="$answered" -f expected.awk "$work/list" >> "$work/$name.expected"
}

# How many writes were answered.
answers() { grep -c 'wrote [0-9]*/' "$work/written" || true; }

# Every block holds one of the bytes that it may: those that do not hold the first are looked at again for the next.
find_expected() {
    local rest=$work/rest
    cp "$work/$1.expected" "$rest"
    flushed=$((${flushed:-0} + $(wc -l < "$rest")))
    while [ -s "$rest" ]; do
        awk '{ print "read -P", $2, $1 * 4096, 4096 }' "$rest" | qemu-io -f raw "$(uri "$1")" > "$work/found" 2>&1 || true
        awk '/verification failed at offset/ { sub(/,/, ""); for (i = 1; i < NF; i++) if ($i == "offset") bad[$(i + 1)] = 1 }
             /read 4096\/4096 bytes at offset/ { if (!($NF in bad)) good[$NF / 4096] = 1 }
             FILENAME == rest && !($1 in good) { $2 = ""; $0 = $0; print }' rest="$rest" "$work/found" "$rest" > "$rest.next"
        ! awk 'NF < 2' "$rest.next" | grep . > "$work/wrong" ||
            fail "$1 lost what was flushed: $(wc -l < "$work/wrong") blocks, the first is $(head -n 1 "$work/wrong")"
        mv "$rest.next" "$rest"
    done
}
