#!/bin/bash
# Makes wheels of the package for Python, and its source distribution, with their checksums: in target/wheels, or in the
# folder that is named. It is what `make wheels` does.
#
# A wheel is for CPython 3.11 and later, and for any Linux with glibc 2.17 or later, whatever this one has: Zig, which
# PyPI has like maturin, compiles what is C, and links. ARCHITECTURES are x86_64 and aarch64 unless others are named.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mkdir -p "${1:-target/wheels}" && cd "${1:-target/wheels}" && pwd)
. packaging/zig.sh
. packaging/parts.sh
export RUSTFLAGS=$remapped
rm -f "$out"/imbrex-*
for architecture in ${ARCHITECTURES:-x86_64 aarch64}; do
    target=$architecture-unknown-linux-gnu
    need_target "$target"
    maturin build --quiet --release --strip --locked --zig --compatibility manylinux2014 --target "$target" --out "$out"
done
maturin sdist --out "$out"
(cd "$out" && sha256sum imbrex-* > SHA256SUMS && ls imbrex-* SHA256SUMS)
