# A volume that this machine serves is a disk of the guest, by vhost-user: a file system is made on it, filled, trimmed and
# checked, by a real kernel through a real monitor. Afterwards the volume is in order, and ends when it is told to.
#
# Sourced by ../guests.sh.
programs+=(mkfs.ext4:e2fsprogs e2fsck:e2fsprogs)
modules+=(virtio_pci virtio_blk)

put_vhost_user() {
    build_programs dev
    copy_program "$(program mkfs.ext4)"
    copy_program "$(program e2fsck)"
    "$PROGRAMS/imbrex" format "$work/disk.img" --layer log-greedy --drive small-zoned --capacity 512MiB > "$work/format" ||
        fail "the volume for the guest cannot be made"
    "$PROGRAMS/imbrex" serve "$work/disk.img" --vhost-user "$work/vhost" > "$work/served" 2> "$work/vhost.log" &
    vhost=$!
    trap 'kill "$vhost" 2> /dev/null || true; rm -rf "$work"' EXIT
    until grep -q '^recovery read' "$work/served"; do
        kill -0 "$vhost" 2> /dev/null || { cat "$work/vhost.log" >&2; fail "the volume for the guest is not served"; }
        sleep 0.1
    done
    devices+=(-chardev "socket,id=imbrex,path=$work/vhost" -device vhost-user-blk-pci,chardev=imbrex,num-queues=1)
}

judge_vhost_user() {
    local requests
    # The first number behind the word: of all writes.
    requests=$("$PROGRAMS/imbrex" status "$work/disk.img" --format json |
        sed -n '/"write": {/,/"count"/s/.*"count": \([0-9]*\).*/\1/p' | head -n 1)
    kill "$vhost"
    wait "$vhost" || { cat "$work/vhost.log" >&2; fail "the server by vhost-user does not end in order"; }
    [ "${requests:-0}" -gt 0 ] || fail "the guest wrote nothing"
    [ ! -e "$work/vhost" ] || fail "the socket of vhost-user is still there"
    "$PROGRAMS/imbrex" check "$work/disk.img" > "$work/checked" || { cat "$work/checked" >&2; fail "the guest's volume is damaged"; }
    echo "vhost-user check: $(sed -n 's/^virtio //p' "$work/report"), $requests writes"
}
