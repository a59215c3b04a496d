#!/bin/bash
# Holds the layer dm-zoned against the kernel's own: the same writes go to a guest's dm-zoned on a host-managed disk and
# through `imbrex replay` on a drive of the same geometry, and the blocks written to the disk below are compared, with what
# busy reclaim wrote and again when everything has been reclaimed. They may differ by 10 %.
#
# Needs qemu, busybox-static, kmod, cpio and dmsetup, installed quietly where this is Debian and the user is root, and
# Debian's cloud kernel and dm-zoned-tools, fetched into a cache folder and not installed. Where that cannot be had it says
# so and succeeds. Arguments go to `imbrex replay`: a changed setting, as --set dm-zoned.reclaim_low=0, must fail.
set -euo pipefail
cd "$(dirname "$0")"

WRITES=100 CHUNKS=16 ZONE_BLOCKS=4096 SEED=${SEED:-1}
PERCENT=10
BOOT_AND_RUN_SECONDS=170
cache=${XDG_CACHE_HOME:-$HOME/.cache}/imbrex/dm-zoned
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
    echo "dm-zoned check skipped: $1"
    exit 0
}

# Programs of the host, and the packages they come in.
need_programs() {
    local pair missing=()
    for pair in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static depmod:kmod cpio:cpio dmsetup:dmsetup; do
        program "${pair%%:*}" > /dev/null || missing+=("${pair##*:}")
    done
    [ ${#missing[@]} -eq 0 ] && return
    [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || skip "it needs the packages ${missing[*]}"
    echo "dm-zoned check: installing ${missing[*]}"
    { fetching apt-get -qq update && DEBIAN_FRONTEND=noninteractive fetching apt-get -qq -y --no-install-recommends \
        install "${missing[@]}"; } > "$work/apt" 2>&1 || skip "the packages ${missing[*]} could not be installed"
}

program() { PATH=$PATH:/sbin:/usr/sbin command -v "$1"; }

# A command that uses the network and must not hang.
fetching() { timeout 300 "$@" -o Acquire::http::Timeout=20 -o Acquire::Retries=1; }

# Kernel and dm-zoned-tools of Debian 13, by an apt configuration of their own, so that the machine's stays as it is.
need_kernel() {
    [ -e "$cache/complete" ] && return
    command -v apt-get > /dev/null && [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] ||
        skip "the guest's kernel comes from Debian packages, and this is not Debian"
    rm -rf "$cache"
    mkdir -p "$cache"/{lists/partial,archives/partial,debs,root} || skip "$cache cannot be written"
    local mirror
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2> /dev/null | grep -v security | head -n 1 || true)
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} trixie main" \
        > "$cache/sources.list"
    cat > "$cache/apt.conf" << END
Dir::Etc::sourcelist "$cache/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$cache/lists";
Dir::Cache "$cache";
Acquire::Languages "none";
APT::Sandbox::User "root";
END
    (
        export APT_CONFIG=$cache/apt.conf
        fetching apt-get -qq update
        image=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
        cd "$cache/debs" && fetching apt-get -qq download "$image" dm-zoned-tools
    ) > "$work/fetch" 2>&1 || skip "the guest's kernel could not be fetched"
    for package in "$cache"/debs/*.deb; do dpkg-deb -x "$package" "$cache/root"; done
    touch "$cache/complete"
}

# A program and the libraries it needs.
copy_program() {
    install -D "$1" "$guest/bin/${1##*/}"
    { ldd "$1" 2> /dev/null || true; } | grep -o '/[^ ]*' | while read -r library; do
        [ -e "$guest$library" ] || install -D "$library" "$guest$library"
    done
}

# The guest's files: busybox, the two device-mapper programs, the modules, the pattern and what to do with it.
make_guest() {
    guest=$work/guest
    local tree=$cache/root modules
    [ -d "$tree/lib/modules" ] || tree=$tree/usr
    version=$(ls "$tree/lib/modules")
    mkdir -p "$guest"/{bin,sbin,proc,sys,dev,run,tmp,lib/modules}
    cp "$(program busybox)" "$guest/bin/busybox"
    for applet in $("$guest/bin/busybox" --list); do [ -e "$guest/bin/$applet" ] || ln -s busybox "$guest/bin/$applet"; done
    copy_program "$(program dmsetup)"
    copy_program "$(find "$cache/root" -name dmzadm -type f | head -n 1)"
    "$(program depmod)" -b "$tree" "$version"
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
    timeout "$BOOT_AND_RUN_SECONDS" "$(program qemu-system-x86_64)" -machine q35 -accel tcg -cpu max,-cx16 -m 1536 \
        -nodefaults -no-reboot -display none -kernel "$cache/root/boot/vmlinuz-$version" -initrd "$work/initrd" \
        -append "console=ttyS0 quiet panic=-1 mitigations=off" \
        -serial "file:$work/console" -serial "file:$work/said" < /dev/null > "$work/qemu" 2>&1 || true
    tr -d '\r' < "$work/said" > "$work/report"
    if ! grep -q '^done$' "$work/report"; then
        grep -q '^capacity\|^failed' "$work/report" || skip "the guest did not come up in $BOOT_AND_RUN_SECONDS s"
        grep -q '^failed' "$work/report" || skip "the guest was not done in $BOOT_AND_RUN_SECONDS s"
    fi
    if grep '^failed' "$work/report"; then
        echo "dm-zoned check: the guest could not do what it was asked" >&2
        exit 1
    fi
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

disagreements=0
compare() {
    local what=$1 kernel=$2 ours=$3 off
    off=$(awk -v a="$kernel" -v b="$ours" 'BEGIN { printf "%.1f", (b - a) * 100 / a }')
    echo "blocks written, $what: kernel $kernel, imbrex $ours ($off %)"
    awk -v off="$off" -v most="$PERCENT" 'BEGIN { exit !(off <= most && off >= -most) }' || disagreements=$((disagreements + 1))
}

need_programs
need_kernel
pattern 5 > "$work/pattern"
make_guest
run_guest
said() { sed -n "s/^$1 //p" "$work/report"; }
echo "dm-zoned check: $WRITES writes of 4 KiB over $CHUNKS chunks, Linux $version"
compare "before the disk is idle" "$(said before)" "$(replayed 5 "$@")"
compare "when all is reclaimed" "$(said after)" "$(replayed 1000 "$@")"
if [ "$disagreements" -gt 0 ]; then
    echo "dm-zoned check: the layer and the kernel differ by more than $PERCENT %" >&2
    exit 1
fi
