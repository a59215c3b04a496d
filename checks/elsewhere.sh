#!/usr/bin/env bash
# Checks what is built elsewhere: everything with the oldest Rust that Cargo.toml promises, the library and the program
# that simulates for macOS, and the library for Windows, as far as that shows without their linkers. Rustup fetches what
# is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/elsewhere
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

rustup toolchain list | grep -q "^$oldest" || rustup toolchain install "$oldest" --profile minimal
cargo "+$oldest" check --quiet --locked --workspace --all-targets
echo "all of it is built by Rust $oldest"

# Packages for another system.
for_system() {
    local target=$1
    shift
    rustup target list --installed | grep -qx "$target" || rustup target add "$target"
    cargo check --quiet --locked --target "$target" --no-default-features "${@/#/--package=}"
    echo "$* without default features: built for $target"
}
for_system aarch64-apple-darwin imbrex imbrex-cli
for_system x86_64-pc-windows-gnu imbrex
