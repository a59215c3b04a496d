#!/bin/bash
# What `make test` does in hundreds, in thousands: power cuts for every layer, the property tests, kills of served
# volumes, the template of a layer in a copy outside, and the fuzz targets. SOAK_SEED, 1 unless told otherwise, is what
# all but the kills start from; what fails prints how it is replayed. It is as much as is worth waiting for after each
# change: for a night there are 100000 and 5000 cuts, which take half an hour on two cores, and more of the rest.
#
# MEMORY_CUTS and IMAGE_CUTS are the cuts of each layer on drives in memory and on images, CASES those of each property,
# FUZZ_SECONDS the time of each fuzz target.
set -euo pipefail
cd "$(dirname "$0")/.."

SOAK_SEED=${SOAK_SEED:-1} MEMORY_CUTS=${MEMORY_CUTS:-20000} IMAGE_CUTS=${IMAGE_CUTS:-2000}
CASES=${CASES:-200} FUZZ_SECONDS=${FUZZ_SECONDS:-30}
# A run takes a seed, so that another SOAK_SEED shares none with this one.
first=$(((SOAK_SEED - 1) * 1000000 + 1))
imbrex=${CARGO_TARGET_DIR:-target}/release/imbrex

say() { echo "soak: $1"; }

stop() {
    say "stopped"
    exit 130
}
trap stop INT TERM

# LAYER CUTS [--image]: the program says how a finding is replayed.
explore() {
    "$imbrex" explore "$1" --cuts "$2" --seed "$first" --format json "${@:3}" |
        awk -v layer="$1" -v where="${3:-in memory}" '
            /"(cuts|last_seed)"/ { gsub(/[",:]/, ""); found[$1] = $2 }
            END { if (found["cuts"] > 0) print "soak: " layer " " where ": " found["cuts"] " power cuts, last seed " found["last_seed"] }'
}

power_cuts() {
    local layers layer
    cargo build --release --locked --quiet --package imbrex-cli
    layers=$("$imbrex" list layers --format json | sed -n 's/^    "name": "\(.*\)",$/\1/p')
    [ -n "$layers" ] || { say "the program lists no layers"; exit 1; }
    for layer in $layers; do
        explore "$layer" "$MEMORY_CUTS"
        explore "$layer" "$IMAGE_CUTS" --image
    done
}

properties() {
    local settings="PROPTEST_CASES=$CASES PROPTEST_RNG_SEED=$SOAK_SEED"
    local tests="cargo test --workspace --locked --quiet --lib --test every_layer -- --skip survives_power_cuts"
    env $settings $tests || { say "a property does not hold; replay it with: $settings $tests"; exit 1; }
}

# Counting models, stacks and damage on as much as they were made for, and the commands of the documents as they are shown.
deep() { IMBREX_DEEP=1 cargo test --workspace --locked --quiet --test all -- counts:: stacks:: damage:: documentation::; }

# Fuzzing takes a nightly toolchain, which is not fetched, and cargo-fuzz, which is.
fuzz() {
    local without="THE FUZZ TARGETS ARE LEFT OUT"
    cargo +nightly --version > /dev/null 2>&1 ||
        { say "$without: there is no nightly toolchain (rustup toolchain install nightly)"; return; }
    cargo +nightly fuzz --version > /dev/null 2>&1 || cargo +nightly install cargo-fuzz --locked --quiet ||
        { say "$without: cargo-fuzz cannot be installed"; return; }
    make --no-print-directory fuzz FUZZ_SECONDS="$FUZZ_SECONDS" FUZZ_SEED="$SOAK_SEED"
}

say "power cuts, first seed $first"
power_cuts
say "what tests leave out that somebody waits for"
deep
say "$CASES cases of each property, seed $SOAK_SEED"
properties
CUTS=$IMAGE_CUTS PROPTEST_CASES=$CASES checks/template.sh
KILLS=${KILLS:-5} checks/nbd/run.sh
say "$FUZZ_SECONDS s of each fuzz target, seed $SOAK_SEED"
fuzz
say "done"
