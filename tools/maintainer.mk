# Targets of maintainers, beside those of Makefile: site, peers, benchmarks, releases. `make help-all` lists them.

BENCH_VENV ?= .venv-bench
BENCH_NODE ?= .bench-node
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
# SEED repeats a run of `make soak`; LONG=1 makes it run for hours.
SEED ?=
# How many worlds `make simulate` plays, or for how many seconds of CPU.
SEEDS ?=
SECONDS ?=
# The first of its seeds.
FIRST ?=
# Which tests `make test-lowest` and `make test-newest` run: those that meet the dependencies most, in models and over HTTP.
MEETING ?= tests/functional tests/runtime/transports/http

BENCH_READY := $(BENCH_VENV)/.ready $(BENCH_NODE)/.ready
PEERS_READY := $(PEER_OLD_VENV)/.ready $(PEER1_VENV)/.ready $(PEER2_VENV)/.ready $(AGENTS_VENV)/.ready \
	$(TASKS_VENV)/.ready $(PEERS)/.ready

# Makes the other environments with the uv of the first, where there is none on PATH.
WITH_UV := PATH="$$PATH:$(abspath $(BIN))"

# mypy refuses a folder without a Python file.
TYPED := $(foreach folder,$(SOURCES),$(if $(shell find $(folder) -name '*.py' -print -quit 2>/dev/null),$(folder)))

# An environment of Python packages for each lock file, and the npm packages of each lock.
define environment
$(1)/.ready: $(LOCKS)/$(2).txt $(SCRIPTS)/venv.sh | $(READY)
	@$$(WITH_UV) $(SCRIPTS)/venv.sh $(1) $(LOCKS)/$(2).txt
	@touch $$@
endef
$(eval $(call environment,$(BENCH_VENV),bench-mcp))
$(eval $(call environment,$(SITE_VENV),site))
$(eval $(call environment,$(PEER_OLD_VENV),interop-mcp-old))
$(eval $(call environment,$(PEER1_VENV),interop-mcp1))
$(eval $(call environment,$(PEER2_VENV),interop-mcp2))
$(eval $(call environment,$(AGENTS_VENV),interop-agents))
$(eval $(call environment,$(TASKS_VENV),interop-tasks))

# The packages are servers and tools that need no build step, so their install scripts stay off.
define packages
$(1)/.ready: $(2)/package.json $(2)/package-lock.json
	@mkdir -p $(1)
	@cp $$^ $(1)
	@npm ci --prefix $(1) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $$@
endef
$(eval $(call packages,$(BENCH_NODE),tools/benchmarks/npm))
$(eval $(call packages,$(SITE_CHECK),$(SCRIPTS)/site/npm))
$(eval $(call packages,$(PEERS),tests/interop/npm))
$(eval $(call packages,$(SUITE),tests/conformance/npm))

.PHONY: add-revision
add-revision: $(READY) ## Add a released revision: make add-revision REVISION=2027-01-31 SCHEMA=FILE TYPESCRIPT=FILE.
	$(BIN)/python $(SCRIPTS)/add_revision.py "$(REVISION)" "$(SCHEMA)" "$(TYPESCRIPT)"

.PHONY: rehearse
rehearse: $(READY) $(SUITE)/.ready ## Add a made-up next revision to a copy in build/, from PROPOSALS, and test it there.
	$(BIN)/python $(SCRIPTS)/rehearse.py build/rehearsal "$(PROPOSALS)" $(abspath $(SUITE))

.PHONY: add-extension
add-extension: $(READY) ## Take the structure of an extension: make add-extension EXTENSION=ID TYPESCRIPT=FILE.
	$(BIN)/python $(SCRIPTS)/add_extension.py "$(EXTENSION)" "$(TYPESCRIPT)"

.PHONY: verify-generated
verify-generated: $(READY) ## Fail if the committed bindings differ from what would be generated.
	PYTHONPATH=tools $(BIN)/python -m scripts.without_gc mcp_bindgen generate --check

.PHONY: site-check
site-check: site $(SITE_CHECK)/.ready ## Look at the site in Chromium: accessibility, small screens, requests, search.
	NODE_PATH=$(abspath $(SITE_CHECK)/node_modules) node $(SCRIPTS)/site/npm/check.cjs build/site/html

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
	$(WITH_UV) $(SCRIPTS)/resolve.sh .venv-lowest lowest-direct
	.venv-lowest/bin/pytest -q -n $(JOBS) -m "$(QUICK)" $(MEETING)

# The newest releases are close to those of the lock file, so fewer tests are enough for them.
.PHONY: test-newest
test-newest: MEETING = tests/functional
test-newest: $(READY) ## Run the quick tests of MEETING on the newest release of each dependency.
	$(WITH_UV) $(SCRIPTS)/resolve.sh .venv-newest highest
	.venv-newest/bin/pytest -q -n $(JOBS) -m "$(QUICK)" $(MEETING)

.PHONY: lint
lint: $(READY) ## Check style, imports and formatting; of the bindings, `make verify-generated` compares each byte.
	$(BIN)/ruff check .
	PYTHONPATH=tools $(BIN)/python -m scripts.without_gc black --check --quiet $(filter-out generated,$(SOURCES)) || $(BIN)/black --check --diff $(SOURCES)

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
	JOBS=$(JOBS) $(BIN)/python $(SCRIPTS)/release.py $(TESTS)

# Programs for the tests of several processes; they run on ports of their own.
.PHONY: debian
debian:
	@$(SCRIPTS)/debian.sh haproxy nginx redis-server

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
	@$(SCRIPTS)/debian.sh wrk
	MCP_BENCH_PYTHON=$(BENCH_VENV)/bin/python MCP_BENCH_NODE=$(abspath $(BENCH_NODE))/node_modules \
		$(BIN)/python tools/benchmarks/run.py $(if $(ONLY),$(addprefix --only ,$(ONLY)))

.PHONY: compare
compare: $(READY) ## Measure a small server in three frameworks, and print the table of docs/compare.md.
	$(BIN)/python $(SCRIPTS)/compare.py build/compare
