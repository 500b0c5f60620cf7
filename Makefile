# `make demo` and `make test` are the two commands of the README; `make quick` is for every change.
PYTHON ?= python3
VENV := .venv
# Processes that share the tests.
WORKERS ?= 2
# What `make quick` compares with.
BASE ?= main
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test quick lint types layers check clean

demo: $(VENV)/.demo-ready
	$(BIN)/alora-ts demo

test: lint types layers check

quick: lint types layers
	picked="$$($(BIN)/python -m tests.quick $(BASE))" && \
	$(BIN)/pytest -n $(WORKERS) -m "not slow" $$picked

lint: $(VENV)/.dev-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev-ready
	$(BIN)/mypy

layers: $(VENV)/.dev-ready
	$(BIN)/lint-imports

check: $(VENV)/.dev-ready
	$(BIN)/pytest -n $(WORKERS) --reruns 2 --reruns-delay 2 --cov --cov-report=term:skip-covered

# What an installation compiles.
NATIVE := hatch_build.py $(wildcard src/alora_ts/fast/native/c/*)

# torch comes first and pinned, so that no later resolution replaces it.
$(VENV)/.base: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) "$$(grep '^torch==' constraints.txt)"
	touch $@

$(VENV)/.demo-ready: $(VENV)/.base pyproject.toml $(NATIVE)
	$(PIP) -e '.[plot]'
	touch $@

$(VENV)/.dev-ready: $(VENV)/.base pyproject.toml $(NATIVE)
	$(PIP) -e '.[dev]'
	touch $@ $(VENV)/.demo-ready

clean:
	rm -rf $(VENV) src/alora_ts/fast/native/kernels.so .coverage .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
