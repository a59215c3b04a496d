#!/bin/bash
# Makes a Debian package of the program and nbdkit's plugin: target/debian/imbrex_VERSION_ARCHITECTURE.deb, or in the
# folder that is named. It is what `make deb` does.
#
# dpkg's own programs do all of it, so nothing has to be built first; dpkg-dev and binutils come with Debian's
# build-essential. PROGRAMS names a folder with programs that are built, otherwise they are built for release. Of one
# commit and one compiler the same package comes again.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mkdir -p "${1:-target/debian}" && cd "${1:-target/debian}" && pwd)
umask 022

for program in dpkg-deb dpkg-shlibdeps dpkg-architecture strip; do
    command -v $program > /dev/null || { echo "$program is missing: apt-get install dpkg-dev binutils" >&2; exit 1; }
done
if [ -z "${PROGRAMS:-}" ]; then
    cargo build --release --locked --package imbrex-cli --package imbrex-nbdkit
    PROGRAMS=${CARGO_TARGET_DIR:-target}/release
fi
PROGRAMS=$(cd "$PROGRAMS" && pwd)
for file in imbrex libimbrex_nbdkit.so; do
    [ -e "$PROGRAMS/$file" ] || { echo "$PROGRAMS/$file is missing: build imbrex-cli and imbrex-nbdkit" >&2; exit 1; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
architecture=$(dpkg --print-architecture)
plugins=/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)/nbdkit/plugins
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

put() { install -D -m "$1" "$2" "$root$3"; }
packed() { mkdir -p "$(dirname "$root$1")" && gzip -9n > "$root$1"; }

put 755 "$PROGRAMS/imbrex" /usr/bin/imbrex
# Where nbdkit looks for `nbdkit imbrex`, and where the program does.
put 644 "$PROGRAMS/libimbrex_nbdkit.so" "$plugins/nbdkit-imbrex-plugin.so"
strip --strip-unneeded --remove-section=.comment "$root/usr/bin/imbrex" "$root$plugins/nbdkit-imbrex-plugin.so"
mkdir -p "$root/usr/lib/imbrex"
ln -s "../${plugins#/usr/lib/}/nbdkit-imbrex-plugin.so" "$root/usr/lib/imbrex/libimbrex_nbdkit.so"

"$PROGRAMS/imbrex" manual "$work/manual"
for page in "$work"/manual/*; do packed "/usr/share/man/man1/${page##*/}.gz" < "$page"; done
# The scripts ask the program by its name alone, so it has to be on the path as they are written.
for shell in bash fish zsh; do PATH=$PROGRAMS:$PATH COMPLETE=$shell imbrex > "$work/$shell"; done
put 644 "$work/bash" /usr/share/bash-completion/completions/imbrex
put 644 "$work/fish" /usr/share/fish/vendor_completions.d/imbrex.fish
put 644 "$work/zsh" /usr/share/zsh/vendor-completions/_imbrex

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
packaging/licenses.py imbrex-cli imbrex-nbdkit | packed /usr/share/doc/imbrex/THIRD-PARTY.gz
packaging/sbom.py imbrex-cli imbrex-nbdkit | packed /usr/share/doc/imbrex/sbom.cdx.json.gz
packed /usr/share/doc/imbrex/CHANGELOG.md.gz < CHANGELOG.md
maintainer="The Imbrex developers <developers@imbrex.invalid>"
printf 'imbrex (%s) unstable; urgency=medium\n\n  * CHANGELOG.md.gz says what has changed.\n\n -- %s  %s\n' "$version" \
    "$maintainer" "$(date -uRd "@$SOURCE_DATE_EPOCH")" | packed /usr/share/doc/imbrex/changelog.gz

mkdir -p "$work/debian" "$root/DEBIAN"
printf 'Source: imbrex\n\nPackage: imbrex\nArchitecture: any\n' > "$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O root/usr/bin/imbrex "root$plugins/nbdkit-imbrex-plugin.so" | sed -n 's/^shlibs:Depends=//p')
cat > "$root/DEBIAN/control" << END
Package: imbrex
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk --apparent-size --exclude=DEBIAN "$root" | cut -f 1)
Depends: $depends
Recommends: nbdkit
Suggests: nbd-client
Section: admin
Priority: optional
Description: data management for overlapped-track hard disks
 Translation layers for shingled, hybrid and interlaced magnetic recording and
 for SSD caches in front of it. They are compared on traces, against a
 mechanical disk model, and serve real block devices on images or on
 host-managed disks, over NBD or by ublk.
END
for script in postinst prerm postrm; do install -m 755 "packaging/$script" "$root/DEBIAN/$script"; done
(cd "$root" && find usr lib etc -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)

package=$out/imbrex_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$work/package.deb" > /dev/null
mv "$work/package.deb" "$package"
echo "$package"
