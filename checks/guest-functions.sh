# What the scripts of guests share.

# Ends the guest: "done", or "failed" and why.
finish() {
    echo "$1"
    poweroff -f
}

# Blocks of 4 KiB that $disk has been written.
written() { awk '{ print int($7 / 8) }' "/sys/block/$disk/stat"; }

# Waits until nothing has been written for half a second: longer than dm-zoned's reclaim sleeps to keep to its share of
# the time.
settle() {
    before=$(written)
    quiet=0
    while [ "$quiet" -lt 10 ]; do
        sleep 0.05
        now=$(written)
        if [ "$before" = "$now" ]; then quiet=$((quiet + 1)); else quiet=0; fi
        before=$now
    done
}

# Random files, and what their sums are.
fill() {
    for number in 1 2 3 4 5; do
        dd if=/dev/urandom of="/mnt/$1$number" bs=1M count="$2" 2> /dev/null || finish "failed: a file cannot be written"
    done
    md5sum /mnt/"$1"* > "/tmp/$1.sums"
}

verify() { md5sum -c -s "/tmp/$1.sums" || finish "failed: the files $1 hold something else"; }

check_files() { e2fsck -fn "$1" > /tmp/e2fsck 2>&1 || { cat /tmp/e2fsck; finish "failed: e2fsck"; }; }
