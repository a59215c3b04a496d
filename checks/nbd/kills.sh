#!/bin/bash
# Kills the servers of layers while they are written to: `checks/nbd/kills.sh LAYER...`. KILLS is how often, and SEED
# what the moments are drawn from. What it needs is told in run.sh.
set -euo pipefail
cd "$(dirname "$0")"

KILLS=${KILLS:-1} check="kills of servers"
. ./server.sh
. ./kill.sh

need_programs nbdkit:nbdkit qemu-io:qemu-utils
build
check_kills "$@"
