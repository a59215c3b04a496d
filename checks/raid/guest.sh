# A mirror of md's on volumes that are devices of ublk's. Sourced by the guest's script.

. /members.sh

# Waits until nothing is copied between members.
whole() {
    until [ "$(cat /sys/block/md0/md/sync_action)" = idle ]; do sleep 0.1; done
    # It is idle before it begins, too.
    until grep -q '\[UU\]' /proc/mdstat; do sleep 0.1; done
    until [ "$(cat /sys/block/md0/md/sync_action)" = idle ]; do sleep 0.1; done
}

# In how many sectors members differ.
differ() {
    whole
    echo check > /sys/block/md0/md/sync_action
    sleep 0.1
    until [ "$(cat /sys/block/md0/md/sync_action)" = idle ]; do sleep 0.1; done
    cat /sys/block/md0/md/mismatch_cnt
}

# Whether md goes on without a member.
is_out() { grep -q '_\]' /proc/mdstat; }

# Takes a member out and puts one in, as new: it is copied as a whole.
replace() {
    is_out || mdadm --quiet /dev/md0 --fail "/dev/ublkb$1" || finish "failed: a member cannot be failed"
    mdadm --quiet /dev/md0 --remove "/dev/ublkb$1" || finish "failed: a member cannot be taken out"
    [ "$1" != "$2" ] || mdadm --quiet --zero-superblock "/dev/ublkb$1" || finish "failed: mdadm"
    mdadm --quiet /dev/md0 --add "/dev/ublkb$2" || finish "failed: a member cannot be put in"
    whole
}

mirror_life() {
    modprobe raid1 || finish "failed: raid1"
    mdadm --quiet --create /dev/md0 --run --level=1 --raid-devices=2 --bitmap=internal --metadata=1.2 /dev/ublkb1 /dev/ublkb2 ||
        finish "failed: mdadm"
    whole
    mkfs.ext4 -q -F /dev/md0 && mount /dev/md0 /mnt || finish "failed: ext4 on a mirror"
    fill raid 4
    sync
    before=$(media 3)
    replace 2 3
    end_member 2 TERM
    amplified=$(written_for_each 3 "$before" $(($(cat /sys/block/md0/size) * 512))) || finish "failed: a rebuild, $amplified"
    echo "mirrored rebuild: $amplified"
    [ "$(differ)" = 0 ] || finish "failed: members differ after a rebuild"
    dd if=/dev/urandom of=/mnt/unflushed bs=1M count=8 oflag=direct 2> /dev/null || finish "failed: a file on a mirror"
    end_member 3 KILL
    serve_member 3
    # The first flush after that fails, and md takes a member out whose flush fails.
    tries=0
    until is_out; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || finish "failed: md keeps a member whose server was killed"
        dd if=/dev/zero of=/mnt/flushed bs=4k count=1 conv=fsync 2> /dev/null
    done
    replace 3 3
    [ "$(differ)" = 0 ] || finish "failed: members differ after a second rebuild"
    umount /mnt && mount /dev/md0 /mnt || finish "failed: remount of a mirror"
    verify raid
    umount /mnt
    check_files /dev/md0
    mdadm --quiet --stop /dev/md0 || finish "failed: the mirror cannot be ended"
    for member in 1 3; do end_member "$member" TERM; done
    echo "mirrored volumes keep all files through two rebuilds"
}

make_members
mirror_life
