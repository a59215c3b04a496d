# The programs that checks hold Imbrex against: how they are found or installed, and what becomes of a check without
# them. To be sourced, with `check` naming the check, `required` the variable that makes a skip a failure, and a folder
# `work`.

fail() {
    echo "$check: $1" >&2
    exit 1
}

skip() {
    [ "${!required:-0}" != 1 ] || fail "$1, and $required does not let it be skipped"
    echo "$check skipped: $1"
    left_out "$check" "$1"
    exit 0
}

# Has it counted that a check is left out, and why, where left-out.sh counts.
left_out() {
    [ -z "${IMBREX_LEFT_OUT:-}" ] || printf '%s\t%s\n' "$1" "$2" >> "$IMBREX_LEFT_OUT"
}

# With PREPARE a check ends when what it needs is there: while something else is built, its programs are fetched.
prepared() { [ -z "${PREPARE:-}" ] || exit 0; }

program() { PATH=$PATH:/sbin:/usr/sbin command -v "$1"; }

# Programs of the host, each with the package that it comes in: `program:package`.
need_programs() {
    local pair missing=()
    for pair in "$@"; do
        program "${pair%%:*}" > /dev/null || missing+=("${pair##*:}")
    done
    [ ${#missing[@]} -eq 0 ] && return
    [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null ||
        skip "it needs ${1%%:*} and more (on Debian the packages ${missing[*]}), and only root can install them with apt-get"
    echo "$check: installing ${missing[*]}"
    install_packages "${missing[@]}" > "$work/apt" 2>&1 ||
        skip "the packages ${missing[*]} could not be installed: $(reason "$work/apt")"
}

# Only the download is cut short: an installation cut short would leave the package manager half way.
install_packages() {
    export DEBIAN_FRONTEND=noninteractive
    fetching 60 apt-get -qq update && fetching 180 apt-get -qq -y --no-install-recommends --download-only install "$@" &&
        apt-get -qq -y --no-install-recommends --no-download -o DPkg::Lock::Timeout=60 install "$@"
}

# A command that uses the network and must not hang.
fetching() {
    local seconds=$1
    shift
    timeout "$seconds" "$@" -o Acquire::http::Timeout=20 -o Acquire::Retries=1 -o DPkg::Lock::Timeout=30 || {
        local status=$?
        [ $status != 124 ] || echo "E: $1 was not done in $seconds s"
        return $status
    }
}

# The last error that apt reported.
reason() { sed -n 's/^E: //p' "$1" | tail -n 1 | grep . || echo "the package manager does not say why"; }
