# make up     set up everything and run the server in this terminal; UP="--listen :6443" gives it flags
# make tour   set up everything and walk through the offline commands
# make test   set up everything and run the tests, except those that take long; TESTS=tests/unit/engine runs a part
# make test-all   the same with every test
# make lint   format check, lint, types, layers
# make docs   write what is derived: the reference, the kustomize base and the Helm chart
# make bench  measure; BENCH=expand runs one alone

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH ?= all

.PHONY: up tour test test-all test-slow lint format bench docs clean
.DEFAULT_GOAL := up

up: $(READY)
	@exec $(BIN)/virtshape up $(UP)

tour: $(READY)
	@$(BIN)/python examples/tour.py

# One worker for each CPU; tests/parallel.py says which tests are slow, and which share a worker.
PYTEST := $(BIN)/python -m pytest -n auto

test: $(READY)
	$(PYTEST) $(or $(TESTS),-m "not slow")

test-all: $(READY)
	$(PYTEST)

test-slow: $(READY)
	$(PYTEST) -m slow

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy tests bench
	$(BIN)/lint-imports --no-cache

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	@$(BIN)/python -m bench $(BENCH)

docs: $(READY)
	$(BIN)/python docs/generate.py
	$(BIN)/python deploy/generate.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(READY): pyproject.toml uv.lock packages.txt tools/setup.sh
	@PYTHON=$(PYTHON) VENV=$(VENV) bash tools/setup.sh
	@touch $@
