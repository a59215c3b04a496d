# Sourced from the project's root: what packages have in common. It has Rust's own objcopy, which is for the programs of
# every processor.
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
# What is built says nothing of the folders of the machine that it was built on.
remapped="--remap-path-prefix=$PWD=/imbrex --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
rust=$(rustc --print sysroot)/lib

# By which debuggers know a program.
build_id() { readelf --notes "$1" 2> /dev/null | sed -n 's/.*Build ID: //p'; }

# Strips a program, and writes into a file the names and lines of the code that it had: PROGRAM FILE.
separate() {
    local objcopy=$rust/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/rust-objcopy
    LD_LIBRARY_PATH=$rust "$objcopy" --only-keep-debug --compress-debug-sections=zlib "$1" "$2"
    LD_LIBRARY_PATH=$rust "$objcopy" --strip-all --remove-section=.comment "$1"
}

# Writes what comes with programs: FOLDER PACKAGE... As `imbrex` on the path says it, the manual and what shells read.
write_beside() {
    local folder=$1 shell
    shift
    imbrex manual "$folder/manual"
    # The scripts ask the program by its name alone.
    mkdir -p "$folder/completion"
    for shell in bash fish zsh; do COMPLETE=$shell imbrex > "$folder/completion/$shell"; done
    packaging/licenses.py "$@" > "$folder/THIRD-PARTY"
    packaging/sbom.py "$@" > "$folder/sbom.cdx.json"
}
