#!/bin/bash
# The template outside this repository, as docs/adding-a-layer.md has one copy it: its tests pass, and its program lists
# the layer. It builds Imbrex once more, as a dependency, so `make soak` runs it and `make test` does not.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r "$root/template/." "$copy"
# What was locked here is what is built with.
cp "$root/Cargo.lock" "$copy"
sed -i -e "s#\"\.\./crates/#\"$root/crates/#" -e 's/^# \(\[profile.dev\]\|opt-level\)/\1/' "$copy/Cargo.toml"
cd "$copy"
# As the release profile here, so that what others wrote is not built again. With debug assertions the template's tests
# run under `make test`.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}"
export CARGO_PROFILE_RELEASE_DEBUG=line-tables-only CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1
cargo test --release --quiet
# Not by `cargo run`, which would build all for a program without what its tests depend on.
"$CARGO_TARGET_DIR/release/imbrex-front" list layers --format json | grep '"name": "front"' > /dev/null ||
    { echo "template: the program does not list its layer"; exit 1; }
echo "template: it builds, tests and lists its layer outside the repository"
