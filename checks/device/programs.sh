# Imbrex's programs for a guest, and how they get there. Sourced after ../guest.sh.

# `imbrex` and the plugin, in that profile of cargo's, unless PROGRAMS names the folder that they are in.
build_programs() {
    [ -z "${PROGRAMS:-}" ] || return 0
    cargo build --quiet --locked --package imbrex-cli --package imbrex-nbdkit --profile "$1" ||
        fail "the programs could not be built"
    PROGRAMS=${CARGO_TARGET_DIR:-$(git rev-parse --show-toplevel)/target}/$([ "$1" = dev ] && echo debug || echo "$1")
}

copy_programs() {
    copy_program "$PROGRAMS/imbrex"
    copy_program "$PROGRAMS/libimbrex_nbdkit.so"
    copy_program "$(program nbdkit)"
    copy_program "$(program nbd-client)"
}
