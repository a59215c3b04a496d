#!/bin/bash
# Installs the Debian package where nothing was built: in a Debian of this machine's release with no Rust, by apt. There
# the program compares layers, man shows its pages, bash completes, and nbdkit finds the plugin. Then a guest boots that
# Debian with systemd and does what docs/install.md shows: a volume is served by the service and mounted. After a reboot
# the file system is there again; a server that is killed comes back under it; and journald has the log of an orderly end.
#
# Needs root, mmdebstrap, qemu and others, installed quietly where this is Debian. What Debian's archive gives is kept in
# the cache folder and used again. What cannot be had is skipped with a message, or the check fails if
# IMBREX_REQUIRE_QEMU is 1. PACKAGES names a folder with the package, or PROGRAMS one with programs that it is made of;
# otherwise they are built for release.
set -euo pipefail
cd "$(dirname "$0")"
check="install check"
. ../guest.sh

[ "$(id -u)" = 0 ] || skip "only root can install a Debian into a folder"
need_guest_programs mmdebstrap:mmdebstrap mkfs.ext4:e2fsprogs dpkg-shlibdeps:dpkg-dev readelf:binutils
need_kernel
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
root=$work/root
# What the example needs, and what the package recommends, so that nothing is fetched when it is installed.
packages=systemd,systemd-sysv,udev,kmod,e2fsprogs,man-db,bash-completion,nbdkit,nbd-client
debian=${cache%/*}/install/$release-$(cksum <<< "$packages" | cut -d ' ' -f 1).tar

need_debian() {
    [ ! -e "$debian" ] || return 0
    [ -n "$release" ] || skip "this is not Debian"
    echo "$check: fetching a Debian to install into"
    timeout 900 mmdebstrap --quiet --variant=minbase --include=$packages "$release" "$work/debian.tar" 2> "$work/fetch" ||
        skip "a Debian could not be fetched: $(reason "$work/fetch")"
    mkdir -p "${debian%/*}" && mv "$work/debian.tar" "$debian" || skip "$debian could not be written"
}

# In the installed Debian.
in_debian() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"; }

leave() {
    for mounted in proc dev; do ! mountpoint -q "$root/$mounted" || umount "$root/$mounted"; done
    rm -rf "$work"
}
trap leave EXIT

install_package() {
    in_debian apt-get -qq -y -o Dpkg::Use-Pty=0 install /imbrex.deb > "$work/apt" 2>&1 ||
        fail "apt does not install the package: $(tail -n 3 "$work/apt")"
}

# What is there after the installation works, and goes when the package goes.
check_installed() {
    mkdir -p "$root" && tar -C "$root" -xf "$debian"
    mount -t proc none "$root/proc"
    mount --bind /dev "$root/dev"
    cp "$PACKAGES"/imbrex_*.deb "$root/imbrex.deb"
    ! in_debian sh -c 'command -v cargo rustc' > /dev/null || fail "there is a Rust, which the package must not need"
    install_package
    in_debian dpkg --verify imbrex || fail "what is installed is not what is in the package"
    in_debian imbrex compare --requests 300 > "$work/compared" || fail "imbrex compare fails where it is installed"
    grep -q 'best: zone-ages' "$work/compared" || fail "imbrex compare compares nothing: $(cat "$work/compared")"
    in_debian man imbrex-serve > "$work/manual" || fail "man has no page imbrex-serve"
    grep -q -- '--lock-memory' "$work/manual" || fail "the page imbrex-serve says nothing: $(cat "$work/manual")"
    in_debian man nbdkit-imbrex-plugin > /dev/null || fail "man has no page of the plugin"
    [ "$(in_debian bash --norc -c "$completed")" = fifo-log.spare_zones= ] || fail "bash does not complete"
    in_debian nbdkit imbrex --dump-plugin | grep '^name=imbrex' > /dev/null || fail "nbdkit does not find the plugin"
    in_debian apt-get -qq -y purge imbrex > "$work/apt" 2>&1 || fail "it cannot be purged: $(tail -n 3 "$work/apt")"
    in_debian sh -c '! command -v imbrex && ! find / -xdev -name "*imbrex*" -not -path "/imbrex.deb" -not -path "/var/*" -not -path "/dev/*" | grep .' ||
        fail "something is left after the package was purged"
    install_package
    umount "$root/proc" "$root/dev"
    echo "$check: installed by apt, it compares, has its manual, completes in bash, serves by nbdkit, and is purged again"
}
completed='. /usr/share/bash-completion/bash_completion; _completion_loader imbrex
    COMP_WORDS=(imbrex replay zipf --set fifo-log.sp); COMP_CWORD=4; COMP_TYPE=9
    _clap_complete_imbrex imbrex fifo-log.sp --set; echo "$COMPREPLY"'

# The commands that root types in the section of docs/install.md whose title is named.
shown() { sed -n "/^## $1\$/,/^## /{/^\`\`\`console\$/,/^\`\`\`\$/s/^# //p}" ../../docs/install.md; }

# The guest's disk: the installed Debian with the modules of its kernel, and what it is to do.
make_disk() {
    local unit=$root/etc/systemd/system
    mkdir -p "$root/usr/lib/modules" "$root/check" "$root/var/log/journal" "$root/etc/systemd/system.conf.d"
    cp -r "$guest/lib/modules/$version" "$root/usr/lib/modules/"
    shown "The service" > "$root/check/service"
    [ "$(grep -c imbrex "$root/check/service")" -ge 4 ] || fail "docs/install.md shows no service"
    install -m 755 guest.sh "$root/check/guest.sh"
    cp check.service "$unit/"
    mkdir -p "$unit/multi-user.target.wants"
    ln -s ../check.service "$unit/multi-user.target.wants/"
    # Emulation is slow.
    printf '[Manager]\nDefaultTimeoutStartSec=10min\nDefaultDeviceTimeoutSec=10min\n' > "$root/etc/systemd/system.conf.d/check.conf"
    echo 2bd1e2d1f0a14b6f8d0f6c2f3a4b5c6d > "$root/etc/machine-id"
    rm -f "$root/imbrex.deb"
    mkfs.ext4 -q -d "$root" "$work/disk" 2G > /dev/null || fail "the guest's disk cannot be made"
}

need_debian
prepared
if [ -z "${PACKAGES:-}" ]; then
    PACKAGES=$work/deb
    ../../packaging/deb.sh "$PACKAGES" > "$work/deb.log" 2>&1 || fail "there is no package: $(tail -n 5 "$work/deb.log")"
fi
check_installed
begin_guest virtio_blk ublk_drv nbd autofs4
make_disk
pack_guest boot.sh
devices+=(-drive "file=$work/disk,format=raw,if=virtio,cache=unsafe")
run_guest
sed -n 's/^served //p' "$work/report"
# A reboot ends this qemu, and the next one goes on.
run_guest
sed -n 's/^served //p' "$work/report"
