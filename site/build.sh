#!/usr/bin/env bash
# Builds the site into target/site, with what it takes in an environment of Python's own. A link that leads nowhere, or a
# document that is in no menu, fails. Ends with 75 if what it takes cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
tools=$target/site-tools
# What the pages say must be what this program says, not an older one.
if [ -z "${IMBREX:-}" ]; then
    cargo build --release --locked --bin imbrex
    export IMBREX=$target/release/imbrex
fi
if ! cmp -s site/requirements.txt "$tools/requirements.txt"; then
    python3 -m venv --clear "$tools" &&
        timeout 180 "$tools/bin/pip" install --quiet --disable-pip-version-check --requirement site/requirements.txt || exit 75
    cp site/requirements.txt "$tools"
fi
"$tools/bin/mkdocs" build --config-file site/mkdocs.yml
# It is read without a network.
if grep -rhoE '<(script|link|img|iframe)[^>]* (src|href)="?(https?:)?//[^ >]*' target/site --include='*.html' | sort -u | grep .; then
    echo "site/build.sh: pages load these from elsewhere" >&2
    exit 1
fi
