#!/bin/bash
# Holds the layer dm-zoned against the kernel's own: the same writes go to a guest's dm-zoned on a host-managed disk and
# through `imbrex replay` on a drive of the same geometry, and the blocks written to the disk below are compared, with what
# busy reclaim wrote and again when everything has been reclaimed. They may differ by 10 %. Then the layer is replayed with
# a wrong threshold, and the check fails unless that is found to differ.
#
# Needs qemu, busybox, kmod, cpio, xz and dmsetup, installed quietly where this is Debian and the user is root, and Debian's
# cloud kernel and dm-zoned-tools, fetched once into a cache folder and not installed. Where that cannot be had the check
# says why and succeeds, or fails if IMBREX_REQUIRE_QEMU is 1. What was fetched before needs no network. The guest runs by
# qemu's plain emulation: /dev/kvm is often missing, and inside other machines often there without working.
# GUEST_SECONDS is the longest that it may run. Arguments go to `imbrex replay`.
set -euo pipefail
cd "$(dirname "$0")"

WRITES=100 CHUNKS=16 ZONE_BLOCKS=4096 SEED=${SEED:-1}
PERCENT=10
PERTURBED=dm-zoned.reclaim_low=50
GUEST_SECONDS=${GUEST_SECONDS:-300}
cache=${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/imbrex/dm-zoned
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
check="dm-zoned check" required=IMBREX_REQUIRE_QEMU
. ../peers.sh

# Kernel and dm-zoned-tools of Debian 13, unpacked into the cache.
need_kernel() {
    [ -e "$cache/complete" ] && return
    command -v apt-get > /dev/null && [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] ||
        skip "the guest's kernel comes from Debian packages, and this is not Debian"
    echo "dm-zoned check: fetching the guest's kernel"
    (fetch_kernel) > "$work/fetch" 2>&1 || skip "the guest's kernel could not be fetched: $(reason "$work/fetch")"
    # Moved into place whole, so that what is there is complete.
    local new=$cache.$$
    { mkdir -p "$new" && for package in "$work"/debs/*.deb; do dpkg-deb -x "$package" "$new/root"; done &&
        "$(program depmod)" -b "$(modules_root "$new/root")" "$(ls "$(modules_root "$new/root")/lib/modules")" &&
        touch "$new/complete" && rm -rf "$cache" && mv -T "$new" "$cache"; } || skip "$cache could not be written"
}

# By an apt configuration of their own, so that the machine's stays as it is.
fetch_kernel() {
    mkdir -p "$work"/{lists/partial,archives/partial,debs}
    local mirror
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2> /dev/null |
        head -n 1 || true)
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} trixie main" \
        > "$work/sources.list"
    cat > "$work/apt.conf" << END
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$work/lists";
Dir::Cache "$work";
Acquire::Languages "none";
APT::Sandbox::User "root";
END
    export APT_CONFIG=$work/apt.conf
    fetching 60 apt-get -qq update || return
    local image
    image=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
    [ -n "$image" ] || return
    cd "$work/debs" && fetching 120 apt-get -qq download "$image" dm-zoned-tools
}

# Where a tree of Debian's packages has lib/modules.
modules_root() { if [ -d "$1/lib/modules" ]; then echo "$1"; else echo "$1/usr"; fi; }

# A program and the libraries it needs.
copy_program() {
    local libraries library
    install -D "$1" "$guest/bin/${1##*/}"
    libraries=$(ldd "$1" 2>&1 || true)
    [[ $libraries != *"not found"* ]] || skip "${1##*/} needs newer libraries than this machine has"
    for library in $(grep -o '/[^ ]*' <<< "$libraries"); do
        [ -e "$guest$library" ] || install -D "$library" "$guest$library"
    done
}

# The guest's files: busybox, the two device-mapper programs, the modules, the pattern and what to do with it.
make_guest() {
    guest=$work/guest
    local tree modules
    tree=$(modules_root "$cache/root")
    version=$(ls "$tree/lib/modules")
    mkdir -p "$guest"/{bin,sbin,proc,sys,dev,run,tmp,lib/modules}
    copy_program "$(program busybox)"
    for applet in $("$guest/bin/busybox" --list); do [ -e "$guest/bin/$applet" ] || ln -s busybox "$guest/bin/$applet"; done
    copy_program "$(program dmsetup)"
    copy_program "$(find "$cache/root" -name dmzadm -type f | head -n 1)"
    modules=$guest/lib/modules/$version
    mkdir -p "$modules"
    cp "$tree/lib/modules/$version"/modules.{order,builtin,builtin.modinfo} "$modules/"
    for module in null_blk dm_zoned; do
        "$(program modprobe)" -d "$tree" -S "$version" --show-depends --ignore-install "$module"
    done | awk '$1 == "insmod" { print $2 }' | sort -u | while read -r file; do
        case $file in
            *.xz) xz -dc "$file" > "$modules/$(basename "$file" .xz)" ;;
            *) cp "$file" "$modules/" ;;
        esac
    done
    "$(program depmod)" -b "$guest" "$version"
    cp "$work/pattern" "$guest/pattern"
    install -m 755 guest.sh "$guest/init"
    (cd "$guest" && find . | cpio --quiet -o -H newc) > "$work/initrd"
}

# cmpxchg16b is left out: under some versions of qemu's emulation it ends in a panic of the guest.
run_guest() {
    local status=0
    timeout --foreground -k 5 "$GUEST_SECONDS" "$(program qemu-system-x86_64)" -machine q35 -accel tcg -cpu max,-cx16 -m 1536 \
        -nodefaults -no-reboot -display none -kernel "$cache/root/boot/vmlinuz-$version" -initrd "$work/initrd" \
        -append "console=ttyS0 quiet panic=-1 mitigations=off" \
        -serial "file:$work/console" -serial "file:$work/said" < /dev/null > "$work/qemu" 2>&1 || status=$?
    tr -d '\r' < "$work/said" > "$work/report" || true
    if grep '^failed' "$work/report"; then
        fail "the guest could not do what it was asked"
    fi
    grep -q '^done$' "$work/report" && return
    tail -n 5 "$work/qemu" "$work/console" "$work/report" >&2 || true
    [ $status != 124 ] || fail "the guest was not done in $GUEST_SECONDS s (GUEST_SECONDS says how long it may take)"
    fail "the guest ended before it was done; above is what it said last"
}

pattern() {
    awk -v writes="$WRITES" -v chunks="$CHUNKS" -v blocks="$ZONE_BLOCKS" -v seed="$SEED" -v gap=5 -v last="$1" -f pattern.awk
}

imbrex() { cargo run --quiet --locked --package imbrex-cli -- "$@"; }

# Blocks that the layer writes to the disk when the last read comes so many seconds after the last write. What follows are
# further arguments.
replayed() {
    pattern "$1" > "$work/trace"
    imbrex replay "$work/trace" --layer dm-zoned --drive drive.toml --prefill 0 --verify --format json "${@:2}" > "$work/outcome"
    awk '/"media_write_blocks"/ { inside = 1; next }
         inside && /}/ { inside = 0 }
         inside { sub(/,/, ""); sum += $2 }
         END { print sum }' "$work/outcome"
}

# Says how far apart two counts are, and whether that is near enough.
compare() {
    local what=$1 kernel=$2 ours=$3 off
    off=$(awk -v a="$kernel" -v b="$ours" 'BEGIN { printf "%.1f", (b - a) * 100 / a }')
    echo "blocks written, $what: kernel $kernel, imbrex $ours ($off %)"
    awk -v off="$off" -v most="$PERCENT" 'BEGIN { exit !(off <= most && off >= -most) }'
}

[ "$(uname -m)" = x86_64 ] || skip "the guest is an x86_64 one with programs of this machine, which is $(uname -m)"
need_programs qemu-system-x86_64:qemu-system-x86 busybox:busybox-static depmod:kmod cpio:cpio xz:xz-utils dmsetup:dmsetup
need_kernel
pattern 5 > "$work/pattern"
make_guest
run_guest
said() { sed -n "s/^$1 //p" "$work/report"; }
echo "dm-zoned check: $WRITES writes of 4 KiB over $CHUNKS chunks, Linux $version"
busy=$(replayed 5 "$@") all=$(replayed 1000 "$@") perturbed=$(replayed 5 --set "$PERTURBED")
agree=yes
compare "before the disk is idle" "$(said before)" "$busy" || agree=no
compare "when all is reclaimed" "$(said after)" "$all" || agree=no
[ $agree = yes ] || fail "the layer and the kernel differ by more than $PERCENT %"
! compare "with $PERTURBED, which must differ" "$(said before)" "$perturbed" ||
    fail "it does not notice $PERTURBED, and so proves nothing"
