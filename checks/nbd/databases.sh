# SQLite on volumes whose servers are killed: every commit that it acknowledged is there. To be sourced after
# file_systems.sh, whose file systems it lies on; `KILLS` is how often.

COMMITS=100000

# NAME LAYER: ext4 on a volume, and a database that is written to until its server is killed.
check_database() {
    local name=$1 round before now acknowledged
    format "$name" "$2" small-zoned 512MiB "${@:3}"
    serve "$name" --idle-after 50
    enter "$name"
    "$(program mkfs.ext4)" -q "$loop" > "$work/mkfs" 2>&1 || fail "mkfs.ext4: $(tail -n 1 "$work/mkfs")"
    mount "$loop" "$images/mounted"
    sql 'PRAGMA journal_mode = DELETE; CREATE TABLE numbers (number INTEGER PRIMARY KEY, text TEXT);' > "$work/sql"
    sync -f "$images/mounted"
    for round in $(seq "$KILLS"); do
        before=$(sql 'SELECT count(*) FROM numbers;')
        commit_until_killed "$name" "$before"
        now=$(sql 'SELECT count(*) FROM numbers;')
        acknowledged=$(wc -l < "$work/commits")
        [ "$acknowledged" -gt 8 ] || fail "SQLite on $name had $acknowledged commits only before the kill: $(cat "$work/sql")"
        [ "$now" -ge $((before + acknowledged)) ] ||
            fail "SQLite on $name lost $((before + acknowledged - now)) of $acknowledged commits that it acknowledged"
        [ "$(sql 'PRAGMA integrity_check;')" = ok ] || fail "the database on $name is damaged"
        committed=$((${committed:-0} + acknowledged))
    done
    umount "$images/mounted"
    leave_file_systems
    stop "$name"
    rm "$images/$name.img"
}

sql() { sqlite3 "$images/mounted/db" "$@" || fail "sqlite3: $1"; }

# NAME ROWS: one row after another, each in a commit of its own, which is told when it is durable: with EXTRA that the
# journal is deleted is durable too, without which the last commit may be rolled back.
commit_until_killed() {
    local client waited least=$((20 + RANDOM % 200))
    awk -v from="$2" -v commits=$COMMITS 'BEGIN {
        print "PRAGMA synchronous = EXTRA;"
        for (i = from + 1; i <= from + commits; i++)
            printf "INSERT INTO numbers VALUES (%d, hex(randomblob(%d)));\nSELECT %d;\n", i, 50 + i % 700, i
    }' > "$work/statements"
    : > "$work/commits" # the client is not yet there when the first look at them is taken
    stdbuf -oL sqlite3 -bail "$images/mounted/db" < "$work/statements" > "$work/commits" 2> "$work/sql" &
    client=$!
    for waited in $(seq 600); do
        [ "$(wc -l < "$work/commits")" -lt $least ] || break
        sleep 0.05
    done
    kill_server "$1"
    wait $client 2> /dev/null && fail "SQLite on $1 was done before the kill, which proves nothing"
    { umount "$images/mounted" || umount -l "$images/mounted"; } 2> "$work/umount"
    leave_file_systems 2> "$work/umount"
    serve "$1" --idle-after 50
    enter "$1"
    mount "$loop" "$images/mounted"
}
