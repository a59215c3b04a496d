# The README's second command is `make test`: what every change must pass. CI runs `make ci` (.ci/run): this and `make soak`, which has
# steps of its own: the README's first command, a layer outside this repository. checks/steps.toml says what
# each goal does.
.PHONY: test quick soak ci tools docs deb release static wheels fuzz times check-dm-zoned check-advisories check-device check-elsewhere check-install compare-device check-nbd check-pages page-pictures check-python check-raid check-release check-wheels check-zfs check-zloop python-reference reproduction-pages

test quick soak: tools
	@checks/steps.py $@

# All of both, and one count of all tests.
ci: tools
	@checks/steps.py test soak

# Formatting and lints come with no minimal toolchain.
tools:
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || rustup component add rustfmt clippy

# How long each step took the last time, into CONTRIBUTING.md.
times:
	@checks/steps.py --times test
	@checks/steps.py --times soak

# The documents as a site, in target/site, which is read without a network.
docs:
	@site/build.sh

# A Debian package, in target/debian; see docs/install.md.
deb:
	@packaging/deb.sh

# The program alone, with all that it needs in it, in target/static; see docs/install.md.
static:
	@packaging/static.sh

# Packages for Python that need no compiler, and a source distribution, in target/wheels; see docs/install.md.
wheels:
	@packaging/wheels.sh

# All that a release has, with checksums, in a folder of target/; see docs/install.md.
release:
	@packaging/release.sh

# Every file of a release, which it makes unless RELEASE names its folder.
check-release:
	@checks/release/run.sh

# What is known of the faults of libraries, which is fetched.
check-advisories:
	@cargo deny --version >/dev/null 2>&1 || cargo install cargo-deny --version 0.20.2 --locked
	@cargo deny --locked check

# The wheel for this machine's processor, installed and tested where there is no compiler.
check-wheels:
	@ARCHITECTURES=$$(uname -m) packaging/wheels.sh
	@WHEEL=$$(ls "$$PWD"/target/wheels/imbrex-*.whl) checks/python/run.sh

# The oldest Rust, and other systems: minutes of building, so it is not part of `make test`.
check-elsewhere:
	@checks/elsewhere/run.sh

# That package in a clean Debian, and its service in a guest that is booted again: some minutes, so it is not part of
# `make test`. Skipped like the one below.
check-install:
	@checks/install/run.sh

# The layer dm-zoned against the kernel's, in a guest. Skipped where there is no qemu and none can be installed.
check-dm-zoned:
	@checks/dm-zoned/run.sh

# Volumes on real zoned disks, in a guest. Skipped like the one above.
check-device:
	@checks/device/run.sh

# A mirror of md's on volumes, in the same way: two minutes, so it is not part of `make test`.
check-raid:
	@checks/guests.sh raid

# A mirror of ZFS's on volumes. What it needs of ZFS is compiled the first time, for some ten minutes.
check-zfs:
	@checks/guests.sh zfs

# Volumes on zloop, whose power is cut. It needs a newer kernel, and zloop is compiled the first time.
check-zloop:
	@GUEST_SUITE=trixie-backports checks/guests.sh zloop

# A volume against dm-zoned and file systems for zones: it compares times, so it is not part of `make test`.
compare-device:
	@checks/device/compare.sh

# Volumes served to the programs that people use NBD with. Skipped where nbdkit and the others cannot be had.
check-nbd:
	@checks/nbd/run.sh

# Pages of results in a real browser. Skipped where Chromium cannot be had.
check-pages:
	@checks/pages/run.sh

# The pictures of pages in docs/pictures/pages, in a real browser.
page-pictures:
	@cargo build --release --locked --package imbrex-cli --package imbrex-nbdkit
	@PROGRAMS=$$PWD/target/release checks/pages/run.sh --pictures

# The package for Python: built, installed, and tested. Skipped where there is no Python 3.11.
check-python:
	@checks/python/run.sh

# The reference of that package, made from its docstrings, in target/python-reference. The check makes it.
python-reference: check-python

# Each fuzz target for a short while. FUZZ_SECONDS is how long, FUZZ_SEED the seed of all of them.
fuzz:
	@checks/fuzz.sh $$(sed -n 's/^name = "\([a-z]*\)"$$/\1/p' fuzz/Cargo.toml)

# The tables of the pages in docs/reproduction and of docs/frontier.md, from the commands that they name. It takes more
# than an hour.
reproduction-pages:
	@cargo build --release --locked
	@checks/reproduction.py --write
