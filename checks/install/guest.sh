#!/bin/bash
# What the guest does, in the installed Debian: at the first boot what docs/install.md shows, and after the reboot it
# looks whether it is all there. It says why it fails before it says that it does.
set -eEuo pipefail
trap 'why=$?; show; echo "line $LINENO: $BASH_COMMAND: status $why"; echo failed; systemctl poweroff --force' ERR

show() {
    systemctl status --no-pager --full "imbrex@*" || true
    findmnt /srv/disk || true
    findmnt /srv/other || true
}

first_boot() {
    # Each as it is shown, in a shell of its own.
    while read -r command; do
        echo "# $command"
        bash -euc "$command" < /dev/null
    done < /check/service
    are_mounted
    for folder in disk other; do head -c 20M /dev/urandom > /srv/$folder/file; done
    sha256sum /srv/*/file > /check/sum
    echo "served install check: what docs/install.md shows serves volumes by ublk and over NBD, which are mounted"
    echo done
    # Without a bus it says that, and goes on.
    systemctl reboot 2> /dev/null
}

are_mounted() {
    findmnt --noheadings --output SOURCE /srv/disk | grep -x /dev/ublkb0 > /dev/null
    findmnt --noheadings --output SOURCE /srv/other | grep -x /dev/nbd0 > /dev/null
}

next_boot() {
    are_mounted
    sha256sum --quiet --check /check/sum
    # They were unmounted and made durable before the machine went down.
    for volume in disk other; do
        journalctl --no-pager -b -1 -u imbrex@$volume | grep 'everything is durable, stopped' > /dev/null
    done
    if journalctl --no-pager -b -1 -u 'imbrex@*' | grep -E 'Failed with result|timed out'; then false; fi
    [ "$(systemctl show -P StatusText imbrex@disk | grep -c '^serving fifo-log.*at /dev/ublkb0')" = 1 ]
    echo "served install check: after a reboot they are mounted again with what was written, and their end was orderly"
    check_crash
    systemctl disable --now imbrex@other
    if findmnt /srv/other; then false; fi
    imbrex check /var/lib/imbrex/other.img > /dev/null
    # Without the package, what it served is stopped.
    dpkg --remove imbrex > /dev/null
    if findmnt /srv/disk || [ -e /dev/ublkb0 ]; then false; fi
    journalctl --no-pager -b -u imbrex@disk | grep 'everything is durable, stopped' > /dev/null
    [ -e /etc/imbrex/disk.conf ] && [ -e /var/lib/imbrex/disk.img ]
    echo "served install check: stopped, or removed with the package, their file systems are unmounted first"
    echo done
    systemctl poweroff 2> /dev/null
}

# What is written goes on when the server is killed under it. The next flush fails, and a file system that asked for it
# would give up its journal: before the kill it has nothing left to flush, so what fails is only what is asked for here.
check_crash() {
    dd if=/dev/zero of=/srv/disk/more bs=1M count=8 conv=fsync status=none
    mount -o remount,ro /srv/disk
    kill -9 "$(systemctl show -P MainPID imbrex@disk)"
    echo 3 > /proc/sys/vm/drop_caches
    sha256sum --quiet --check /check/sum
    until [ "$(systemctl show -P NRestarts imbrex@disk)" -ge 1 ] && systemctl is-active --quiet imbrex@disk; do sleep 1; done
    if sync /dev/ublkb0; then false; fi
    mount -o remount,rw /srv/disk
    dd if=/dev/zero of=/srv/disk/more bs=1M count=8 conv=fsync status=none
    echo "served install check: a server that was killed is started again under its file system"
}

if [ -e /check/sum ]; then next_boot; else first_boot; fi
