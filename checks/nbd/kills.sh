#!/bin/bash
# Kills the servers of layers while they are written to: `checks/nbd/kills.sh LAYER...`. KILLS is how often, and SEED
# what the moments are drawn from. What it needs is told in run.sh.
set -euo pipefail
cd "$(dirname "$0")"

KILLS=${KILLS:-1} profile=${PROFILE:-dev}
work=$(mktemp -d)
images=$(mktemp -d -p "${IMAGES:-$([ -w /dev/shm ] && echo /dev/shm || echo "$work")}")
check="kills of servers" required=IMBREX_REQUIRE_PEERS
. ../peers.sh
. ./server.sh
. ./kill.sh

finish() {
    stop_all > "$work/stopped" 2>&1 || true
    rm -rf "$work" "$images"
}
trap finish EXIT

say() { echo "$check: $1"; }

need_programs nbdkit:nbdkit qemu-io:qemu-utils
build
check_kills "$@"
