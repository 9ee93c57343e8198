# Short commands for the common tasks; `make` alone lists them. Recipes need a POSIX shell only.

PYTHON ?= python3
CORES ?= all
OPTIONS ?=
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
SNAKEMAKE := $(BIN)/snakemake
SNAKEFILES := Snakefile $(wildcard rules/*.smk rules/*/*.smk)
PYTEST := $(BIN)/python -m pytest --numprocesses $(WORKERS) --durations=30 --durations-min=1
SOURCES := workflow_lib scripts tests $(wildcard benchmarks docs examples)

.DEFAULT_GOAL := help
.PHONY: help env run demo prepare test test-papers test-system faults lint docs bench compare why verify unlock clean

help: ## list these commands
	@echo "make COMMAND [CORES=all] [OPTIONS='more options of snakemake'] [PYTHON=python3] [WORKERS=2]"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{printf "%-12s %s\n", $$1, $$2}'

env: $(INSTALLED) ## build the environment in .venv from requirements.lock

$(INSTALLED): requirements.lock pyproject.toml
	@command -v $(PYTHON) > /dev/null || { \
	  echo "error: '$(PYTHON)' was not found; install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: '$(PYTHON)' is older than Python 3.11; name a newer one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@rm -f $@
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

run: env ## compute everything that is missing or out of date, up to the report
	@$(SNAKEMAKE) --cores $(CORES) $(OPTIONS)
	@echo "The report: results/report.html"

demo: env ## predict three properties of wines from a small table, by the three commands
	@test -e config/tables/datasets/wines.yaml || $(SNAKEMAKE) --cores 1 new --config \
	  name=wines data=examples/wines.csv splits=3 outputs=flavanoids,color_intensity,proline
	@$(SNAKEMAKE) --cores $(CORES) answer --config name=wines
	@$(SNAKEMAKE) --cores $(CORES) predict --config name=wines rows=examples/new_wines.csv \
	  keep=cultivar

prepare: env ## fetch the data only, for a later run without network
	@$(SNAKEMAKE) --cores $(CORES) $(OPTIONS) prepare

# The tests and the comparison read the data from a local copy if there is one next to the checkout.
ifeq ($(origin OFER_MIRROR),undefined)
ifneq ($(wildcard ../shared/data),)
test test-papers test-system compare: export OFER_MIRROR := $(abspath ../shared/data)
endif
endif
# Hundreds of processes of tests import the library, so that its compiled modules are kept.
test test-papers test-system: export PYTHONDONTWRITEBYTECODE :=
test: env lint ## check the style, test the library and one small run, in minutes
	@$(PYTEST) --dist worksteal tests/workflow tests/library $(COVERAGE)

test-papers: env ## test the systems of single papers
	@$(PYTEST) --dist worksteal tests/papers $(COVERAGE)

test-system: env ## test edits, user tables, faults, Slurm, a browser; takes longer
	@$(PYTEST) --dist loadfile --no-loadscope-reorder tests/scenarios tests/system

faults: env ## break a small run in every way; takes hours, writes results/faults.json
	@$(BIN)/python -m pytest tests/system -m fault --faults=full --fault-record=results/faults.json

lint: env ## check the style of the Python, the rules and the scripts of pages
	@$(BIN)/ruff check --quiet $(SOURCES)
	@$(BIN)/ruff format --check --quiet $(SOURCES) || { \
	  echo "error: not formatted; to fix it: $(BIN)/ruff format $(SOURCES)" >&2; exit 1; }
	@$(BIN)/snakefmt --check $(SNAKEFILES) || { \
	  echo "error: not formatted; to fix it: $(BIN)/snakefmt $(SNAKEFILES)" >&2; exit 1; }
	@$(BIN)/oxlint --deny-warnings --format=unix workflow_lib docs
	@$(SNAKEMAKE) --lint

docs: env ## build the documentation in results/docs, and write the reference of all keys
	@$(BIN)/python -m workflow_lib.run.reference
	@$(BIN)/python -m sphinx --fail-on-warning --quiet docs results/docs
	@echo "The documentation: results/docs/index.html"

bench: env ## time the methods against other libraries
	@$(BIN)/python -m benchmarks $(OPTIONS)

compare: env ## compare the methods with other libraries; peers: pip install '.[boosting]'
	@$(BIN)/python -m benchmarks compare $(OPTIONS)

why: env ## say what would run now, and why
	@$(SNAKEMAKE) --dry-run --quiet host $(OPTIONS)

verify: env ## compare the files of results/ and resources/ with the digests of their jobs
	@$(BIN)/python -m workflow_lib.core.file_digests results resources

unlock: env ## free the folder after a run was killed
	@$(SNAKEMAKE) --unlock $(OPTIONS)

clean: ## remove the results after asking; the data in resources/ stay
	@printf 'Remove results/ and logs/? [y/N] '; read -r answer || answer=n; \
	case "$$answer" in [yY]*) rm -rf results logs; echo "removed" ;; *) echo "nothing was removed" ;; esac
