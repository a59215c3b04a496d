#!/bin/bash
# The template outside this repository, as docs/adding-a-layer.md has one copy it: its tests pass, and its program lists
# the layer. It builds everything once more, so `make soak` runs it and `make test` does not.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r "$root/template/." "$copy"
# What was locked here is what is built with.
cp "$root/Cargo.lock" "$copy"
sed -i -e "s#\"\.\./crates/#\"$root/crates/#" -e 's/^# \(\[profile.dev\]\|opt-level\)/\1/' "$copy/Cargo.toml"
cd "$copy"
export CARGO_TARGET_DIR="$root/target/template"
cargo test --quiet
cargo run --quiet -- list layers --format json | grep '"name": "front"' > /dev/null ||
    { echo "template: the program does not list its layer"; exit 1; }
echo "template: it builds, tests and lists its layer outside the repository"
