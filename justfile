# What a developer types. Everything here works without just as well: read the recipe.

# What a commit has to pass: format, lints, tidy, tests
check: lint test

# Every test but the release build of the README's demo
test:
    scripts/test --quick

# Format, lints and the rules of the house
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo xtask tidy

# The attempts to get out of the cage
escape:
    cargo test --package chock-sandbox --tests

# Real programs at real work: git, cargo, npm, pip, go, java, gdb and more, each outside and caged
real-work:
    cargo test --package chock --test real_work

# The documentation, warnings denied
docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# The ratios of docs/decisions and README, in one run
bench:
    cargo xtask bench

# Licences, bans and sources of the dependencies
deny:
    cargo deny check bans licenses sources

# Everything, as the unattended machine runs it
ci:
    .ci/run
