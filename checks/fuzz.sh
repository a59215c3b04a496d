#!/bin/bash
# Builds the fuzz targets into target/fuzz, or, given names of targets, fuzzes these for FUZZ_SECONDS (20) each; FUZZ_SEED
# (1) is what libFuzzer draws from, 0 another one each time. `checks/soak.py` fuzzes all of them.
#
# libFuzzer comes with a crate, and what it needs to see of a program is a pass of LLVM's that a stable compiler has too.
set -euo pipefail
cd "$(dirname "$0")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/fuzz
coverage="-C passes=sancov-module -C llvm-args=-sanitizer-coverage-level=4 -C llvm-args=-sanitizer-coverage-inline-8bit-counters
    -C llvm-args=-sanitizer-coverage-pc-table -C llvm-args=-sanitizer-coverage-trace-compares"
# For the target alone: what runs while something is built is not looked at.
RUSTFLAGS="$coverage --cfg fuzzing" cargo build --manifest-path fuzz/Cargo.toml --target "$host" --target-dir "$target" --locked --quiet

for name in "$@"; do
    corpus=$target/corpus/$name
    mkdir -p "$corpus"
    echo "fuzzing $name for ${FUZZ_SECONDS:-20} s"
    "$target/$host/debug/$name" "$corpus" $(ls -d "fuzz/seeds/$name" 2> /dev/null || true) -seed="${FUZZ_SEED:-1}" \
        -max_total_time="${FUZZ_SECONDS:-20}" -max_len=8192 -timeout=60 -rss_limit_mb=1024 -verbosity=0 -artifact_prefix="$target/"
done
