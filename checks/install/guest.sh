#!/bin/bash
# What the guest does, in the installed Debian: at the first boot what docs/install.md shows, and after the reboot it
# looks whether it is all there. It says why it fails before it says that it does.
set -euo pipefail
trap 'systemctl status --no-pager --full "imbrex@*" || true; journalctl --no-pager -b -n 40 -u "imbrex@*" || true; echo failed; systemctl poweroff --force' ERR

first_boot() {
    # Each as it is shown, in a shell of its own.
    while read -r command; do
        echo "# $command"
        bash -euc "$command" < /dev/null
    done < /check/service
    findmnt --noheadings --output SOURCE /srv/disk | grep -qx /dev/ublkb0
    head -c 20M /dev/urandom > /srv/disk/file
    sha256sum /srv/disk/file > /check/sum
    echo "served install check: what docs/install.md shows serves a volume by ublk, which is mounted"
    echo done
    # Without a bus it says that, and goes on.
    systemctl reboot 2> /dev/null
}

next_boot() {
    findmnt --noheadings --output SOURCE /srv/disk | grep -qx /dev/ublkb0
    sha256sum --quiet --check /check/sum
    # It was unmounted and made durable before the machine went down.
    journalctl --no-pager -b -1 -u imbrex@disk | grep -q 'everything is durable, stopped'
    if journalctl --no-pager -b -1 -u imbrex@disk | grep -E 'Failed with result|timed out'; then false; fi
    [ "$(systemctl show -P StatusText imbrex@disk | grep -c '^serving fifo-log.*at /dev/ublkb0')" = 1 ]
    echo "served install check: after a reboot it is mounted again with what was written, and its end was orderly"
    check_crash
    check_nbd
    systemctl disable --now imbrex@disk
    if findmnt /srv/disk; then false; fi
    echo "served install check: stopped, its file system is unmounted first"
    echo done
    systemctl poweroff 2> /dev/null
}

# What is written goes on when the server is killed under it.
check_crash() {
    dd if=/dev/zero of=/srv/disk/more bs=1M count=8 conv=fsync status=none
    kill -9 "$(systemctl show -P MainPID imbrex@disk)"
    echo 3 > /proc/sys/vm/drop_caches
    sha256sum --quiet --check /check/sum
    until systemctl is-active --quiet imbrex@disk; do sleep 1; done
    [ "$(systemctl show -P NRestarts imbrex@disk)" = 1 ]
    echo "served install check: a server that was killed is started again under its file system"
}

# Without the line for ublk a volume is served over NBD.
check_nbd() {
    imbrex format /var/lib/imbrex/other.img --layer fifo-log --drive small-zoned > /dev/null
    echo STORES=/var/lib/imbrex/other.img > /etc/imbrex/other.conf
    systemctl start imbrex@other
    modprobe nbd
    nbd-client -unix /run/imbrex/other/socket /dev/nbd0 > /dev/null
    dd if=/usr/bin/imbrex of=/dev/nbd0 bs=64K count=16 oflag=direct status=none
    nbd-client -d /dev/nbd0 > /dev/null
    systemctl stop imbrex@other
    [ "$(systemctl show -P Result imbrex@other)" = success ]
    imbrex check /var/lib/imbrex/other.img > /dev/null
    echo "served install check: without ublk it is served over NBD"
}

if [ -e /check/sum ]; then next_boot; else first_boot; fi
