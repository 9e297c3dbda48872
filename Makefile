# mcp-bindgen. `make help` lists the targets; each sets up what it needs.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV ?= .venv
BENCH_VENV ?= .venv-bench
BENCH_NODE ?= .bench-node
SITE_VENV ?= .venv-site
# Chromium's driver and axe, which look at the site.
SITE_CHECK ?= .site-check
# The peers of the interop tests: two generations of the official Python SDK, the release that most clients used in
# 2025, and servers for Node.
PEER_OLD_VENV ?= .venv-mcp-old
PEER1_VENV ?= .venv-mcp1
PEER2_VENV ?= .venv-mcp2
PEERS ?= .peers
# The frameworks for agents that use a host in the interop tests.
AGENTS_VENV ?= .venv-agents
# fastmcp-tasks, which needs another fastmcp than the peers above.
TASKS_VENV ?= .venv-tasks
# The official conformance suite, with the Node.js that it needs.
SUITE ?= .conformance
# Which revisions `make generate` writes; empty means all of them.
REVISION ?=
# The official files that `make add-revision` reads; SCHEMA may be left out.
SCHEMA ?=
TYPESCRIPT ?=
# The folders of proposals (base.ts, head.ts) of which `make rehearse` makes a revision.
PROPOSALS ?= ../shared/upstream/proposals
# The extension whose structure `make add-extension` takes.
EXTENSION ?=
# Which rows `make bench` measures; empty means all of them.
ONLY ?=
# How many cases `make fuzz` tries per test.
CASES ?= 10000
# LONG=1 makes `make soak` and `make test-all` run their long versions; SEED repeats a run of `make soak`.
LONG ?=
SEED ?=
# How many worlds `make simulate` plays, or for how many seconds of CPU.
SEEDS ?=
SECONDS ?=
# The first of its seeds.
FIRST ?=
# Which tests `make test-all` and `make release` run.
TESTS ?= tests
# Which tests `make test-lowest` and `make test-newest` run: those that meet the dependencies most, in models and over HTTP.
MEETING ?= tests/functional tests/runtime/transports/http
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
BENCH_READY := $(BENCH_VENV)/.ready $(BENCH_NODE)/.ready
PEERS_READY := $(PEER_OLD_VENV)/.ready $(PEER1_VENV)/.ready $(PEER2_VENV)/.ready $(AGENTS_VENV)/.ready \
	$(TASKS_VENV)/.ready $(PEERS)/.ready

# Makes the other environments with the uv of the first, where there is none on PATH.
WITH_UV := PATH="$$PATH:$(abspath $(BIN))"

SOURCES := $(wildcard codegen runtime generated tests benchmarks examples scripts)
# mypy refuses a folder without a Python file.
TYPED := $(foreach folder,$(SOURCES),$(if $(shell find $(folder) -name '*.py' -print -quit 2>/dev/null),$(folder)))

.PHONY: help
help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(READY) ## Create the virtual environment from the lock file.
	@:

$(READY): pyproject.toml runtime/pyproject.toml requirements/dev.txt scripts/venv.sh
	@scripts/venv.sh $(VENV) requirements/dev.txt ./runtime .
	@touch $@

$(BENCH_VENV)/.ready: requirements/bench-mcp.txt scripts/venv.sh | $(READY)
	@$(WITH_UV) scripts/venv.sh $(BENCH_VENV) requirements/bench-mcp.txt
	@touch $@

$(BENCH_NODE)/.ready: benchmarks/npm/package.json benchmarks/npm/package-lock.json
	@mkdir -p $(BENCH_NODE)
	@cp $^ $(BENCH_NODE)
	@npm ci --prefix $(BENCH_NODE) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(SITE_VENV)/.ready: requirements/site.txt scripts/venv.sh | $(READY)
	@$(WITH_UV) scripts/venv.sh $(SITE_VENV) requirements/site.txt
	@touch $@

$(SITE_CHECK)/.ready: scripts/site/npm/package.json scripts/site/npm/package-lock.json
	@mkdir -p $(SITE_CHECK)
	@cp $^ $(SITE_CHECK)
	@npm ci --prefix $(SITE_CHECK) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(PEER_OLD_VENV)/.ready: requirements/interop-mcp-old.txt scripts/venv.sh | $(READY)
	@$(WITH_UV) scripts/venv.sh $(PEER_OLD_VENV) requirements/interop-mcp-old.txt
	@touch $@

$(PEER1_VENV)/.ready: requirements/interop-mcp1.txt scripts/venv.sh | $(READY)
	@$(WITH_UV) scripts/venv.sh $(PEER1_VENV) requirements/interop-mcp1.txt
	@touch $@

$(PEER2_VENV)/.ready: requirements/interop-mcp2.txt scripts/venv.sh | $(READY)
	@$(WITH_UV) scripts/venv.sh $(PEER2_VENV) requirements/interop-mcp2.txt
	@touch $@

$(AGENTS_VENV)/.ready: requirements/interop-agents.txt scripts/venv.sh | $(READY)
	@$(WITH_UV) scripts/venv.sh $(AGENTS_VENV) requirements/interop-agents.txt
	@touch $@

$(TASKS_VENV)/.ready: requirements/interop-tasks.txt scripts/venv.sh | $(READY)
	@$(WITH_UV) scripts/venv.sh $(TASKS_VENV) requirements/interop-tasks.txt
	@touch $@

# The packages are servers that need no build step, so their install scripts stay off.
$(PEERS)/.ready: tests/interop/npm/package.json tests/interop/npm/package-lock.json
	@mkdir -p $(PEERS)
	@cp $^ $(PEERS)
	@npm ci --prefix $(PEERS) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(SUITE)/.ready: tests/conformance/npm/package.json tests/conformance/npm/package-lock.json
	@mkdir -p $(SUITE)
	@cp $^ $(SUITE)
	@npm ci --prefix $(SUITE) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: generate
generate: $(READY) ## Write the bindings of REVISION="2025-11-25 ...", by default of every revision.
	$(BIN)/mcp-bindgen generate $(REVISION)

.PHONY: add-revision
add-revision: $(READY) ## Add a released revision: make add-revision REVISION=2027-01-31 SCHEMA=FILE TYPESCRIPT=FILE.
	$(BIN)/python scripts/add_revision.py "$(REVISION)" "$(SCHEMA)" "$(TYPESCRIPT)"

.PHONY: rehearse
rehearse: $(READY) $(SUITE)/.ready ## Add a made-up next revision to a copy in build/, from PROPOSALS, and test it there.
	$(BIN)/python scripts/rehearse.py build/rehearsal "$(PROPOSALS)" $(abspath $(SUITE))

.PHONY: add-extension
add-extension: $(READY) ## Take the structure of an extension: make add-extension EXTENSION=ID TYPESCRIPT=FILE.
	$(BIN)/python scripts/add_extension.py "$(EXTENSION)" "$(TYPESCRIPT)"

.PHONY: verify-generated
verify-generated: $(READY) ## Fail if the committed bindings differ from what would be generated.
	$(BIN)/python -m scripts.without_gc mcp_bindgen generate --check

.PHONY: diff
diff: $(READY) ## Say what breaks between OLD and NEW: make diff OLD=2025-06-18 NEW=2025-11-25.
	$(BIN)/mcp-bindgen diff $(OLD) $(NEW) --fail-on never

.PHONY: docs
docs: $(READY) ## Write the pages of docs/ that are generated.
	$(BIN)/mcp-bindgen rules --format markdown --output docs/rules.md
	$(BIN)/python scripts/picture.py
	$(BIN)/python tests/support/requirement_table.py
	UPDATE_GOLDEN=1 $(BIN)/pytest -q tests/bridge/test_documents.py tests/repo/test_templates.py tests/evolution/test_page.py \
		tests/runtime/transports/http/test_precedence.py::test_the_page_has_the_table \
		tests/simulation/test_simulation.py::test_the_page_shows_the_tables

.PHONY: site
site: $(SITE_VENV)/.ready ## Build the documentation into build/site/html, and check every link.
	PYTHONPATH=codegen:runtime:generated:tests $(SITE_VENV)/bin/python -m scripts.site

.PHONY: site-check
site-check: site $(SITE_CHECK)/.ready ## Look at the site in Chromium: accessibility, small screens, requests, search.
	NODE_PATH=$(abspath $(SITE_CHECK)/node_modules) node scripts/site/npm/check.cjs build/site/html

.PHONY: test
test: $(READY) ## Run the quick tests, in at most three minutes on two cores.
	$(BIN)/pytest -q -n $(JOBS) -m "$(QUICK)"

.PHONY: test-all
test-all: $(READY) ## Run all tests that need neither a peer nor a build; LONG=1 takes all inputs, not samples.
	LONG=$(LONG) $(BIN)/pytest -q -n $(JOBS) -m "$(OWN)" --cases 3000 $(TESTS)

.PHONY: test-times
test-times: $(READY) ## Run the quick tests, and print those that belong in the slow tier, and the CPU time of all.
	@mkdir -p build
	$(BIN)/pytest -q -n $(JOBS) -m "$(QUICK)" --times=build/times.json
	@PYTHONPATH=tests $(BIN)/python -m support.times build/times.json

.PHONY: planted
planted: $(READY) ## Plant every fault of tests/planted, and print which tier of the tests detects how many.
	JOBS=$(JOBS) PYTHONPATH=tests $(BIN)/python -m support.planting

.PHONY: simulate
simulate: $(READY) ## Play worlds of the simulator: SEEDS=N of them, or for SECONDS=S of CPU, or the one of SEED=n.
	cd tests && $(abspath $(BIN))/python -m simulation.simulate $(if $(FIRST),--first $(FIRST)) $(if $(SEED),--seed $(SEED)) $(if $(SEEDS),--seeds $(SEEDS)) $(if $(SECONDS),--seconds $(SECONDS))

.PHONY: simulate-planted
simulate-planted: $(READY) ## Plant bugs in the runtime, one at a time, and print which world of the simulator finds each.
	cd tests && PYTHONPATH=. JOBS=$(JOBS) $(abspath $(BIN))/python -m simulation.plant $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED))

# Each resolution has an environment of its own; the lock file has no say in it.
.PHONY: test-lowest
test-lowest: $(READY) ## Run the quick tests of MEETING on the oldest release of each dependency that pyproject.toml admits.
	$(WITH_UV) scripts/resolve.sh .venv-lowest lowest-direct
	.venv-lowest/bin/pytest -q -n $(JOBS) -m "$(QUICK)" $(MEETING)

# The newest releases are close to those of the lock file, so fewer tests are enough for them.
.PHONY: test-newest
test-newest: MEETING = tests/functional
test-newest: $(READY) ## Run the quick tests of MEETING on the newest release of each dependency.
	$(WITH_UV) scripts/resolve.sh .venv-newest highest
	.venv-newest/bin/pytest -q -n $(JOBS) -m "$(QUICK)" $(MEETING)

.PHONY: lint
lint: $(READY) ## Check style, imports and formatting; of the bindings, `make verify-generated` compares each byte.
	$(BIN)/ruff check .
	$(BIN)/python -m scripts.without_gc black --check --quiet $(filter-out generated,$(SOURCES)) || $(BIN)/black --check --diff $(SOURCES)

.PHONY: types pyright mypy
types: pyright mypy ## Check types strictly with pyright and mypy, generated code included.
# With more space for new objects, Node.js collects garbage less often: a tenth less CPU time.
pyright: $(READY)
	NODE_OPTIONS=--max-semi-space-size=64 $(BIN)/pyright --pythonpath $(BIN)/python
mypy: $(READY)
	$(BIN)/mypy $(TYPED)

.PHONY: package
package: $(READY) ## Build the distributions and use them in an empty environment.
	$(BIN)/pytest -q -m packaging tests/packaging

.PHONY: release
release: $(READY) ## Build the sdist and the wheel of a release in dist/, check both, and run the tests on the wheel.
	JOBS=$(JOBS) $(BIN)/python scripts/release.py $(TESTS)

.PHONY: check
check: test-all lint types verify-generated package ## Run everything that must pass before a change lands.

# Programs for the tests of several processes; they run on ports of their own.
.PHONY: debian
debian:
	@scripts/debian.sh haproxy nginx redis-server

.PHONY: interop
interop: $(READY) $(PEERS_READY) debian ## Talk to servers, clients, proxies and stores that others wrote, over stdio and HTTP.
	MCP_PEER_OLD=$(abspath $(PEER_OLD_VENV)/bin/python) \
		MCP_PEER_1=$(abspath $(PEER1_VENV)/bin/python) MCP_PEER_2=$(abspath $(PEER2_VENV)/bin/python) \
		MCP_PEER_NODE=$(abspath $(PEERS)/node_modules) MCP_AGENTS=$(abspath $(AGENTS_VENV)/bin/python) \
		MCP_PEER_TASKS=$(abspath $(TASKS_VENV)/bin/python) \
		$(BIN)/pytest -q -n $(JOBS) --dist loadgroup -m interop tests/interop

.PHONY: conformance
conformance: $(READY) $(SUITE)/.ready ## Run the official conformance suite on servers and clients over HTTP.
	cd tests && $(abspath $(BIN))/python -m conformance.run $(abspath $(SUITE))

.PHONY: soak
soak: $(READY) ## Hostile lines, killed peers and load in a few minutes; LONG=1 for hours, SEED=N to repeat a run.
	MCP_SOAK_LONG=$(LONG) MCP_SOAK_SEED=$(SEED) $(BIN)/pytest -q -m soak tests/soak

.PHONY: fuzz
fuzz: $(READY) ## Run the differential tests with CASES=10000 generated inputs each.
	$(BIN)/pytest -q -n $(JOBS) -m differential --timeout 0 --cases $(CASES)

.PHONY: bench
bench: $(READY) $(BENCH_READY) ## Measure against the official SDKs, side by side.
	@scripts/debian.sh wrk
	MCP_BENCH_PYTHON=$(BENCH_VENV)/bin/python MCP_BENCH_NODE=$(abspath $(BENCH_NODE))/node_modules \
		$(BIN)/python benchmarks/run.py $(if $(ONLY),$(addprefix --only ,$(ONLY)))

.PHONY: compare
compare: $(READY) ## Measure a small server in three frameworks, and print the table of docs/compare.md.
	$(BIN)/python scripts/compare.py build/compare

.PHONY: format
format: $(READY) ## Sort imports, apply safe fixes and format.
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/black --quiet $(SOURCES)

.PHONY: lock
lock: ## Update the lock files from pyproject.toml, with UPGRADE=1 to the newest versions.
	scripts/lock.sh $(if $(UPGRADE),--upgrade)

.PHONY: clean
clean: ## Remove environments, caches and builds; the bindings stay.
	rm -rf .venv .venv-* .bench-node .site-check .peers .conformance build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find $(SOURCES) -type d -name __pycache__ -prune -exec rm -rf {} +
