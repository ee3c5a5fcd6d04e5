# `make help` lists what there is. Every target can be run again at any time.
SHELL := /bin/bash
.DEFAULT_GOAL := help
run := . scripts/env.sh &&

.PHONY: help setup demo demo-live test test-slow test-deep test-gpu lint format docs imports package bench halmos mutations slither verify-bytecode clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what is missing (a second run only looks)
	@bash scripts/setup

demo: setup ## rent a machine for real: chain, IPFS, container, result, payment; the account goes to build/demo.json
	@$(run) python scripts/demo.py

demo-live: setup ## such a world, left running: a used market in a browser, commands to try by hand; alone=yes leaves one machine
	@$(run) python scripts/demo.py --live $(if $(alone),--alone)

test: setup ## the tests of a working day, contracts', Python's and the browser's app's, with their coverage gates
	@bash scripts/test

test-slow: setup ## what takes longer: more whole worlds and odd nodes, Brownie; CI runs these too
	@bash scripts/test --slow

test-deep: setup ## all of them, and long fuzzing, invariants at 1,000 x 100, chaos and outages
	@bash scripts/test --deep

test-gpu: setup ## the tests that any card can stand, on this host's real ones; what comes of it goes to docs/measured
	@$(run) python scripts/test_gpu.py

lint: setup ## formatting, style and types
	@bash scripts/lint

format: setup ## rewrite Python, Solidity and TypeScript in the house format
	@$(run) ruff format . && ruff check --fix . && forge fmt && npm --prefix offchain/dapp run --silent format

docs: setup ## the documents as a site, with the library's reference, in build/docs
	@bash scripts/setup sphinx && $(run) python scripts/docs_site.py "$$(tool_home sphinx)"

imports: setup ## who imports whom, drawn from the code
	@$(run) python scripts/import_map.py

package: setup ## the agent as a Debian package and as a container image, in dist
	@$(run) python scripts/package.py $(only)

bench: setup ## ratios against references measured in the same run, and gas; the table goes to build/bench.json
	@bash scripts/setup ponder lighthouse && $(run) python scripts/bench.py

halmos: setup ## prove the contracts' arithmetic for all numbers (half an hour)
	@bash scripts/setup halmos && bash scripts/halmos

mutations: setup ## plant a bug for each invariant, which must find it; only="1 13" plants those of some, seeds=20 tries more
	@$(run) python scripts/mutations.py $(if $(seeds),--seeds $(seeds)) $(only)

slither: setup ## static analysis; each finding that stays has its reason in scripts/toolchain/slither.toml
	@bash scripts/setup slither && $(run) python scripts/slither.py "$$(tool_home slither)/bin/slither"

verify-bytecode: setup ## rebuild the contracts and compare them with what is deployed: DEPLOYMENT=file.json RPC=url
	@$(run) python scripts/verify_bytecode.py $(DEPLOYMENT) $(if $(RPC),--rpc $(RPC))

clean: ## remove what was built in this checkout (the cache outside it stays)
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
