#!/bin/bash
# Hostile clients of a served volume: `checks/nbd/hostile.sh`. ATTACKS is how often each request is sent, and SEED what
# they are drawn from. What it needs is told in run.sh.
set -euo pipefail
cd "$(dirname "$0")"

check="hostile clients"
. ./server.sh
. ./attacks.sh

need_programs nbdkit:nbdkit fio:fio pgrep:procps
build
check_attacks attacked
check_ends_beside_clients ended
