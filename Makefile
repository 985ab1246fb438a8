# One checkout, one environment. `make help` lists what can be done here.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
# Each worker has a database server of its own; a file of tests stays with one worker, in the order of tests/conftest.py.
IN_PARALLEL := -p tests.workers --workers auto

# Tests start the service again and again: its modules are compiled once.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run demo demo-federation browser openapi-tools stock-clients agent-frameworks crewai test-quick test test-deep test-release test-ha check types style structure format dashboard map events synchronous client-wheel release image-test pictures compared-pictures bench bench-full lighthouse lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

setup: .venv/.service ## create .venv from the lock files, with the service in it

run: setup ## run the registry on http://127.0.0.1:8000
	@exec $(BIN)/hansa serve

demo: setup ## the honest path end to end, against a registry in a temporary directory
	@$(BIN)/hansa demo

demo-federation: setup ## three registries on this machine become peers and pay each other
	@$(BIN)/hansa demo --federation

browser: .venv/.test ## find the browser of the page tests; install one where there is none
	@$(BIN)/python -m tests.browser.chromium

openapi-tools: .venv/.service ## install the OpenAPI validators and the client generator, once
	@$(BIN)/python -m tests.openapi.tools

stock-clients: .venv/.service ## install the stock clients of A2A, x402 and MCP and the reader of tiled logs that the tests run, once
	@$(BIN)/python -m tests.stock_clients.tools

agent-frameworks: .venv/.service ## install the agent frameworks whose tools the tests run, once
	@$(BIN)/python -m tests.agent_frameworks.tools agent_frameworks

crewai: .venv/.service ## install CrewAI, which the deeper tests run (800 MB), once
	@$(BIN)/python -m tests.agent_frameworks.tools crewai

test-quick: .venv/.test ## before each commit: structure, rules, properties, one conversation for each room
	$(PYTEST) -p tests.workers --workers 3 $$($(BIN)/python -m tests.quick)

test: browser openapi-tools stock-clients agent-frameworks ## every test, on the embedded database
	$(PYTEST) $(IN_PARALLEL) --timeout 600 --maxfail 300 tests

test-deep: browser openapi-tools stock-clients agent-frameworks crewai ## the same tests with larger numbers (about an hour)
	HANSA_TEST_TIER=1 $(PYTEST) tests
	$(BIN)/python -m tests.lighthouse.judge

test-release: browser openapi-tools stock-clients agent-frameworks crewai ## the same tests before a release (a night)
	HANSA_TEST_TIER=2 $(PYTEST) tests

test-ha: .venv/.test ## lose, hang and switch the leader of a Patroni cluster under load (five minutes; Debian)
	@$(BIN)/python -m tests.high_availability

check: .venv/.test ## format, lint, strict types, import contracts, dead code, the structural tests
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target types structure

# Neither uses more than one core.
types: .venv/.test
	$(BIN)/mypy

style: .venv/.test
	$(BIN)/ruff format --check src tests bench migrations deploy
	$(BIN)/ruff check src tests bench migrations deploy
	$(BIN)/lint-imports
	$(BIN)/vulture

structure: style
	$(PYTEST) -q tests/house

format: .venv/.test ## rewrite the code in the house format
	$(BIN)/ruff format src tests bench migrations deploy
	$(BIN)/ruff check --fix src tests bench migrations deploy

dashboard: .venv/.test ## rewrite deploy/observability/dashboard.json from its table
	$(BIN)/python -m tests.house.dashboard

map: setup ## rewrite docs/map.md: routes, settings, tables, events and who reacts
	$(BIN)/hansa map --write docs/map.md

events: setup ## rewrite docs/events/*.json: the JSON Schema of each event type
	$(BIN)/hansa schema events --write docs/events

synchronous: .venv/.test ## rewrite the synchronous client from the asynchronous one
	@$(BIN)/python -m tests.house.synchronous

client-wheel: setup ## build the distributions hansa-client and hansa-verify, on which it depends, into dist/
	@$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist ./client ./verify
	@ls dist/hansa_client-*.whl dist/hansa_verify-*.whl

release: setup ## build the files of a release into dist/: wheels, sdists, constraints.txt, SBOM, checksums
	@$(BIN)/python -m tests.packages.tools
	@$(BIN)/python deploy/release.py dist .venv/deployment/python/bin/cyclonedx-py
	@ls dist

image-test: .venv/.test ## build the image by Buildah, start it read-only and ask it; needs root and Debian
	@$(BIN)/python -m tests.packages.image

pictures: browser ## take the pictures of the README and of the guides anew
	$(BIN)/python -m tests.browser.pictures

compared-pictures: browser ## record anew the appearance with which the tests compare pages
	HANSA_COMPARED_PICTURES=1 $(PYTEST) -q tests/browser/test_compared_pictures.py

lighthouse: browser ## judge pages by Lighthouse, then every page by its bytes and the time until it is interactive, as a slow telephone loads them
	$(BIN)/python -m tests.lighthouse.judge

bench: .venv/.test ## the small benches, each beside its baseline; those over HTTP need wrk (Debian: apt install wrk)
	$(BIN)/python -m bench

bench-full: .venv/.test ## the same benches at their large sizes
	$(BIN)/python -m bench --full

lock: .venv/.test ## compile requirements/*.in into hash-locked files (needs uv on the PATH)
	cd requirements && for f in service build test openapi stock_clients agent_frameworks crewai lighthouse deployment installers; do \
	  uv pip compile --universal --python-version 3.11 --generate-hashes --no-annotate --no-header -q $$f.in -o $$f.txt; done && \
	  uv pip compile --no-deps --universal --python-version 3.11 --generate-hashes --no-annotate --no-header -q high_availability.in -o high_availability.txt

clean: ## remove the environment and every cache
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# Says in one line what is missing, leaves nothing half-made, and heals what an interruption left.
SET_UP = command -v $(PYTHON) >/dev/null || { echo "Hansa needs Python 3.11 or later; $(PYTHON) is not found."; exit 1; }; \
  $(PYTHON) requirements/set_up.py

.venv/.service: requirements/service.txt requirements/build.txt requirements/set_up.py pyproject.toml client/pyproject.toml verify/pyproject.toml
	@$(SET_UP) service && touch $@

.venv/.test: .venv/.service requirements/test.txt
	@$(SET_UP) test && touch $@
