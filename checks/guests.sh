#!/bin/bash
# Boots one guest for all checks that need one, or for those that are named: `checks/guests.sh dm-zoned`. The folder of
# each has a part.sh, which says what it is and needs, what goes into the guest and what is made of its report, and a
# guest.sh, which the guest runs. What a guest itself needs is told in guest.sh.
set -euo pipefail
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- dm-zoned device vhost-user
check="guest check"
. ./guest.sh
. ./device/programs.sh
. ./modules.sh

programs=() modules=()
for part in "$@"; do . "./$part/part.sh"; done
need_guest_programs "${programs[@]}"
need_kernel
prepared
begin_guest "${modules[@]}"
cp device/serving.sh device/life.sh device/members.sh "$guest/"
for part in "$@"; do
    # What it says, such as why it is skipped, is for the user.
    "put_${part//-/_}" >&2
    cp "$part/guest.sh" "$guest/$part.sh"
    echo ". /$part.sh"
done > "$work/script"
echo "finish done" >> "$work/script"
pack_guest "$work/script"
GUEST_MIB=2560 run_guest
for part in "$@"; do "judge_${part//-/_}"; done
