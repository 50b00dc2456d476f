# make up     set up everything and run the server in this terminal; UP="--listen :6443" passes flags
# make tour   set up everything and run the offline commands of the README
# make test   set up everything and run the tests except the slow ones; TESTS=tests/unit/engine runs a part
# make test-all   set up everything and run all tests
# make fuzz   compare 100,000 random VMs, instance types and preferences with KubeVirt's own code; FUZZ=1000000 for more
# make lint   format check, lint, types, layers
# make docs   generate the reference, docs/virtctl.md, the kustomize base and the Helm chart
# make console  build the web console from console/ with npm into src/virtshape/web/static
# make screenshots  take the pictures of the web console in docs/images
# make bench  run the benchmarks; BENCH=expand runs one
# make audit  check the locked dependencies against a vulnerability database
# make sbom   list the locked dependencies as CycloneDX JSON in SBOM=dist/sbom.json
# make pin-uv pin the uv that sets up the environment: UV=0.13.7

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH ?= all
FUZZ ?= 100000
SBOM ?= dist/sbom.json

.PHONY: up tour test test-all test-slow fuzz lint format bench docs console screenshots audit sbom pin-uv clean
.DEFAULT_GOAL := up

up: $(READY)
	@exec $(BIN)/virtshape up $(UP)

tour: $(READY)
	@$(BIN)/python examples/tour.py

# One worker for each CPU; tests/support/parallel.py says which tests are slow, and which share a worker.
PYTEST := $(BIN)/python -m pytest -n auto

test: $(READY)
	$(PYTEST) $(or $(TESTS),-m "not slow")

test-all: $(READY)
	$(PYTEST)

test-slow: $(READY)
	$(PYTEST) -m slow

fuzz: $(READY)
	@bash tools/kubevirt/build.sh >/dev/null
	VIRTSHAPE_ORACLE_CASES=$(FUZZ) VIRTSHAPE_ORACLE_SEED=$$RANDOM$$RANDOM $(PYTEST) tests/conformance/test_oracle.py

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

console:
	npm --prefix console install --no-save --ignore-scripts --silent
	npm --prefix console run --silent build

screenshots: $(READY)
	VIRTSHAPE_SCREENSHOTS=docs/images $(BIN)/python -m pytest -n 0 tests/web/test_screenshots.py

audit: $(READY)
	@VENV=$(VENV) bash tools/audit.sh

sbom: $(READY)
	@mkdir -p $(dir $(SBOM))
	@$(BIN)/uv export --quiet --frozen --all-extras --all-groups --preview-features sbom-export \
		--format cyclonedx1.5 --output-file $(SBOM) >/dev/null

pin-uv: $(READY)
	@test -n "$(UV)" || { echo "Set the version: make pin-uv UV=0.13.7" >&2; exit 1; }
	@{ sed -n '/^#/p' tools/python/uv.txt; echo "uv==$(UV)" \
		| $(BIN)/uv pip compile --quiet --generate-hashes --no-header --no-annotate -; } > tools/python/uv.txt.new
	@mv tools/python/uv.txt.new tools/python/uv.txt

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(READY): pyproject.toml uv.lock packages.txt tools/setup.sh tools/python/uv.txt
	@PYTHON=$(PYTHON) VENV=$(VENV) bash tools/setup.sh
