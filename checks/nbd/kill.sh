# Servers that are killed while they are written to: everything that was flushed is there again. To be sourced after
# server.sh; `KILLS` is how often, and SEED is what the moments are drawn from.

# More commands than are answered before somebody looks; those behind the kill fail one by one, which takes its time.
REGION=2048 COMMANDS=20000
RANDOM=${SEED:-1}

# LAYER ...: one of each way to keep a map.
check_kills() {
    local name
    for name in "$@"; do
        case $name in
            fifo-log) format fifo-log fifo-log small-zoned 256MiB --buffer 4MiB ;;
            log-greedy | amphisbaena) format "$name" "$name" small-zoned 256MiB ;;
            dm-zoned) "$imbrex" format "$images/dm-zoned.img" --layer dm-zoned --drive ../dm-zoned/drive.toml > "$work/dm-zoned.format" ;;
            seagate) format seagate seagate imrsim 256MiB ;;
            lru-cache) format_cache lru-cache lru-cache small-banded 256MiB ;;
            *) fail "it is not said what a volume of $name looks like" ;;
        esac
        check_killed "$name"
        rm -f "$images/$name".{img,ssd}
    done
    say "what was flushed to $* is there after each of $KILLS kills; $flushed blocks were looked at"
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

# NAME ROUND [MOST]: kills the server when at most so many writes more than 64 have been answered.
write_until_killed() {
    local name=$1 round=$2 client answered least=$((64 + RANDOM % ${3:-2048}))
    awk -v seed=$RANDOM -v commands=$COMMANDS -v region=$REGION -v base=$((round * REGION)) -v list="$work/list" \
        -f writes.awk > "$work/commands"
    : > "$work/written" # the client is not yet there when the first look at it is taken
    qemu-io -f raw "$(uri "$name")" < "$work/commands" > "$work/written" 2>&1 &
    client=$!
    while [ "$(answers)" -lt $least ] && kill -0 $client 2> /dev/null; do sleep 0.05; done
    kill_server "$name"
    wait $client 2> /dev/null || true
    answered=$(answers)
    [ "$answered" -ge $least ] || fail "$name answered $answered of $least writes, and then its client ended: $(tail -n 2 "$work/written")"
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
