# make up     set up everything and run the server in this terminal; UP="--listen :6443" passes flags
# make tour   set up everything and run the offline commands of docs/get-started.md
# make test   set up everything and run the tests except the slow ones; TESTS=tests/unit/engine runs a part
# make test-all   set up everything and run all tests; make test-slow runs only those that make test leaves out
# make fuzz   compare 100,000 random VMs, instance types and preferences with KubeVirt's own code; FUZZ=1000000 for more;
#             fuzz the parsers in tests/fuzz for FUZZ_SECONDS=60 each; FUZZ_TARGETS="yaml json" selects some
# make soak   run the long versions of tests/robustness, which take hours; TESTS=tests/robustness/test_crashes.py runs one
# make lint   check format, lint, types, imports and Dockerfiles; the web console too if npm is installed
# make docs   generate the reference, docs/virtctl.md, docs/images/tour.svg, the kustomize base and the Helm chart
# make console  build the web console from console/ with npm into src/virtshape/web/static
# make screenshots  take the pictures of the web console in docs/images
# make bench  run the benchmarks; BENCH=expand runs one, BENCH=control VMS=1000 uses fewer VMs
# make audit  check the locked dependencies against a vulnerability database
# make sbom   list the locked dependencies as CycloneDX JSON in SBOM=dist/sbom.json
# make images build the images of deploy/*.Dockerfile as archives in dist/images, as root without Docker;
#             BUILDER=docker or BUILDER=buildah uses those, BASE another base image, NETWORK=host this machine's network;
#             IMAGES=control builds one
# make site   build the documentation as a web site in site/VERSION
# make release build all files of VERSION=1.2.3 in dist/release
# make set-version  set VERSION=1.2.3 in all files and date the changelog
# make pin-uv pin the uv that sets up the environment: UV=0.13.7

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
READY := $(VENV)/.ready
BENCH ?= all
FUZZ ?= 100000
FUZZ_SECONDS ?= 60
SBOM ?= dist/sbom.json
SITE ?= site
BUILDER ?= mmdebstrap

.PHONY: up tour test test-all test-slow fuzz fuzz-parsers soak lint format bench docs console screenshots site audit sbom images release set-version pin-uv clean
.DEFAULT_GOAL := up

up: $(RUNTIME)
	@exec $(BIN)/virtshape up $(UP)

tour: $(RUNTIME)
	@$(BIN)/python examples/tour.py

# tests/support/parallel.py says how many workers there are, which tests are slow, and which share a worker.
PYTEST := $(BIN)/python -m pytest -n auto

test: $(READY)
	$(PYTEST) $(or $(TESTS),-m "not slow")

test-all: $(READY)
	$(PYTEST)

test-slow: $(READY)
	$(PYTEST) -m slow

fuzz: fuzz-parsers
	@bash tools/kubevirt/build.sh >/dev/null
	VIRTSHAPE_ORACLE_CASES=$(FUZZ) VIRTSHAPE_ORACLE_SEED=$$RANDOM$$RANDOM $(PYTEST) tests/conformance/test_oracle.py

fuzz-parsers: $(READY)
	@UV_PROJECT_ENVIRONMENT=$(VENV) $(BIN)/uv sync --quiet --frozen --inexact --only-group fuzz
	@for target in $(or $(FUZZ_TARGETS),$$($(BIN)/python -m tests.fuzz.targets)); do \
		$(BIN)/python -m tests.fuzz.run $$target $(FUZZ_SECONDS) || exit 1; done

soak: $(READY)
	VIRTSHAPE_SOAK=1 $(BIN)/python -m pytest -n 0 $(or $(TESTS),tests/robustness)

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy tests bench
	$(BIN)/lint-imports --no-cache
	$(BIN)/hadolint deploy/*.Dockerfile
	@bash tools/console/check.sh

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	@$(BIN)/python -m bench $(BENCH)

docs: $(READY)
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/tourimage.py
	$(BIN)/python deploy/generate.py

site: $(READY)
	@$(BIN)/python -m tools.site.build $(SITE)

console:
	npm --prefix console install --no-save --ignore-scripts --silent
	npm --prefix console run --silent build

screenshots: $(READY)
	VIRTSHAPE_SCREENSHOTS=docs/images $(BIN)/python -m pytest -n 0 tests/web/test_screenshots.py

audit: $(READY)
	@VENV=$(VENV) bash tools/audit.sh

sbom: $(READY)
	@$(BIN)/python -m tools.release.sbom $(SBOM)

images: $(READY)
	@$(BIN)/python -m tools.images.build --builder $(BUILDER) $(if $(BASE),--base $(BASE)) $(if $(NETWORK),--network $(NETWORK)) $(IMAGES)

release: $(READY)
	@test -n "$(VERSION)" || { echo "Set the version: make release VERSION=1.2.3" >&2; exit 1; }
	@$(BIN)/python -m tools.release.build $(VERSION)

set-version: $(READY)
	@test -n "$(VERSION)" || { echo "Set the version: make set-version VERSION=1.2.3" >&2; exit 1; }
	@$(BIN)/python -m tools.release.version $(VERSION)
	@$(MAKE) --no-print-directory docs

pin-uv: $(READY)
	@test -n "$(UV)" || { echo "Set the version: make pin-uv UV=0.13.7" >&2; exit 1; }
	@{ sed -n '/^#/p' tools/python/uv.txt; echo "uv==$(UV)" \
		| $(BIN)/uv pip compile --quiet --generate-hashes --no-header --no-annotate -; } > tools/python/uv.txt.new
	@mv tools/python/uv.txt.new tools/python/uv.txt

clean:
	rm -rf $(VENV) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The environment that runs the server and the commands.
$(RUNTIME): pyproject.toml uv.lock packages.txt tools/setup.sh tools/python/uv.txt
	@PYTHON=$(PYTHON) VENV=$(VENV) bash tools/setup.sh

# The same, and the dependency groups `dev` (tests, lint, benchmarks) and `docs` (the web site); --inexact keeps the extra `guests`.
$(READY): $(RUNTIME)
	@UV_PROJECT_ENVIRONMENT=$(VENV) $(BIN)/uv sync --quiet --frozen --inexact --compile-bytecode --group docs
	@[ ! -e $(RUNTIME) ] || touch $@
