# Everything that is done in this project, each by one word. “make” alone lists them.
SHELL := /bin/sh
.DEFAULT_GOAL := help
PYTHON := .venv/bin/python
RUFF := .venv/bin/ruff

# Names such as web and scenes are common in artists' folders: never take the caller's for ours.
export PYTHONSAFEPATH := 1

.PHONY: help setup demo test lint format scenes addon bench chaos clean

help:  ## list these
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

setup:  ## make the environment in .venv (uv, Python 3.13, all libraries)
	@./infra/setup.sh

demo: setup  ## render two sample scenes on a farm on this machine, and leave it up to be looked at
	@$(PYTHON) -P -m farm.embedded.demo

test: setup  ## run the tests (ARGS="-k words" for some of them)
	@$(PYTHON) -P -m pytest $(ARGS)

lint: setup  ## check style, types and who imports whom
	$(RUFF) check
	$(RUFF) format --check
	.venv/bin/mypy
	.venv/bin/lint-imports

format: setup  ## put the code into the house's style
	$(RUFF) check --fix
	$(RUFF) format

scenes: setup  ## build the sample scenes into build/scenes
	$(PYTHON) -P -m scenes --all build/scenes

addon: setup  ## build the Blender add-on into dist, and check it with Blender's own tool
	@$(PYTHON) -P -m infra.build_addon dist

bench: setup  ## measure the farm against plain Blender on this machine
	$(PYTHON) -P -m benchmarks

chaos: setup  ## do FAULTS=3 faults drawn from SEED to real farms, in each of RUNS; LEDGER= is gone on with
	@$(PYTHON) -P -m tests.chaos --seed $(or $(SEED),1) --runs $(or $(RUNS),3) --faults $(or $(FAULTS),3) \
		$(if $(LEDGER),--ledger $(abspath $(LEDGER))) $(ARGS)

clean:  ## remove what was built; the environment and the farm's home stay
	rm -rf build dist demo-output .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -not -path './.uv/*' -prune -exec rm -rf {} +
