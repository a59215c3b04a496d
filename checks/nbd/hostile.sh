#!/bin/bash
# Hostile clients of a served volume: `checks/nbd/hostile.sh`. ATTACKS is how often each request is sent, and SEED what
# they are drawn from. What it needs is told in run.sh.
set -euo pipefail
cd "$(dirname "$0")"

profile=${PROFILE:-dev}
work=$(mktemp -d)
images=$(mktemp -d -p "${IMAGES:-$([ -w /dev/shm ] && echo /dev/shm || echo "$work")}")
check="hostile clients" required=IMBREX_REQUIRE_PEERS
. ../peers.sh
. ./server.sh
. ./attacks.sh

finish() {
    stop_all > "$work/stopped" 2>&1 || true
    rm -rf "$work" "$images"
}
trap finish EXIT

say() { echo "$check: $1"; }

need_programs nbdkit:nbdkit fio:fio pgrep:procps
build
check_attacks attacked
