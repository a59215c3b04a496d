# The README's second command is `make test`: everything that CI checks. At the end it says what was left out because
# its material or its programs could not be had.
.PHONY: test soak everything programs tests checks tools format lint docs fuzz check-dm-zoned check-device compare-device check-nbd check-pages check-python python-reference

test:
	@checks/left-out.sh $(MAKE) --no-print-directory everything

# Tests leave a core idle now and then, and so do guests and clients: they run side by side.
everything: format lint docs programs
	@PROGRAMS=$(PROGRAMS) $(MAKE) --no-print-directory --jobs=2 tests checks

# All that tests and checks run, built once: cargo builds what lies below anew where it is asked for some packages and
# their features alone. The checks run copies, where no later build replaces them.
PROGRAMS = $(abspath $(or $(CARGO_TARGET_DIR),target))/programs
programs:
	cargo build --workspace --lib --bins --tests --locked --quiet
	@mkdir -p $(PROGRAMS)
	@cp $(PROGRAMS)/../debug/imbrex $(PROGRAMS)/../debug/libimbrex_nbdkit.so $(PROGRAMS)

# What make passes on of its jobs is not open to cargo.
tests:
	@MAKEFLAGS= MFLAGS= cargo test --workspace --locked --quiet

checks:
	@checks/dm-zoned/run.sh
	@checks/device/run.sh
	@checks/nbd/run.sh
	@checks/pages/run.sh
	@checks/python/run.sh

# What takes too long for every change: 20 000 power cuts a layer, more cases of properties, fuzzing. SOAK_SEED varies it.
soak: programs
	@PROGRAMS=$(PROGRAMS) checks/soak.sh

# A minimal toolchain comes without these two.
tools:
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || rustup component add rustfmt clippy

format: tools
	cargo fmt --all --check

lint: tools
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

# The layer dm-zoned against the kernel's, in a guest. Skipped where there is no qemu and none can be installed.
check-dm-zoned:
	@checks/dm-zoned/run.sh

# Volumes on real zoned disks, in a guest. Skipped like the one above.
check-device:
	@checks/device/run.sh

# A volume against the kernel's dm-zoned on the same disk: it compares times, so it is not part of `make test`.
compare-device:
	@checks/device/compare.sh

# Volumes served to the programs that people use NBD with. Skipped where nbdkit and the others cannot be had.
check-nbd:
	@checks/nbd/run.sh

# Pages of results in a real browser. Skipped where Chromium cannot be had.
check-pages:
	@checks/pages/run.sh

# The package for Python: built, installed, and tested. Skipped where there is no Python 3.11.
check-python:
	@checks/python/run.sh

# The reference of that package, made from its docstrings, in target/python-reference. The check makes it.
python-reference: check-python

# Each fuzz target for a short while; needs a nightly toolchain and `cargo install cargo-fuzz`. `make soak` runs it too,
# for longer. FUZZ_SEED is the seed of all targets, 0 another one each time.
FUZZ_SECONDS ?= 20
FUZZ_SEED ?= 1
fuzz:
	@for target in $$(cargo +nightly fuzz list); do \
		echo "fuzzing $$target for $(FUZZ_SECONDS) s"; \
		mkdir -p fuzz/corpus/$$target; \
		cargo +nightly fuzz run --sanitizer none $$target fuzz/corpus/$$target $$(ls -d fuzz/seeds/$$target 2>/dev/null) -- \
			-seed=$(FUZZ_SEED) -max_total_time=$(FUZZ_SECONDS) -max_len=8192 -timeout=10 -rss_limit_mb=1024 \
			-verbosity=0 || exit 1; \
	done
