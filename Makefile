# The README's second command is `make test`: everything that CI checks.
.PHONY: test tools format lint docs

test: format lint docs
	cargo test --workspace --locked --quiet

# A minimal toolchain comes without these two.
tools:
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 || rustup component add rustfmt clippy

format: tools
	cargo fmt --all --check

lint: tools
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
