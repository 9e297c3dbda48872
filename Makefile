# mcp-bindgen. `make help` lists the targets for contributors, `make help-all` all of them; each sets up what it needs.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV ?= .venv
SITE_VENV ?= .venv-site
# Which revisions `make generate` writes; empty means all of them.
REVISION ?=
# LONG=1 makes `make test-all` take all inputs, not samples.
LONG ?=
# Which tests `make test-all` runs.
TESTS ?= tests
# Worker processes of the tests. Many tests wait, so one more than there are cores keeps them busy.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# The tests that need neither a peer nor a build, and those of them that are cheap.
OWN := not packaging and not interop and not soak
QUICK := not slow and $(OWN)

# The official schemas, input for tests only: never part of the project.
export MCP_UPSTREAM ?= ../shared/upstream
# Compiled tests start three times as fast.
unexport PYTHONDONTWRITEBYTECODE
# The pin is ours to move, so no notice about newer versions.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

BIN := $(VENV)/bin
READY := $(VENV)/.ready
SCRIPTS := tools/scripts
LOCKS := tools/requirements
SOURCES := $(wildcard codegen runtime generated tests tools examples)

.PHONY: help
help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: help-all
help-all:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' Makefile tools/maintainer.mk

.PHONY: setup
setup: $(READY) ## Create the virtual environment from the lock file.
	@:

$(READY): pyproject.toml runtime/pyproject.toml $(LOCKS)/dev.txt $(SCRIPTS)/venv.sh
	@$(SCRIPTS)/venv.sh $(VENV) $(LOCKS)/dev.txt ./runtime .
	@touch $@

.PHONY: generate
generate: $(READY) ## Write the bindings of REVISION="2025-11-25 ...", by default of every revision.
	$(BIN)/mcp-bindgen generate $(REVISION)

.PHONY: diff
diff: $(READY) ## Say what breaks between OLD and NEW: make diff OLD=2025-06-18 NEW=2025-11-25.
	$(BIN)/mcp-bindgen diff $(OLD) $(NEW) --fail-on never

.PHONY: test
test: $(READY) ## Run the quick tests, in at most three minutes on two cores.
	$(BIN)/pytest -q -n $(JOBS) -m "$(QUICK)"

.PHONY: test-all
test-all: $(READY) ## Run all tests that need neither a peer nor a build; LONG=1 takes all inputs, not samples.
	LONG=$(LONG) $(BIN)/pytest -q -n $(JOBS) -m "$(OWN)" --cases 3000 $(TESTS)

.PHONY: check
check: test-all lint types verify-generated package ## Run everything that must pass before a change lands.

.PHONY: format
format: $(READY) ## Sort imports, apply safe fixes and format.
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/black --quiet $(SOURCES)

.PHONY: docs
docs: $(READY) ## Write the pages of docs/ that are generated.
	$(BIN)/mcp-bindgen rules --format markdown --output docs/rules.md
	$(BIN)/python $(SCRIPTS)/picture.py
	$(BIN)/python tests/support/requirement_table.py
	UPDATE_GOLDEN=1 $(BIN)/pytest -q tests/bridge/test_documents.py tests/repo/test_templates.py tests/evolution/test_page.py \
		tests/runtime/transports/http/test_precedence.py::test_the_page_has_the_table \
		tests/simulation/test_simulation.py::test_the_page_shows_the_tables

.PHONY: site
site: $(SITE_VENV)/.ready ## Build the documentation into build/site/html, and check every link.
	PYTHONPATH=codegen:runtime:generated:tests:tools $(SITE_VENV)/bin/python -m scripts.site

.PHONY: lock
lock: ## Update the lock files from the pyproject.toml files, with UPGRADE=1 to the newest versions.
	$(SCRIPTS)/lock.sh $(if $(UPGRADE),--upgrade)

.PHONY: clean
clean: ## Remove environments, caches and builds; the bindings stay.
	rm -rf .venv .venv-* .bench-node .site-check .peers .conformance build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find $(SOURCES) -type d -name __pycache__ -prune -exec rm -rf {} +

include tools/maintainer.mk
