# What the checks share that boot a guest: a real kernel with zoned disks, under qemu's plain emulation. Sourced by each
# run.sh after `check` says what messages call it, in the check's own folder.
#
# Needs qemu and the programs that go into the guest, installed quietly where this is Debian and the user is root, and
# Debian's cloud kernel and dm-zoned-tools, fetched once into a cache folder and not installed. Where that cannot be had
# a check says why and succeeds, or fails if IMBREX_REQUIRE_QEMU is 1. What was fetched before needs no network. The
# guest runs by plain emulation: /dev/kvm is often missing, and inside other machines often there without working.
# GUEST_SECONDS is the longest that it may run. GUEST_SUITE is the part of Debian that the kernel comes from: trixie, or
# trixie-backports, whose kernel is newer.

GUEST_SECONDS=${GUEST_SECONDS:-1200}
suite=${GUEST_SUITE:-trixie}
shared=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/imbrex/$suite
work=$(mktemp -d)
guest=$work/guest
# What else qemu is told.
devices=()
# What a tool has mounted there, and not taken away when it was ended, is not touched.
trap 'rm -rf --one-file-system "$work"' EXIT

required=IMBREX_REQUIRE_QEMU
. "$shared/peers.sh"

# What every guest needs, and the programs that are named.
need_guest_programs() {
    [ "$(uname -m)" = x86_64 ] ||
        skip "the guest is an x86_64 one with programs of this machine, which is $(uname -m)"
    need_programs qemu-system-x86_64:qemu-system-x86 busybox:busybox-static depmod:kmod cpio:cpio xz:xz-utils "$@"
}

# Kernel and dm-zoned-tools of Debian 13, unpacked into the cache.
need_kernel() { need_fetched "$cache" "the guest's kernel" fetch_kernel; }

# Packages of Debian's, unpacked below a folder, unless they are there: FOLDER WHAT COMMAND, which downloads them.
need_fetched() {
    [ -e "$1/complete" ] && return
    command -v apt-get > /dev/null && [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] ||
        skip "$2 comes from Debian packages, and this is not Debian"
    echo "$check: fetching $2"
    rm -rf "$work/debs"
    ("$3") > "$work/fetch" 2>&1 || skip "$2 could not be fetched: $(reason "$work/fetch")"
    # Moved into place whole, so that what is there is complete.
    local new=$1.$$ package tree
    { mkdir -p "$new" && for package in "$work"/debs/*.deb; do dpkg-deb -x "$package" "$new/root"; done &&
        tree=$(modules_root "$new/root") && { [ ! -d "$tree/lib/modules" ] || "$(program depmod)" -b "$tree" "$(ls "$tree/lib/modules")"; } &&
        touch "$new/complete" && rm -rf "$1" && mv -T "$new" "$1"; } || skip "$1 could not be written"
}

# Where this machine has Debian's packages from.
mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2> /dev/null |
        awk 'NR == 1 { print } END { if (!NR) print "http://deb.debian.org/debian" }'
}

# The parts of Debian that the guest's packages come from.
suites() { echo trixie "$suite" | tr ' ' '\n' | sort -u; }

# Makes apt take packages from these parts of Debian alone, by a configuration of its own: the machine's stays as it is,
# and what is installed there is not looked at.
from_debian() {
    mkdir -p "$work"/{lists/partial,archives/partial,debs/partial}
    : > "$work/status"
    printf "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror) %s main\n" "$@" \
        > "$work/sources.list"
    cat > "$work/apt.conf" << END
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$work/lists";
Dir::State::status "$work/status";
Dir::Cache "$work";
Dir::Cache::archives "$work/debs";
Acquire::Languages "none";
APT::Sandbox::User "root";
END
    export APT_CONFIG=$work/apt.conf
    fetching 60 apt-get -qq update
}

fetch_kernel() {
    from_debian $(suites) || return
    local newest kernel packages
    newest=$(apt-cache madison linux-image-cloud-amd64 | awk -v suite="$suite/main" '$6 == suite { print $3; exit }')
    kernel=$(apt-cache show "linux-image-cloud-amd64=$newest" | grep -o 'linux-image-[0-9][^ ,]*' | head -n 1)
    [ -n "$kernel" ] || return
    # Since 7.0 what it is made of are packages of their own.
    packages=$(apt-cache depends "$kernel" | grep -o 'linux-\(base\|binary\|modules\)-[^ ]*' || true)
    cd "$work/debs" && fetching 180 apt-get -qq download "$kernel" $packages dm-zoned-tools
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

# The guest's first files: busybox, and modules with those they need.
begin_guest() {
    local tree modules module applet
    tree=$(modules_root "$cache/root")
    version=$(ls "$tree/lib/modules")
    mkdir -p "$guest"/{bin,sbin,proc,sys,dev,run,tmp,mnt,etc,lib/modules}
    copy_program "$(program busybox)"
    for applet in $("$guest/bin/busybox" --list); do [ -e "$guest/bin/$applet" ] || ln -s busybox "$guest/bin/$applet"; done
    modules=$guest/lib/modules/$version
    mkdir -p "$modules"
    cp "$tree/lib/modules/$version"/modules.{order,builtin,builtin.modinfo} "$modules/"
    for module in "$@"; do
        "$(program modprobe)" -d "$tree" -S "$version" --show-depends --ignore-install "$module"
    done | awk '$1 == "insmod" { print $2 }' | sort -u | while read -r file; do
        case $file in
            *.xz) xz -dc "$file" > "$modules/$(basename "$file" .xz)" ;;
            *) cp "$file" "$modules/" ;;
        esac
    done
    "$(program depmod)" -b "$guest" "$version"
}

# Packs the guest's files: `script` is what it does, with the arguments that follow.
pack_guest() {
    cp "$1" "$guest/check.sh"
    cp "$shared/guest-functions.sh" "$guest/functions.sh"
    install -m 755 "$shared/guest-init.sh" "$guest/init"
    shift
    printf '%q ' "$@" > "$guest/arguments"
    (cd "$guest" && find . | cpio --quiet -o -H newc) > "$work/initrd"
}

# cmpxchg16b is left out: under some versions of qemu's emulation it ends in a panic of the guest.
run_guest() {
    local status=0
    timeout --foreground -k 5 "$GUEST_SECONDS" "$(program qemu-system-x86_64)" -machine q35,memory-backend=memory \
        -object "memory-backend-memfd,id=memory,size=${GUEST_MIB:-1536}M,share=on" -accel tcg -cpu max,-cx16 \
        -smp "${GUEST_CPUS:-1}" -m "${GUEST_MIB:-1536}" "${devices[@]}" \
        -nodefaults -no-reboot -display none -kernel "$(find "$cache/root" -name 'vmlinuz*' -type f)" -initrd "$work/initrd" \
        -append "console=ttyS0 quiet panic=-1 mitigations=off" \
        -serial "file:$work/console" -serial "file:$work/said" < /dev/null > "$work/qemu" 2>&1 || status=$?
    tr -d '\r' < "$work/said" > "$work/report" || true
    if grep -q '^failed' "$work/report"; then
        # Before it says that it failed it shows why.
        tail -n 20 "$work/report" >&2
        fail "the guest could not do what it was asked"
    fi
    grep -q '^done$' "$work/report" && return
    tail -n 5 "$work/qemu" "$work/console" "$work/report" >&2 || true
    [ $status != 124 ] || fail "the guest was not done in $GUEST_SECONDS s (GUEST_SECONDS says how long it may take)"
    fail "the guest ended before it was done; above is what it said last"
}

# What the guest reported under a name.
said() { sed -n "s/^$1 //p" "$work/report"; }
