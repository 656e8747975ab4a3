# Two commands do everything on a fresh machine: `make demo` and `make test`.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup browser demo test test-all coverage check accept schema bench docs lock audit clean

setup: $(STAMP)

# Everything comes by its hash from the lock file, but torch: its builds (CPU, CUDA) share a version and differ in their
# hashes. It is installed by its pinned version, since a range would fetch the CUDA build.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
$(STAMP): pyproject.toml constraints.txt requirements-dev.lock
	python3 -m venv $(VENV)
	$(PIP) --require-hashes --no-deps --requirement requirements-dev.lock
	$(PIP) --constraint constraints.txt torch
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup
	$(BIN)/python examples/demo.py

# For the tests of pages; where it cannot be got, they are skipped and this says so.
browser:
	@scripts/browser.sh

# Tests start many programs: where Python keeps nothing that it compiled, each would compile everything again.
test test-all: export PYTHONDONTWRITEBYTECODE :=

test: setup browser
	$(BIN)/python -m pytest -m "not slow" $(OPTIONS)

test-all: setup browser
	$(BIN)/python -m pytest

# The floor that branch coverage must not fall below is in pyproject.toml.
coverage:
	$(MAKE) test OPTIONS="--cov --cov-report=term:skip-covered"

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini tests
	$(BIN)/python scripts/architecture.py --check

# The sentences about verdicts, after a change of them; git diff shows what changed.
accept: setup
	$(BIN)/python -m pytest -q -n 0 --accept tests/report/test_sentences.py
	git --no-pager diff --stat tests/report/sentences.txt

# What the documentation says of a verdict's document, after a change of the verdict.
schema: setup
	$(BIN)/python scripts/verdict_schema.py docs/assets/verdict.schema.json

bench: setup
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

# The site, with every warning an error and every link inside it followed. What the pages show is run by `make test`.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python scripts/check_links.py build/site

# The lock file anew, after a change of constraints.txt; the tools come into an environment of their own.
LOCKING := build/locking
lock:
	python3 -m venv $(LOCKING)
	$(LOCKING)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOCKING)/bin/uv pip compile --quiet --no-deps --generate-hashes --no-header --no-annotate \
		--no-emit-package torch --output-file requirements-dev.lock constraints.txt

# Known weaknesses of what is locked; fails too where the list of weaknesses cannot be reached.
audit:
	python3 -m venv $(LOCKING)
	$(LOCKING)/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(LOCKING)/bin/pip-audit --strict --disable-pip --require-hashes --requirement requirements-dev.lock

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .coverage build dist
