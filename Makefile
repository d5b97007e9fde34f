# Everything a person needs: setup, demo, test. All of it happens in .venv; nothing outside this folder is touched.

VENV := .venv
BIN := $(VENV)/bin
ifndef PYTHON
PYTHON := $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
endif
CARGO := $(shell command -v cargo 2>/dev/null || { test -x $$HOME/.cargo/bin/cargo && echo $$HOME/.cargo/bin/cargo; })
RUST_VERSION := $(shell sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)
WITH_CARGO := PATH="$(dir $(CARGO)):$$PATH" PYO3_PYTHON="$(CURDIR)/$(VENV)/bin/python" cargo
# By file: `cargo fmt` does not find modules that a macro declares.
RUSTFMT := PATH="$(dir $(CARGO)):$$PATH" rustfmt --edition $(shell sed -n 's/^edition *= *"\(.*\)"/\1/p' Cargo.toml)
# Tests start many processes, and each would compile the whole package.
unexport PYTHONDONTWRITEBYTECODE
MATURIN_FLAGS ?=
PIP := $(BIN)/python -m pip --disable-pip-version-check

# What the extension is made of: it is built again when one of these is newer than the last build.
RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml 2>/dev/null)
BUILT := $(VENV)/.built
DEPENDENCIES := $(VENV)/.dependencies
DOCS := $(VENV)/.docs
PAPERS := $(VENV)/.papers

.DEFAULT_GOAL := help
.PHONY: help setup demo docs test test-all slow torture fuzz fuzz-rust mutants bounds test-rust test-python lint format bench papers papers-quick ledger carry sensitivity evidence validate curves generate lock clean check-tools

help: ## what can be done
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(BUILT) ## build everything into .venv; then .venv/bin/evenflow works

check-tools:
	@test -n "$(PYTHON)" || { echo "Evenflow needs Python 3.11 or newer, and none was found; install one, or name it: make PYTHON=/path/to/python3." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "Evenflow needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) --version 2>&1 || echo no Python)." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python's venv module is missing; on Debian and Ubuntu: apt-get install python3-venv." >&2; exit 1; }
	@test -n "$(CARGO)" || { echo "Evenflow needs Rust (stable), and cargo was not found; install it from rustup.rs or your distribution." >&2; exit 1; }
	@$(CARGO) --version >/dev/null 2>&1 || { echo "$(CARGO) is there but does not work; with rustup: rustup toolchain install stable." >&2; exit 1; }
	@$(CARGO) --version | $(PYTHON) -c 'import sys; v = lambda t: [int(x) for x in t.split("-")[0].split(".")[:2]]; sys.exit(v(input().split()[1]) < v("$(RUST_VERSION)"))' || { echo "Evenflow needs Rust $(RUST_VERSION) or newer, but $$($(CARGO) --version) was found; with rustup: rustup update stable." >&2; exit 1; }
	@command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null || { echo "Rust needs a C compiler to link with, and none was found; on Debian and Ubuntu: apt-get install gcc libc6-dev." >&2; exit 1; }

$(BIN)/python: | check-tools
	@echo "Making $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV)

$(DEPENDENCIES): pyproject.toml | $(BIN)/python
	@echo "Installing the Python packages into $(VENV)"
	@$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; print("\n".join(p["dependencies"] + p["optional-dependencies"]["dev"]))' > $(VENV)/requirements.txt
	@$(PIP) install --quiet $(if $(LOCKED),--constraint requirements-dev.lock) -r $(VENV)/requirements.txt
	@touch $@

$(PAPERS): papers/pyproject.toml $(DEPENDENCIES)
	@echo "Installing the papers into $(VENV)"
	@$(PIP) install --quiet --no-deps --editable papers
	@touch $@

$(BUILT): $(RUST) $(DEPENDENCIES) | check-tools $(PAPERS)
	@echo "Building the engine (release; a minute or two the first time)"
	@PATH="$(dir $(CARGO)):$$PATH" VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin develop --release --locked $(MATURIN_FLAGS) >$(VENV)/build.log 2>&1 || { cat $(VENV)/build.log >&2; exit 1; }
	@touch $@

demo: $(BUILT) ## five queues on one busy line, and one figure of a paper: 20 seconds
	@$(BIN)/evenflow demo

$(DOCS): pyproject.toml | $(DEPENDENCIES)
	@$(PIP) install --quiet $(if $(LOCKED),--constraint requirements-dev.lock) $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"])')
	@touch $@

docs: $(BUILT) $(DOCS) ## the documentation site, into out/site; opens offline, with search
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

test: test-rust test-python ## the tests of every change: a few minutes

test-all: test $(BUILT) ## the slow tests too, which .ci/run runs
	$(WITH_CARGO) test --workspace --exclude evenflow-python --quiet --locked -- --ignored --skip over_the_whole_grid
	$(BIN)/python -m pytest -m slow --numprocesses auto --dist worksteal

slow: ## the slow tests, with their reasons
	@grep -rnoE --include=*.py --include=*.rs '(mark\.slow\(|#\[ignore = )".*"' tests/python crates

test-rust: | $(BIN)/python
	$(WITH_CARGO) test --workspace --exclude evenflow-python --all-targets --quiet --locked

# Files go to processes as a whole: their fixtures are made once.
test-python: $(BUILT)
	$(BIN)/python -m pytest -m "not slow" --numprocesses auto --dist worksteal

torture: $(BUILT) ## the store: shared, killed, damaged, with failing disks and power cuts; a quarter of an hour
	$(BIN)/python tests/torture/store.py $(PARTS)

fuzz: $(BUILT) ## scenarios nobody would write, for SECONDS=600 from SEED=1; failures are kept in out/fuzz
	$(BIN)/python tests/fuzz/fuzz.py --seconds $(or $(SECONDS),600) --seed $(or $(SEED),1)

fuzz-rust: | check-tools ## decoder, both ends of a connection and queues by bytes, SECONDS=60 each (TARGETS=…); nightly Rust, cargo-fuzz
	@PATH="$(dir $(CARGO)):$$PATH" cargo +nightly fuzz --version >/dev/null 2>&1 || { echo "This needs nightly Rust and cargo-fuzz: rustup toolchain install nightly --profile minimal && cargo install cargo-fuzz --locked." >&2; exit 1; }
	@for target in $(or $(TARGETS),decoder endpoints queue); do \
		PATH="$(dir $(CARGO)):$$PATH" cargo +nightly fuzz run --target-dir target/fuzz $$target -- \
			-max_total_time=$(or $(SECONDS),60) -max_len=4096 -print_final_stats=1 || exit 1; done

mutants: $(BUILT) ## change the code (FILES=…, COUNT=60) and see whether a test notices (BY=own|fast|all tests); survivors are explained in tests/mutants.toml
	$(BIN)/python tools/mutate.py $(FILES) --count $(or $(COUNT),60) --seed $(or $(SEED),1) --by $(or $(BY),own)

bounds: $(BUILT) ## tests with the lowest and the newest dependencies allowed; their licences and advisories
	$(BIN)/python tools/bounds.py --licences

lint: $(BUILT) ## formatting, clippy, ruff, mypy, plain English
	$(BIN)/python tools/prose.py
	$(RUSTFMT) --check $(filter %.rs,$(RUST))
	$(WITH_CARGO) clippy --workspace --all-targets --quiet --locked -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest evenflow._core

format: $(BUILT) ## format all sources
	$(RUSTFMT) $(filter %.rs,$(RUST))
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format

generate: $(BUILT) ## write what follows from the engine's tables: types, docs, README counts
	@$(BIN)/python tools/generate.py

curves: $(BUILT) ## measure the curves that ship with the fluid model; after changes of the engine
	@$(BIN)/python tools/curves.py

bench: $(BUILT) ## speed and memory, beside ns-2 and ns-3 where they are installed
	@$(BIN)/python benches/bench.py

KEYS := $(patsubst papers/evenflow_papers/%/__init__.py,%,$(wildcard papers/evenflow_papers/*/__init__.py))

papers-quick: $(BUILT) ## every paper at scale quick
	@for paper in $(KEYS); do $(BIN)/evenflow reproduce $$paper --scale quick || exit 1; done

papers: $(BUILT) ## every paper at its own scale
	@for paper in $(KEYS); do $(BIN)/evenflow reproduce $$paper --scale paper || exit 1; done

ledger: $(BUILT) ## every paper (or PAPER=wtp, OPTION=a=b) at its own scale, recorded as the ledgers that ship
	@for paper in $(or $(PAPER),$(KEYS)); do \
		$(BIN)/evenflow reproduce $$paper --scale paper $(if $(OPTION),--option $(OPTION)) \
			&& $(BIN)/python tools/generate.py --record $$paper$(if $(OPTION),-$(OPTION)) || exit 1; done

carry: $(BUILT) ## let the ledgers of an earlier engine (FROM=id) stand, if a sample gives the same; recorded
	@$(BIN)/evenflow store carry --from $(FROM) $(PAPER)
	@for paper in $(or $(PAPER),$$($(BIN)/python -c 'from evenflow.papers import with_ledgers; print(*with_ledgers("$(KEYS)".split()))')); do $(BIN)/python tools/generate.py --carried $$paper || exit 1; done

sensitivity: $(BUILT) ## what depends on the choices that a paper (PAPER=wtp) leaves open, recorded; a quarter of an hour
	@$(BIN)/evenflow reproduce $(or $(PAPER),wtp) --scale quick --sensitivity --out out/$(or $(PAPER),wtp)-sensitivity
	@$(BIN)/python tools/generate.py --sensitivity $(or $(PAPER),wtp)

evidence: validate ## the whole validation, recorded as what `evenflow describe` shows
	@$(BIN)/python tools/generate.py --record validation

validate: $(BUILT) ## queueing and TCP theory, and other simulators where they are installed
	@$(BIN)/python validation/validate.py $(PARTS) $(if $(RECORDED),--recorded) $(if $(NS3),--ns3 "$(NS3)") $(if $(SABRE),--sabre "$(SABRE)") $(if $(PENSIEVE),--pensieve "$(PENSIEVE)")

lock: $(BUILT) $(DOCS) ## pin the development environment: requirements-dev.lock, for LOCKED=1
	@$(PIP) freeze --exclude-editable --exclude evenflow | grep -v '^evenflow' > requirements-dev.lock

clean: ## remove what was built (results in out/ stay)
	rm -rf $(VENV) target python/evenflow/_core*.so build dist
