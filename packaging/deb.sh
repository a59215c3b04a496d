#!/bin/bash
# Makes a Debian package of the program and nbdkit's plugin: target/debian/imbrex_VERSION_ARCHITECTURE.deb, or in the
# folder that is named, and beside it imbrex-dbgsym, which has what debuggers want. It is what `make deb` does.
#
# dpkg's own programs do it, so nothing has to be built first; dpkg-dev and binutils come with Debian's build-essential.
# PROGRAMS names a folder with programs that are built, otherwise they are built for release. Of one commit and one
# compiler the same package comes again.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mkdir -p "${1:-target/debian}" && cd "${1:-target/debian}" && pwd)
. packaging/parts.sh
umask 022

for program in dpkg-deb dpkg-shlibdeps dpkg-architecture readelf; do
    command -v $program > /dev/null || { echo "$program is missing: apt-get install dpkg-dev binutils" >&2; exit 1; }
done
if [ -z "${PROGRAMS:-}" ]; then
    RUSTFLAGS=$remapped cargo build --profile profiling --locked --package imbrex-cli --package imbrex-nbdkit
    PROGRAMS=${CARGO_TARGET_DIR:-target}/profiling
fi
PROGRAMS=$(cd "$PROGRAMS" && pwd)
for file in imbrex libimbrex_nbdkit.so; do
    [ -e "$PROGRAMS/$file" ] || { echo "$PROGRAMS/$file is missing: build imbrex-cli and imbrex-nbdkit" >&2; exit 1; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root symbols=$work/symbols
architecture=$(dpkg --print-architecture)
plugins=/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)/nbdkit/plugins

put() { install -D -m "$1" "$2" "$root$3"; }
packed() { mkdir -p "$(dirname "$root$1")" && gzip -9n > "$root$1"; }

put 755 "$PROGRAMS/imbrex" /usr/bin/imbrex
# Where nbdkit looks for `nbdkit imbrex`, and where the program does.
put 644 "$PROGRAMS/libimbrex_nbdkit.so" "$plugins/nbdkit-imbrex-plugin.so"
for program in /usr/bin/imbrex "$plugins/nbdkit-imbrex-plugin.so"; do
    id=$(build_id "$root$program")
    ids+=${ids:+ }$id
    # Where debuggers look for it.
    mkdir -p "$symbols/usr/lib/debug/.build-id/${id:0:2}"
    separate "$root$program" "$symbols/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
done
mkdir -p "$root/usr/lib/imbrex"
ln -s "../${plugins#/usr/lib/}/nbdkit-imbrex-plugin.so" "$root/usr/lib/imbrex/libimbrex_nbdkit.so"

beside=$work/beside
PATH=$PROGRAMS:$PATH write_beside "$beside" imbrex-cli imbrex-nbdkit
for page in "$beside"/manual/*; do packed "/usr/share/man/man1/${page##*/}.gz" < "$page"; done
put 644 "$beside/completion/bash" /usr/share/bash-completion/completions/imbrex
put 644 "$beside/completion/fish" /usr/share/fish/vendor_completions.d/imbrex.fish
put 644 "$beside/completion/zsh" /usr/share/zsh/vendor-completions/_imbrex
for file in THIRD-PARTY sbom.cdx.json; do packed "/usr/share/doc/imbrex/$file.gz" < "$beside/$file"; done

put 644 packaging/imbrex@.service /lib/systemd/system/imbrex@.service
put 644 packaging/61-imbrex-ublk.rules /lib/udev/rules.d/61-imbrex-ublk.rules
put 644 packaging/disk.conf /usr/share/doc/imbrex/examples/disk.conf
mkdir -p "$root/etc/imbrex"

{
    echo "Imbrex is licensed under the MIT license or the Apache License 2.0, as you choose. The text of the latter is"
    echo "in /usr/share/common-licenses/Apache-2.0. The programs contain libraries of others, which THIRD-PARTY.gz"
    echo "lists with their licenses."
    echo
    cat LICENSE-MIT
} > "$work/copyright"
put 644 "$work/copyright" /usr/share/doc/imbrex/copyright
packed /usr/share/doc/imbrex/CHANGELOG.md.gz < CHANGELOG.md
maintainer=$(sed -n 's/^authors = \["\(.*\)"\]/\1/p' Cargo.toml)
printf 'imbrex (%s) unstable; urgency=medium\n\n  * CHANGELOG.md.gz says what has changed.\n\n -- %s  %s\n' "$version" \
    "$maintainer" "$(date -uRd "@$SOURCE_DATE_EPOCH")" | packed /usr/share/doc/imbrex/changelog.gz

mkdir -p "$work/debian"
printf 'Source: imbrex\n\nPackage: imbrex\nArchitecture: any\n' > "$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O root/usr/bin/imbrex "root$plugins/nbdkit-imbrex-plugin.so" | sed -n 's/^shlibs:Depends=//p')

# Packs a folder, whose description comes on standard input, as the package that is named.
package() {
    local file=$out/$1_${version}_$architecture.deb
    mkdir -p "$2/DEBIAN"
    {
        printf 'Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$1" "$version" "$architecture" "$maintainer"
        printf 'Installed-Size: %s\nPriority: optional\n' "$(du -sk --apparent-size --exclude=DEBIAN "$2" | cut -f 1)"
        cat
    } > "$2/DEBIAN/control"
    (cd "$2" && find * -type f -not -path 'DEBIAN/*' -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
    dpkg-deb --root-owner-group -Zxz --build "$2" "$work/package.deb" > /dev/null
    mv "$work/package.deb" "$file"
    echo "$file"
}

mkdir -p "$root/DEBIAN"
for script in postinst prerm postrm; do install -m 755 "packaging/$script" "$root/DEBIAN/$script"; done
package imbrex "$root" << END
Depends: $depends
Recommends: nbdkit
Suggests: nbd-client
Section: admin
Description: data management for overlapped-track hard disks
 Translation layers for shingled, hybrid and interlaced magnetic recording and
 for SSD caches in front of it. They are compared on traces, against a
 mechanical disk model, and serve real block devices on images or on
 host-managed disks, over NBD or by ublk.
END
package imbrex-dbgsym "$symbols" << END
Depends: imbrex (= $version)
Auto-Built-Package: debug-symbols
Build-Ids: $ids
Section: debug
Description: debug symbols for imbrex
END
