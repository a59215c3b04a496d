# The README's second command is `make test`: everything that CI checks.
.PHONY: test tools format lint docs fuzz check-dm-zoned check-device compare-device check-nbd

test: format lint docs
	cargo test --workspace --locked --quiet
	@checks/dm-zoned/run.sh
	@checks/device/run.sh
	@checks/nbd/run.sh

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

# Each fuzz target for a short while; needs a nightly toolchain and `cargo install cargo-fuzz`. Not part of `make test`.
FUZZ_SECONDS ?= 20
fuzz:
	@for target in $$(cargo +nightly fuzz list); do \
		echo "fuzzing $$target for $(FUZZ_SECONDS) s"; \
		mkdir -p fuzz/corpus/$$target; \
		cargo +nightly fuzz run --sanitizer none $$target fuzz/corpus/$$target $$(ls -d fuzz/seeds/$$target 2>/dev/null) -- \
			-max_total_time=$(FUZZ_SECONDS) -max_len=8192 -timeout=10 -rss_limit_mb=1024 \
			-verbosity=0 || exit 1; \
	done
