#!/bin/bash
# Runs a command of cargo's on the packages that have changed since SINCE (HEAD~1), committed or not: what comes before
# the first option is the command, as in `checks/changed.sh test --lib`.
set -euo pipefail
cd "$(dirname "$0")/.."

files=$({ git diff --name-only "${SINCE:-HEAD~1}"; git ls-files --others --exclude-standard; } | sort -u)
packages=()
for manifest in crates/*/Cargo.toml template/Cargo.toml; do
    ! grep -q "^${manifest%Cargo.toml}" <<< "$files" || packages+=(--package "$(sed -n 's/^name = "\(.*\)"/\1/p' "$manifest" | head -n 1)")
done
[ ${#packages[@]} -gt 0 ] || { echo "no package has changed"; exit 0; }
echo "cargo $1 ${packages[*]}"
cargo "$1" "${packages[@]}" "${@:2}"
