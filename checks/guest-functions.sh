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
