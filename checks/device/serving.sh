# How a guest makes disks and serves volumes on them. Sourced by the guest's scripts. Where there are several, $nth says
# which null_blk's disk is meant, and which device of ublk's.

# A host-managed disk of 12 conventional and 52 sequential zones of 16 MiB, called $disk: the first argument says whose.
# The second sets attributes of null_blk's, with colons between them.
make_disk() {
    case $1 in
        scsi)
            modprobe sd_mod
            modprobe scsi_debug zbc=managed dev_size_mb=1024 zone_size_mb=16 zone_nr_conv=12 sector_size=4096 delay=0 ndelay=0 ||
                finish "failed: scsi_debug"
            until disk=$(ls /sys/block | grep '^sd'); do sleep 0.1; done
            ;;
        null)
            disk=nullb${nth:-0}
            modprobe null_blk nr_devices=0 || finish "failed: null_blk"
            [ -d /sys/kernel/config/nullb ] || mount -t configfs none /sys/kernel/config || finish "failed: configfs"
            mkdir /sys/kernel/config/nullb/$disk
            for setting in size=1024 blocksize=4096 memory_backed=1 zoned=1 zone_size=16 zone_nr_conv=12 $(echo "$2" | tr : ' ') power=1; do
                echo "${setting#*=}" > "/sys/kernel/config/nullb/$disk/${setting%%=*}" || finish "failed: null_blk's $setting"
            done
            ;;
    esac
}

# Takes null_blk's disk away.
take_disk() { rmdir "/sys/kernel/config/nullb/$disk"; }

# Serves /dev/$disk as /dev/nbd0.
serve() {
    rm -f /tmp/socket
    nbdkit --foreground --unix /tmp/socket /bin/libimbrex_nbdkit.so "/dev/$disk" "$@" 2>> /tmp/log &
    server=$!
    tries=0
    until nbd-client -unix /tmp/socket /dev/nbd0 -b 4096 > /tmp/client 2>&1; do
        tries=$((tries + 1))
        kill -0 "$server" && [ $tries -lt 1200 ] || { cat /tmp/client /tmp/log; finish "failed: the volume is not served"; }
        sleep 0.1
    done
}

# Serves $store, or /dev/$disk, as /dev/ublkb$nth, or 0, without nbdkit. A device that a killed server left is taken over.
serve_ublk() {
    # What the last server said would be taken for what this one says, which is not there yet.
    rm -f /tmp/served
    imbrex serve --ublk="${nth:-0}" "${store:-/dev/$disk}" --control "/tmp/control${nth:-}" "$@" > /tmp/served 2>> /tmp/log &
    server=$!
    tries=0
    until grep -qs '^recovery read' /tmp/served; do
        tries=$((tries + 1))
        kill -0 "$server" && [ $tries -lt 1200 ] || { cat /tmp/served /tmp/log; finish "failed: the volume is not served over ublk"; }
        sleep 0.1
    done
}

# Ends the server of /dev/ublkb0, with a signal.
leave_ublk() {
    kill "-$1" "$server"
    wait "$server"
    status=$?
    [ "$1" = KILL ] && return
    [ $status = 0 ] || { cat /tmp/log; finish "failed: the server over ublk ended with status $status"; }
    [ ! -e /dev/ublkb0 ] || finish "failed: the device of ublk's is still there"
}

# Ends the connection and the server, with a signal.
leave() {
    [ "$1" = KILL ] || nbd-client -d /dev/nbd0 > /dev/null 2>&1
    kill "-$1" "$server"
    wait "$server"
    [ "$1" != KILL ] || nbd-client -d /dev/nbd0 > /dev/null 2>&1
}
