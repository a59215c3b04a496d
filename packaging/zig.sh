# Sourced from the project's root by what builds for other systems than this one: puts maturin and cargo-zigbuild on the
# path, which have Zig compile what is C, and link. All three come from PyPI.
environment=$(realpath -m "${CARGO_TARGET_DIR:-target}/zig-environment")
[ -x "$environment/bin/pip" ] || python3 -m venv --clear "$environment"
# The maturin that the package for Python is tested with.
"$environment/bin/pip" install --quiet --disable-pip-version-check "$(grep '^maturin==' checks/python/requirements.txt)" \
    cargo-zigbuild==0.24.1 ziglang==0.17.1
export PATH=$environment/bin:$PATH

need_target() { rustup target list --installed | grep -qx "$1" || rustup target add "$1"; }
