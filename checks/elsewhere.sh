#!/usr/bin/env bash
# Checks what is built elsewhere: everything with the oldest Rust that Cargo.toml promises, and the library and the program
# that simulates for Windows and macOS, as far as that shows without their linkers. Rustup fetches what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/elsewhere
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

rustup toolchain list | grep -q "^$oldest" || rustup toolchain install "$oldest" --profile minimal
cargo "+$oldest" check --quiet --locked --workspace --all-targets
echo "all of it is built by Rust $oldest"
for target in x86_64-pc-windows-gnu aarch64-apple-darwin; do
    rustup target list --installed | grep -qx "$target" || rustup target add "$target"
    cargo check --quiet --locked --target "$target" --package imbrex --package imbrex-cli --no-default-features
    echo "the library, and the program without its default features, are built for $target"
done
