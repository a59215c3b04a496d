#!/bin/bash
# Builds the package for Python as `pip wheel` does and tests what came of it: pytest, the examples in docstrings and in
# docs/python.md, types, the tutorial, and the reference that is made from docstrings, which stays in
# target/python-reference.
#
# Needs Python 3.11 or newer with venv, and what requirements.txt lists, which pip puts into an environment below target/.
# What cannot be had is skipped with a message, or the check fails if IMBREX_REQUIRE_PYTHON is 1. WHEEL names a wheel that
# is tested instead of one that is built, with no compiler on the path.
set -euo pipefail
cd "$(dirname "$0")"

work=$(mktemp -d)
check="python check" required=IMBREX_REQUIRE_PYTHON
. ../peers.sh
trap 'rm -rf "$work"' EXIT

root=$(cd ../.. && pwd)
target=$(realpath -m "${CARGO_TARGET_DIR:-$root/target}")
environment=$target/python-environment
is_new='import sys; sys.exit(sys.version_info < (3, 11))'
for python in python3 python3.14 python3.13 python3.12 python3.11; do
    "$python" -c "$is_new" 2> /dev/null && break
    python=
done
[ -n "$python" ] || skip "there is no Python 3.11"
if ! cmp --silent requirements.txt "$environment/requirements.txt"; then
    "$python" -m venv --clear "$environment" > "$work/venv" 2>&1 ||
        skip "$python cannot make an environment: $(tail -n 1 "$work/venv")"
    timeout 300 "$environment/bin/pip" install --quiet --disable-pip-version-check --requirement requirements.txt \
        > "$work/pip" 2>&1 || skip "what the tests need could not be installed: $(tail -n 1 "$work/pip")"
    cp requirements.txt "$environment"
fi

prepared
# What make passes on of its jobs is not open here.
unset MAKEFLAGS MFLAGS
export PATH=$environment/bin:$PATH CARGO_TARGET_DIR=$target
# Nothing is left among the sources.
export MYPY_CACHE_DIR=$target/python-types PYTHONDONTWRITEBYTECODE=1
if [ -z "${PROGRAMS:-}" ]; then
    (cd "$root" && cargo build --locked --quiet --package imbrex-cli)
    PROGRAMS=$target/debug
fi
export IMBREX_PROGRAM=$PROGRAMS/imbrex

# The profile of the other tests: most of what it is made of has been built.
[ -n "${WHEEL:-}" ] || (cd "$root" && pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
    --config-settings build-args="--profile dev --locked" --wheel-dir "$work" .)
pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "${WHEEL:-$(ls "$work"/imbrex-*.whl)}"
# Whatever is tested is what was installed, and not the sources.
cd "$root/python/tests"
python -m mypy --config-file "$root/pyproject.toml" --no-error-summary --package imbrex
python -m mypy --config-file "$root/pyproject.toml" --no-error-summary .
python -m mypy.stubtest --mypy-config-file "$root/pyproject.toml" --concise \
    --allowlist <(echo 'imbrex\._native\.__all__') imbrex._native
# Who installs a wheel may have no compiler.
path=$PATH
[ -z "${WHEEL:-}" ] || path=$environment/bin
PATH=$path python -m pytest --quiet -p no:cacheprovider --rootdir "$root" . --doctest-modules --pyargs imbrex
python -m pdoc imbrex --output-directory "$target/python-reference" > "$work/pdoc" 2>&1 || { cat "$work/pdoc"; exit 1; }
