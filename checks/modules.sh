# Modules that Debian's kernels do not have, compiled for a guest's. Sourced after guest.sh.

# NAME PACKAGES HOOK: what `keep_NAME` takes from a Debian with these packages, and headers of the guest's kernel, into a
# folder, where HOOK has been run with the root of that Debian. It is kept in the cache folder, as $compiled. The Debian is
# thrown away.
need_compiled() {
    compiled=$cache/$1-$version
    [ ! -e "$compiled" ] || return 0
    [ "$(id -u)" = 0 ] || skip "only root can compile $1 in a Debian of its own"
    echo "$check: compiling $1 for the guest's kernel"
    local debian=$work/debian new=$compiled.$$
    suites | sed "s,.*,deb $(mirror) & main contrib," > "$work/debian.list"
    timeout 1800 mmdebstrap --variant=minbase --include="$2,linux-headers-$version" --customize-hook="${3:-true}" \
        trixie "$debian" "$work/debian.list" > "$work/fetch" 2>&1 ||
        skip "$1 could not be fetched or compiled; if it is for an older kernel than Debian has now, remove $cache: $(reason "$work/fetch")"
    mkdir -p "$new"
    "keep_$1" "$debian" "$new"
    mv -T "$new" "$compiled"
}
