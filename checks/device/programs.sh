# Imbrex's programs for a guest, and how they get there. Sourced after ../guest.sh.

# `imbrex` and the plugin, as a user builds them, unless PROGRAMS names the folder that they are in.
build_programs() {
    [ -z "${PROGRAMS:-}" ] || return 0
    cargo build --release --quiet --locked --package imbrex-cli --package imbrex-nbdkit ||
        fail "the programs could not be built"
    PROGRAMS=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release
}

copy_programs() {
    copy_program "$PROGRAMS/imbrex"
    copy_program "$PROGRAMS/libimbrex_nbdkit.so"
    copy_program "$(program nbdkit)"
    copy_program "$(program nbd-client)"
}
