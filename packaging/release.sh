#!/bin/bash
# Makes all that a release has, in target/imbrex-VERSION, with checksums: Debian packages for this machine's processor, and
# for x86_64 and aarch64 archives of the static program and wheels; what debuggers want of the programs; a source
# distribution for Python; and a bill of materials. It is what `make release` does, and takes half an hour.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/parts.sh
out=target/imbrex-$version
[ -z "$(git status --porcelain)" ] || { echo "there are changes that are in no commit; commit them, or work in a clone" >&2; exit 1; }

rm -rf "$out" "$out.part"
mkdir -p "$out.part"
packaging/deb.sh "$out.part"
ARCHITECTURES="x86_64 aarch64" packaging/static.sh
ARCHITECTURES="x86_64 aarch64" packaging/wheels.sh
cp target/static/imbrex-*.tar.gz target/wheels/imbrex-* "$out.part"
packaging/sbom.py imbrex-cli imbrex-nbdkit > "$out.part/imbrex-$version.cdx.json"
(cd "$out.part" && sha256sum * > SHA256SUMS)
mv "$out.part" "$out"
ls -l "$out"
