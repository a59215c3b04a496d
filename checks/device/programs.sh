# Imbrex's programs for a guest, and how they get there. Sourced after ../guest.sh.

# `imbrex` and the plugin, as a user builds them.
build_programs() {
    cargo build --release --quiet --locked --package imbrex-cli --package imbrex-nbdkit ||
        fail "the programs could not be built"
    release=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release
}

copy_programs() {
    copy_program "$release/imbrex"
    copy_program "$release/libimbrex_nbdkit.so"
    copy_program "$(program nbdkit)"
    copy_program "$(program nbd-client)"
}
