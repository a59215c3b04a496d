#!/bin/bash
# Tries each file of a release, which it makes unless RELEASE names its folder: checksums; the static programs where there
# is nothing else, that of aarch64 under qemu; what debuggers want of programs; the Debian package as `make check-install`
# does; wheels where there is no compiler, that of aarch64 in Debian's Python for it, under qemu. And that cargo would
# publish the crates.
#
# Needs root and qemu-user-static, installed quietly where this is Debian. What cannot be had is skipped with a message, or
# the check fails if IMBREX_REQUIRE_QEMU is 1.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
check="release check" required=IMBREX_REQUIRE_QEMU
. checks/peers.sh
. packaging/parts.sh
need_programs qemu-aarch64-static:qemu-user-static mmdebstrap:mmdebstrap dpkg-deb:dpkg readelf:binutils addr2line:binutils
prepared
if [ -z "${RELEASE:-}" ]; then
    packaging/release.sh
    RELEASE=target/imbrex-$version
fi
RELEASE=$(realpath "$RELEASE")
(cd "$RELEASE" && sha256sum --check --quiet SHA256SUMS) || fail "checksums do not agree"

# Debug symbols know by which line of the code a program begins: PROGRAM SYMBOLS.
debuggable() {
    local id main
    id=$(build_id "$1")
    [ -n "$id" ] && [ "$(build_id "$2")" = "$id" ] || fail "$2 is of another program than $1"
    main=$(readelf --symbols --wide "$2" 2> /dev/null | awk '$8 ~ /imbrex_cli.*run_with/ && $4 == "FUNC" { main = $2 } END { print main }')
    addr2line -e "$2" "0x${main:-0}" | grep 'imbrex-cli/src/' > /dev/null || fail "$2 knows no lines of the code"
    [ "$(readelf --symbols --wide "$1" | grep -c imbrex_cli)" = 0 ] || fail "$1 still has its symbols"
}

for architecture in x86_64 aarch64; do
    name=imbrex-$version-$architecture-linux
    tar -C "$work" -xf "$RELEASE/$name.tar.gz"
    tar -C "$work" -xf "$RELEASE/$name-debug.tar.gz"
    debuggable "$work/$name/imbrex" "$work/$name-debug/imbrex.debug"
    emulator=()
    if [ "$architecture" != "$(uname -m)" ]; then
        cp "$(program qemu-$architecture-static)" "$work/$name/qemu"
        emulator=(/qemu)
    fi
    chroot "$work/$name" "${emulator[@]}" /imbrex compare --requests 300 > "$work/compared" || fail "$name does not run alone"
    grep -q 'best: zone-ages' "$work/compared" || fail "$name compares nothing: $(cat "$work/compared")"
    [ "$(stat -c %s "$work/$name/imbrex")" -lt 30000000 ] || fail "$name is not stripped"
    [ -s "$work/$name/manual/imbrex-serve.1" ] && [ -s "$work/$name/completion/zsh" ] || fail "$name has no manual or completion"
    echo "$check: the static program for $architecture runs alone"
done

dpkg-deb -x "$RELEASE/imbrex_${version}_$(dpkg --print-architecture).deb" "$work/deb"
dpkg-deb -x "$RELEASE/imbrex-dbgsym_${version}_$(dpkg --print-architecture).deb" "$work/dbgsym"
id=$(build_id "$work/deb/usr/bin/imbrex")
debuggable "$work/deb/usr/bin/imbrex" "$work/dbgsym/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
echo "$check: debuggers find the code of the packaged program"
PACKAGES=$RELEASE checks/install/run.sh

PROGRAMS=$work/deb/usr/bin WHEEL=$(ls "$RELEASE"/imbrex-*"$(uname -m)".whl) checks/python/run.sh

# The wheel for the other processor, in Debian's Python for it, which is unpacked and not installed.
debian=$(. /etc/os-release && [ "${ID:-}" = debian ] && echo "${VERSION_CODENAME:-}") || skip "this is not Debian"
timeout 900 mmdebstrap --quiet --variant=extract --architectures=arm64 --include=python3 "$debian" "$work/arm64" 2> "$work/fetch" ||
    skip "Debian's Python for aarch64 could not be fetched: $(reason "$work/fetch")"
python3 -m zipfile -e "$RELEASE"/imbrex-*aarch64.whl "$work/arm64/wheel"
cp "$(program qemu-aarch64-static)" "$work/arm64/qemu"
replays='import imbrex; print(imbrex.replay("hm_0", "fifo-log", requests=300).requests)'
[ "$(chroot "$work/arm64" /qemu -E PYTHONPATH=/wheel /usr/bin/python3 -c "$replays")" = 300 ] ||
    fail "the wheel for aarch64 does not replay"
echo "$check: the wheel for aarch64 replays"

# By itself cargo would build each crate with all that is below it. Here all are built once, of what is in the crates.
cargo publish --workspace --dry-run --no-verify --locked > "$work/publish" 2>&1 ||
    fail "cargo would not publish: $(tail -n 20 "$work/publish")"
[ "$(grep -c 'see https://doc.rust-lang.org/cargo/reference/manifest' "$work/publish")" = 0 ] ||
    fail "a crate says too little of itself: $(cat "$work/publish")"
mapfile -t crates < <(sed -n 's/^ *Uploading \([^ ]*\) .*/\1/p' "$work/publish")
cargo package --quiet --no-verify --locked --target-dir "$work/packed" "${crates[@]/#/--package=}" 2> /dev/null
mkdir "$work/crates"
for crate in "$work"/packed/package/*.crate; do tar -C "$work/crates" -xf "$crate"; done
{
    printf '[workspace]\nresolver = "3"\nmembers = ["*"]\n[patch.crates-io]\n'
    for crate in "${crates[@]}"; do echo "$crate = { path = \"$crate-$version\" }"; done
} > "$work/crates/Cargo.toml"
cp Cargo.lock "$work/crates/"
(cd "$work/crates" && CARGO_TARGET_DIR=$work/packed cargo check --quiet) || fail "what is in the crates cannot be built"
echo "$check: cargo would publish ${#crates[@]} crates, and what is in them can be built"
