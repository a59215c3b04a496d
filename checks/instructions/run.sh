#!/bin/bash
# Holds how many instructions a replayed block takes to what was recorded; count.py says how. With --write that is
# recorded anew.
set -euo pipefail
cd "$(dirname "$0")"
check="instruction check"
required=IMBREX_REQUIRE_VALGRIND
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ../peers.sh

need_programs valgrind:valgrind
prepared
# As the step before has it built, so that nothing is built twice.
cargo build --quiet --release --locked -p imbrex-cli --no-default-features --features bench,papers
IMBREX=${CARGO_TARGET_DIR:-$(git rev-parse --show-toplevel)/target}/release/imbrex ./count.py "$@"
