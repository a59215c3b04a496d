#!/usr/bin/env bash
# Checks what is built elsewhere. Everything is built with the oldest Rust that Cargo.toml promises. The library, all of the
# program that is no part of serving, and the package for Python are checked for macOS and Windows; the program for
# Windows is linked, too, and does under Wine what it does here: what it says, and the numbers of a comparison.
#
# Rustup and PyPI give what is missing, and Debian gives Wine, installed quietly where the user is root. Without Wine the
# last part is skipped with a message, or the check fails if IMBREX_REQUIRE_WINE is 1.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
check="check elsewhere" required=IMBREX_REQUIRE_WINE
. checks/peers.sh
. packaging/zig.sh
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}/elsewhere")
export CARGO_TARGET_DIR
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
features=(--no-default-features --features "completion,compression,papers,parquet,pictures")

rustup toolchain list | grep -q "^$oldest" || rustup toolchain install "$oldest" --profile minimal
cargo "+$oldest" check --quiet --locked --workspace --all-targets
echo "$check: all of it is built by Rust $oldest"

for target in aarch64-apple-darwin x86_64-pc-windows-gnu; do
    need_target $target
    cargo-zigbuild check --quiet --locked --target $target --package imbrex --package imbrex-cli "${features[@]}"
    PYO3_NO_PYTHON=1 cargo-zigbuild check --quiet --locked --target $target --package imbrex-python
    echo "$check: the library, the program and the package for Python are built for $target"
done

windows=$CARGO_TARGET_DIR/x86_64-pc-windows-gnu/debug
cargo-zigbuild zigbuild --quiet --locked --target x86_64-pc-windows-gnu --package imbrex-cli "${features[@]}"
cargo build --quiet --locked --package imbrex-cli "${features[@]}"
need_programs wine:wine wine:wine64
# In Debian `wine` asks for the one of 32 bits, too.
wine=$(PATH=$PATH:/usr/lib/wine command -v wine64 || command -v wine)
# What Wine has had since its ninth version.
[ "$("$wine" --version | sed 's/^wine-\([0-9]*\).*/\1/')" -ge 9 ] ||
    python-zig cc -target x86_64-windows-gnu -shared -o "$windows/bcryptprimitives.dll" checks/elsewhere/bcryptprimitives.c -ladvapi32
export WINEPREFIX=$work/wine WINEDEBUG=-all
# Its server would write into a folder that is gone.
trap 'wineserver --kill 2> /dev/null || true; rm -rf "$work"' EXIT

# Runs the program here, and in Windows; what both print has to be the same.
same() {
    local here there
    here=$("$CARGO_TARGET_DIR/debug/imbrex" "$@") && there=$("$wine" "$windows/imbrex.exe" "$@") || fail "imbrex $* fails"
    [ "$here" = "${there//$'\r'/}" ] || fail "imbrex $* says something else in Windows: $(diff <(echo "$here") <(echo "$there") | head)"
}
cd "$work"
same list layers
same list drives
same compare hm_0 --requests 2000
same advise hm_0 --requests 2000
same trace generate zipf --requests 2000 --output zipf.csv
same trace stat zipf.csv
same bound zipf.csv --beyond wrap
! "$wine" "$windows/imbrex.exe" compare nowhere.csv 2> said || fail "a trace that is not there is no error in Windows"
grep -q 'nowhere.csv' said || fail "Windows does not say which file is missing: $(cat said)"
echo "$check: the program for Windows says the same as this one"
