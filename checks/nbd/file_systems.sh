# File systems on volumes, by way of nbdfuse and a loop device. To be sourced after server.sh.

check_file_systems() {
    [ "$(id -u)" = 0 ] && [ -e /dev/fuse ] && loops=$(program losetup) && "$loops" -f > "$work/loop" 2>&1 || {
        skip_part "file systems are not tried: they take root, /dev/fuse and loop devices"
        return
    }
    need_programs nbdfuse:libnbd-bin fusermount3:fuse3 mkfs.ext4:e2fsprogs resize2fs:e2fsprogs mkfs.xfs:xfsprogs mkfs.btrfs:btrfs-progs sqlite3:sqlite3
    check_file_system ext4 "e2fsck -f -n"
    check_file_system xfs "xfs_repair -n"
    check_file_system btrfs "btrfs check --readonly"
    say "ext4, xfs and btrfs keep their files on a volume"
    check_database greedy-db log-greedy
    check_database fifo-db fifo-log --buffer 16MiB
    say "SQLite on ext4 has all $committed commits that it acknowledged before its server was killed"
    check_grown_file_system
    say "ext4 keeps its files on a volume that grows while its server is killed, and grows with it"
}

# KIND CHECKER: make, fill, trim, leave, check, enter again after the server has been stopped.
check_file_system() {
    local kind=$1 checker=$2
    format "$kind" fifo-log small-zoned 512MiB --buffer 16MiB
    serve "$kind" --idle-after 50
    enter "$kind"
    "$(program "mkfs.$kind")" -q "$loop" > "$work/mkfs" 2>&1 || fail "mkfs.$kind: $(tail -n 1 "$work/mkfs")"
    mount "$loop" "$images/mounted"
    mkdir "$images/mounted/old" "$images/mounted/new"
    cp -r ../../crates "$images/mounted/old/"
    cp -r ../../crates "$images/mounted/new/"
    rm -r "$images/mounted/old"
    sync
    "$(program fstrim)" "$images/mounted" > "$work/fstrim" 2>&1 || say "no trim gets through to $kind: $(cat "$work/fstrim")"
    head -c 20M /dev/urandom > "$images/mounted/random"
    sha256sum < "$images/mounted/random" > "$work/sum"
    umount "$images/mounted"
    PATH=$PATH:/sbin:/usr/sbin $checker "$loop" > "$work/fsck" 2>&1 || fail "$checker: $(tail -n 3 "$work/fsck")"
    leave_file_systems
    stop "$kind"
    serve "$kind"
    enter "$kind"
    mount "$loop" "$images/mounted"
    diff -r ../../crates "$images/mounted/new/crates" || fail "$kind does not hold the files that were copied to it"
    [ "$(sha256sum < "$images/mounted/random")" = "$(cat "$work/sum")" ] || fail "$kind does not hold what was written to it"
    umount "$images/mounted"
    leave_file_systems
    stop "$kind"
    rm "$images/$kind.img"
}

enter() {
    mkdir -p "$images/mounted"
    : > "$images/fuse"
    nbdfuse "$images/fuse" "$(uri "$1")" > "$work/nbdfuse" 2>&1 &
    fuse=$!
    for _ in $(seq 2400); do
        [ "$(stat -c %s "$images/fuse")" -gt 0 ] && break
        sleep 0.05
    done
    loop=$("$loops" -f --show "$images/fuse")
}

leave_file_systems() {
    ! mountpoint -q "$images/mounted" 2> /dev/null || umount "$images/mounted"
    [ -z "${loop:-}" ] || "$loops" -d "$loop"
    if [ -n "${fuse:-}" ]; then
        fusermount3 -u "$images/fuse" || kill "$fuse"
        wait "$fuse" || true
    fi
    loop='' fuse=''
}
