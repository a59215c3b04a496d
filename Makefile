# The README's second command is `make test`: everything that CI checks.
.PHONY: test format lint docs

test: format lint docs
	cargo test --workspace --locked --quiet

format:
	cargo fmt --all --check

lint:
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
