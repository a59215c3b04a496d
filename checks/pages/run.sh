#!/bin/bash
# Opens pages in a headless browser and uses them as a person would: reports of runs, of series and units, of a paper's
# claims, and of 400 runs, and the page of a volume that is served while it is written to and after its server is killed.
# Pictures of all of them stay in PICTURES, target/pages unless it says otherwise, for who wants to look.
#
# Needs Chromium with its driver, nbdkit and fio, which are installed quietly where this is Debian and the user is root, and Python, into
# an environment of which selenium is put. What cannot be had is skipped with a message, or the check fails if
# IMBREX_REQUIRE_BROWSER is 1.
set -euo pipefail
cd "$(dirname "$0")"

work=$(mktemp -d)
check="page check" required=IMBREX_REQUIRE_BROWSER
. ../peers.sh
trap 'rm -rf "$work"' EXIT

need_programs chromium:chromium chromedriver:chromium-driver python3:python3 nbdkit:nbdkit fio:fio
root=$(cd ../.. && pwd)
pictures=${PICTURES:-$root/target/pages}
environment=$root/target/pages-python
if ! "$environment/bin/python" -c 'import selenium' 2> /dev/null; then
    python3 -m venv "$environment" > "$work/venv" 2>&1 ||
        skip "python3 cannot make an environment: $(tail -n 1 "$work/venv")"
    timeout 120 "$environment/bin/pip" install --quiet --disable-pip-version-check --requirement requirements.txt > "$work/pip" 2>&1 ||
        skip "selenium could not be installed: $(tail -n 1 "$work/pip")"
fi
prepared
if [ -z "${PROGRAMS:-}" ]; then
    (cd "$root" && cargo build --locked --quiet --package imbrex-cli --package imbrex-nbdkit)
    PROGRAMS=$root/target/debug
fi
mkdir -p "$pictures"
"$environment/bin/python" -W error::SyntaxWarning check.py "$PROGRAMS/imbrex" "$work" "$pictures"
