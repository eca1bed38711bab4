# Everything a contributor runs.  `make` alone lists the targets.

PYTHON   ?= python3
VENV     := .venv
COMPAT   := .venv-compat
BIN      := $(VENV)/bin
FOLDERS  := compiler grammar k8s spark_backend
BENCHES  := $(filter-out benchmarks/_% benchmarks/soak.py,$(wildcard benchmarks/*.py))
DEMO_OUT ?= demo-out
MEASURED := tests/spark_backend/test_conformance_spark.py tests/spark_backend/test_cel_python.py
ARGS     ?=
ABREAST  ?= 2
SHARED   := -n $(ABREAST) --dist loadfile --no-loadscope-reorder
EXAMPLES ?= 20000
MUTATIONS ?= 100000
NIGHT    := .nightly

# The parts of the nightly run, and what pytest is given for each; the longest are begun first.
NIGHTLY := sampled streams kafka delta docs executors mutations patterns random-1 random-2 random-3 random-4 random-5 random-6 random-7 random-8
night-sampled   := -m sampled
night-streams   := -m slow tests/spark_backend/test_stream_faults.py
night-kafka     := -m slow tests/spark_backend/test_kafka_faults.py
night-docs      := -m slow tests/test_docs.py
night-delta     := -m slow tests/spark_backend/test_delta.py
night-executors := -m slow tests/spark_backend/test_cluster.py tests/spark_backend/test_standalone.py
night-mutations := tests/compiler/test_mutations.py
night-patterns  := -m slow tests/spark_backend/test_regex_spark.py
night-random    := tests/spark_backend/test_random.py

# Spark's workers otherwise take the first python3 on PATH, which has none of our packages.
spark_env = PYSPARK_PYTHON="$(CURDIR)/$(1)/bin/python" PYSPARK_DRIVER_PYTHON="$(CURDIR)/$(1)/bin/python"

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-executors test-cluster test-kafka nightly nightly-parts check lint format docs dev bench soak compat clean java

help: ## list the targets
	@echo "usage: make TARGET [PYTHON=python3.12] [ARGS='extra pytest arguments']"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{printf "%-14s %s\n", $$1, $$2}'

demo: java $(VENV)/.installed ## run the example triggers over the example events
	$(BIN)/tricel run --triggers examples/triggers --events examples/events --out $(DEMO_OUT) --format jsonl --overwrite

test: java $(VENV)/.installed-dev ## run every test but the slow ones, in two processes
	$(call spark_env,$(VENV)) $(BIN)/pytest $(SHARED) $(ARGS)

test-slow: java $(VENV)/.installed-dev ## run the slow tests only
	$(call spark_env,$(VENV)) $(BIN)/pytest -m slow $(ARGS)

test-executors: java $(VENV)/.installed-dev ## run filters on Spark executors in processes of their own
	$(BIN)/pytest -m slow tests/spark_backend/test_cluster.py tests/spark_backend/test_standalone.py $(ARGS)

test-cluster: $(VENV)/.installed-dev ## run the tests that need a Kubernetes API server (TRICEL_APISERVER=/path/to/apiserver)
	$(BIN)/pytest -m cluster tests/k8s $(ARGS)

test-kafka: java $(VENV)/.installed-dev ## run the tests that need a Kafka broker, which is run from jars that Maven brings
	$(call spark_env,$(VENV)) $(BIN)/pytest -m 'kafka and not slow' tests/spark_backend/test_kafka.py tests/spark_backend/test_kafka_faults.py $(ARGS)

nightly: java $(VENV)/.installed-dev ## run all that `make test` samples or leaves out, in parts (PART=NAME: one; ANEW=1: done ones, too)
	@$(if $(filter-out $(NIGHTLY),$(PART)),echo "error: no part is called '$(PART)'; make nightly-parts lists them"; exit 1)
	@$(if $(ANEW),rm -rf $(NIGHT))
	@tree=$$({ git ls-files -coz --exclude-standard; git ls-files -coz --exclude-standard | xargs -0 cat; } 2>&1 | sha1sum | cut -c 1-12); \
	  mkdir -p $(NIGHT)/$$tree && $(MAKE) --no-print-directory --keep-going -j $(ABREAST) DONE=$(NIGHT)/$$tree \
	  $(patsubst %,$(NIGHT)/$$tree/%,$(or $(PART),$(NIGHTLY)))

nightly-parts: ## list the parts of `make nightly`
	@printf '%s\n' $(NIGHTLY)

# A part that has passed leaves its report in a folder that is named for the state of the tree: a run that was cut goes
# on with the parts that are left, and a changed tree begins anew.
ifdef DONE
$(DONE)/random-%: export TRICEL_PART = $(@F:random-%=%)/$(words $(filter random-%,$(NIGHTLY)))
$(DONE)/%: export TRICEL_SAMPLE = all
$(DONE)/%: export TRICEL_EXAMPLES = $(EXAMPLES)
$(DONE)/mutations: export TRICEL_MUTATIONS = $(MUTATIONS)
$(DONE)/%:
	@echo "part $(@F): begun"
	@$(call spark_env,$(VENV)) $(BIN)/pytest -o faulthandler_timeout=0 $(or $(night-$(@F)),$(night-random)) $(ARGS) >$@.log 2>&1 || { \
	  tail -n 40 $@.log; echo "part $(@F): failed; '$@.log' has all of it, and make nightly PART=$(@F) runs it again"; exit 1; }
	@mv $@.log $@ && echo "part $(@F): $$(tail -n 1 $@)"
endif

check: lint test ## everything a change must pass: formatting, lint, types, import rules, tests

lint: dev $(VENV)/.installed-dev ## the checks that run no code of ours
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	cd .typing && ../$(BIN)/mypy --config-file ../pyproject.toml --cache-dir ../.mypy_cache -p tricel
	cd .typing && ../$(BIN)/lint-imports --config ../pyproject.toml --no-cache

format: $(VENV)/.installed-dev ## format the code and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: java $(VENV)/.installed-dev ## write docs/reference anew: from the code, and from running the conformance cases
	$(BIN)/python -m tricel.reference docs/reference
	TRICEL_WRITE_DOCS=1 $(call spark_env,$(VENV)) $(BIN)/pytest $(MEASURED)

dev: ## write .typing/tricel, the links that let mypy, pyright and import-linter see one package
	@rm -rf .typing/tricel && mkdir -p .typing/tricel
	@for path in tricel/*.py tricel/commands tricel/py.typed $(FOLDERS); do ln -s "../../$$path" .typing/tricel/; done

bench: java $(VENV)/.installed-dev ## run every benchmark and print its table
	@test -n "$(BENCHES)" || { echo "there is no benchmark in benchmarks/"; exit 1; }
	@set -e; for script in $(BENCHES); do echo "== $$script"; $(call spark_env,$(VENV)) $(BIN)/python "$$script"; done

soak: java $(VENV)/.installed-dev ## run a stream for MINUTES (30) and watch its memory
	$(call spark_env,$(VENV)) $(BIN)/python benchmarks/soak.py --minutes $(or $(MINUTES),30)

compat: java $(COMPAT)/.installed ## run the tests once with the oldest supported dependencies
	$(call spark_env,$(COMPAT)) $(COMPAT)/bin/pytest $(SHARED) $(ARGS)

clean: ## remove what the targets made
	rm -rf $(VENV) $(COMPAT) $(NIGHT) .typing $(DEMO_OUT) build dist *.egg-info spark-warehouse metastore_db derby.log artifacts
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is newer than pyproject.toml when the environment is up to date, so a second run installs nothing.
$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[all]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(VENV)/.installed $@

$(COMPAT)/.installed: pyproject.toml tests/constraints/oldest.txt | $(COMPAT)/bin/python
	$(COMPAT)/bin/python -m pip install --quiet --constraint tests/constraints/oldest.txt --editable '.[dev]'
	@touch $@

$(VENV)/bin/python $(COMPAT)/bin/python:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "error: '$(PYTHON)' was not found; install Python 3.11 or later, or name one: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: tricel needs Python 3.11 or later and '$(PYTHON)' is $$($(PYTHON) -V 2>&1); name another: make PYTHON=python3.12"; \
	  exit 1; }
	@echo "creating $(@D:/bin=) (the first installation downloads Spark, about 450 MB)"
	@$(PYTHON) -m venv $(@D:/bin=) || { rm -rf $(@D:/bin=); \
	  echo "error: '$(PYTHON) -m venv' failed; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@echo '*' > $(@D:/bin=)/.gitignore

java:
	@java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; \
	found=$$("$$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1); \
	test "$${found:-0}" -ge 17 || { \
	  echo "error: Spark needs Java 17 or later; '$$java' is $${found:+Java }$${found:-missing}"; \
	  echo "  Debian, Ubuntu: apt install openjdk-17-jre-headless"; \
	  echo "  Fedora:         dnf install java-21-openjdk-headless"; \
	  echo "  macOS:          brew install openjdk@17"; \
	  echo "  then put it on PATH, or set JAVA_HOME to it"; \
	  exit 1; }
