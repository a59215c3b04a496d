#!/bin/bash
# The template outside this repository, as docs/adding-a-layer.md has one copy it: all of it compiles against what is
# public. It resolves features of its own, so some of it is looked at once more, although the profiles are those of this
# repository, and `make soak` runs it; that its tests pass and its program lists the layer is seen in `make test`, where
# it is part of the workspace.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r "$root/template/." "$copy"
# What was locked here is what is built with.
cp "$root/Cargo.lock" "$copy"
sed -i -e "s#\"\.\./crates/#\"$root/crates/#" -e 's/^# \(\[profile.dev\]\|opt-level\)/\1/' "$copy/Cargo.toml"
cd "$copy"
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}" cargo check --all-targets --config "$root/Cargo.toml"
echo "template: all of it compiles outside the repository"
