#!/bin/bash
# Opens pages in a headless browser and uses them as a person would: reports of runs, of series and units, of two files
# beside each other, of a paper's claims, and of 400 runs, on paper and without JavaScript; and the page of a volume that
# is served while it is written to and after its server is killed; and the site of documents, built here and read from
# its folder. axe-core looks for what keeps people from using a page.
# Pictures of all of them stay in PICTURES, target/pages unless it says otherwise, for who wants to look. With --pictures
# it takes those that the documents keep instead, in docs/pictures/pages.
#
# Needs Chromium with its driver, nbdkit and fio, which are installed quietly where this is Debian and the user is root,
# and Python, into an environment of which selenium is put, and into another what builds the site. axe-core comes from
# npm, where that is there. What cannot be had is skipped with a message, or the check fails if IMBREX_REQUIRE_BROWSER is 1.
set -euo pipefail
cd "$(dirname "$0")"

work=$(mktemp -d)
check="page check" required=IMBREX_REQUIRE_BROWSER
. ../peers.sh
trap 'rm -rf "$work"' EXIT

# Published with this checksum; it runs in the pages that are checked, and is no part of them.
axe_version=4.10.3
axe_sum=0f2b4d7dcdf7d1219df8d1959ad68e565f51d14c3f0d88bb71cd59abeb956292

# Puts it into the folder that its path says, unless it is there.
get_axe() {
    [ -f "$1" ] && return
    mkdir -p "$work/axe" "${1%/package/*}"
    (cd "$work/axe" && timeout 60 npm pack --silent "axe-core@$axe_version" && echo "$axe_sum  axe-core-$axe_version.tgz" | sha256sum --check) > "$work/npm" 2>&1 &&
        tar -xzf "$work/axe/axe-core-$axe_version.tgz" -C "${1%/package/*}" package/axe.min.js package/LICENSE
}

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
axe=$root/target/pages-axe/package/axe.min.js
get_axe "$axe" || without_axe=1
prepared
if [ "${without_axe:-0}" = 1 ]; then
    axe=
    why="axe-core $axe_version could not be had from npm: $(tail -n 1 "$work/npm")"
    [ "${!required:-0}" != 1 ] || fail "$why, and $required does not let it be skipped"
    echo "$check: what keeps people from using a page was not looked for: $why"
    left_out "$check, accessibility" "$why"
fi
if [ -z "${PROGRAMS:-}" ]; then
    (cd "$root" && cargo build --locked --quiet --package imbrex-cli --package imbrex-nbdkit)
    PROGRAMS=$root/target/debug
fi
if [ "${1:-}" = --pictures ]; then
    need_programs pdftoppm:poppler-utils
    mkdir -p "$root/docs/pictures/pages"
    exec "$environment/bin/python" pictures.py "$PROGRAMS/imbrex" "$work" "$root/docs/pictures/pages"
fi
site=$root/target/site
IMBREX=$PROGRAMS/imbrex "$root/site/build.sh" > "$work/site" 2>&1 || {
    # What it takes to build the site comes over the network.
    [ $? = 75 ] && [ "${!required:-0}" != 1 ] || fail "$(cat "$work/site")"
    site=
    why="the site could not be built: $(tail -n 1 "$work/site")"
    echo "$check: the site of documents was not looked at: $why"
    left_out "$check, site of documents" "$why"
}
mkdir -p "$pictures"
"$environment/bin/python" -W error::SyntaxWarning check.py "$PROGRAMS/imbrex" "$work" "$pictures" "$axe" "$site"
