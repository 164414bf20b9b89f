# Tidemark. `make check` and `make test` set themselves up; everything they need comes from PyPI.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.tidemark-ready

.DEFAULT_GOAL := help
.PHONY: help setup check check-fresh check-deep hunt prove reproduce test test-deep lint golden docs bench examples clean

help: ## this text
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## the virtual environment in .venv (the other targets call it)

$(STAMP): pyproject.toml
	@echo "setting up $(VENV) (Python packages from PyPI; a few minutes the first time)"
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Tidemark needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": run make PYTHON=/path/to/python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@# pyspark is a source package: without wheel, older pips warn of how they build it.
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check wheel
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[spark,compile,test,lint,prove]'
	@touch $@

check: setup ## TLC on all but the deep models, simulation, audit on Spark, kill matrix, proofs, hunts; one table
	@$(BIN)/tidemark verify

check-fresh: setup ## make check, without what earlier runs have found
	@$(BIN)/tidemark verify --no-cache

check-deep: setup ## the models that take longer and the rarity of row 19, too
	@$(BIN)/tidemark verify --deep

hunt: setup ## search by simulation, with all rules: MINUTES (60) for each protocol and composition
	@$(BIN)/tidemark compile && $(BIN)/tidemark hunt all --minutes $(or $(MINUTES),60)

reproduce: setup ## finds on released Kafka, with their controls, and one table (a JDK, the network once, 30 minutes)
	@$(BIN)/tidemark reproduce all --kafka $(or $(KAFKA),4.3.1)

PYTEST = $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test: setup ## the tests but the deep ones: some on the compiled implementation, the rest on plain Python
	@$(PYTEST) --compiled -m 'not deep'
	@$(PYTEST) -m 'not as_users_have_it and not deep'

test-deep: setup ## the tests that take long: whole commands, clusters, wheels, generated specifications, every lemma's flaws
	@$(PYTEST) -m deep

lint: setup ## ruff and mypy
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

prove: setup ## the proofs' cores found anew, and kept (many minutes)
	@$(BIN)/tidemark prove --record

golden: setup ## rewrite traces/golden; explain the diff in the commit
	@$(BIN)/tidemark golden

docs: setup ## rewrite the generated parts of README.md, ARCHITECTURE.md, DIVERGENCES.md and docs/
	@$(BIN)/tidemark docs

bench: setup ## rates and ratios, in one run
	@$(BIN)/tidemark bench

examples: setup ## a raft group of etcd's library and four bugs in it, audited (where Go is)
	@$(BIN)/python traces/examples/etcd-raft/run.py

clean: ## remove everything that is derived, the virtual environment included
	@rm -rf $(VENV) .cache build dist
