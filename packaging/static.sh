#!/bin/bash
# Makes the program alone, with all that it needs in it, for any Linux: target/static/imbrex, and archives of it with its
# manual, completion, licenses and bill of materials, and of what debuggers want. It is what `make static` does.
#
# ARCHITECTURES are this machine's unless others are named too, x86_64 and aarch64. The C library is musl, which Zig has.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mkdir -p target/static && cd target/static && pwd)
. packaging/zig.sh
. packaging/parts.sh
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The same archive of the same files, whenever it is made.
archive() {
    local options=(--sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH")
    tar -C "$work" "${options[@]}" -c "$1" | gzip -9n > "$out/$1.tar.gz"
}

rm -f "$out"/imbrex*
architectures=${ARCHITECTURES:-$(uname -m)}
for architecture in $architectures; do
    need_target "$architecture-unknown-linux-musl"
    RUSTFLAGS="$remapped -C link-arg=-Wl,--build-id" cargo zigbuild --quiet --profile profiling --locked --package imbrex-cli \
        --bin imbrex --target "$architecture-unknown-linux-musl"
    cp "$target/$architecture-unknown-linux-musl/profiling/imbrex" "$work/imbrex"
    mkdir "$work/imbrex-$version-$architecture-linux"{,-debug}
    separate "$work/imbrex" "$work/imbrex-$version-$architecture-linux-debug/imbrex.debug"
    mv "$work/imbrex" "$work/imbrex-$version-$architecture-linux/"
done
own=$work/imbrex-$version-$(uname -m)-linux
[ -d "$own" ] || { echo "ARCHITECTURES names others, but not $(uname -m), whose program writes the manual" >&2; exit 1; }
PATH=$own:$PATH write_beside "$work/beside" imbrex-cli
for architecture in $architectures; do
    name=imbrex-$version-$architecture-linux
    cp -r "$work"/beside/* LICENSE-APACHE LICENSE-MIT CHANGELOG.md "$work/$name/"
    archive "$name"
    archive "$name-debug"
done
cp "$own/imbrex" "$out/"
ls "$out"/*
