# Three volumes for an array: each on a host-managed disk of its own, over ublk, by a server of its own. Sourced by
# guests' scripts.
. /serving.sh

# Disks of 8 conventional and 24 sequential zones of 16 MiB, a volume on each, and its device.
make_members() {
    modprobe ublk_drv || finish "failed: ublk_drv"
    for nth in 1 2 3; do
        make_disk null size=512:zone_nr_conv=8
        imbrex format "/dev/$disk" --layer log-greedy > /dev/null || finish "failed: imbrex format"
        serve_member "$nth"
    done
}

# Serves a member, or takes its device over from a killed server.
serve_member() {
    nth=$1 store=/dev/nullb$1
    serve_ublk --sector 4096
    echo "$server" > "/tmp/server$1"
    unset nth store
}

# Ends the server of a member, with a signal.
end_member() {
    kill "-$2" "$(cat "/tmp/server$1")"
    wait "$(cat "/tmp/server$1")"
}

# Bytes that the disk of a member has been written.
media() { awk '{ print $7 * 512 }' "/sys/block/nullb$1/stat"; }

# What the disk of a member was written for each of so many bytes of a rebuild: MEMBER, what it had been written before,
# BYTES. A rebuild writes in order, and docs/devices.md says that it is at most 1.2.
written_for_each() {
    awk -v media=$(($(media "$1") - $2)) -v bytes="$3" 'BEGIN { printf "%.2f bytes written for each", media / bytes; exit media > 1.2 * bytes }'
}
