# Everything a newcomer needs: Python >= 3.11, make and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/runs
READY := $(VENV)/ready

.DEFAULT_GOAL := help
.PHONY: help demo test check slow bench matching coverage posteriors scale schema texts clean

help:           ## show what can be made
	@grep -E '^[a-z]+:.*##' Makefile | sed 's/:.*##/ -/'

# Real files stand for the environment, so that `make -j` builds it once and a second run does nothing: what a user needs,
# and what a developer needs besides.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
$(RUNS): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(READY): $(RUNS)
	$(PIP) -e '.[dev]'
	touch $@

demo: $(RUNS)   ## the paper's example, then an audit of a synthetic survey: pictures and report in demo/
	$(BIN)/disclique example poets --out demo/poets --force
	$(BIN)/disclique demo --out demo/audit

test: $(READY)  ## run the tests
	$(BIN)/python -m pytest -m 'not slow' -n auto --dist loadfile
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -m 'not slow' tests/test_product.py tests/test_clique.py -k small

check: $(READY) ## lint, types, import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

slow: $(READY)  ## full-scale checks
	$(BIN)/python -m pytest -m slow

bench: $(READY) ## time the engine and its peers
	$(BIN)/disclique bench --out benchmarks/results
	$(BIN)/python benchmarks/document.py

matching: $(READY) ## the attack on two matrices beside others, hours: make matching DATA=DIR
	$(BIN)/python benchmarks/matching.py --data $(DATA)
	$(BIN)/python benchmarks/matching.py --data $(DATA) --show

coverage: $(READY) ## how often the ends of intervals hold: tables and picture of docs/audit.md, ten minutes
	$(BIN)/python benchmarks/bounds_coverage.py --document

scale: $(READY) ## what audits cost against the size of the file (hours)
	$(BIN)/python benchmarks/scale.py releases
	$(BIN)/python benchmarks/scale.py audit 2000
	$(BIN)/python benchmarks/scale.py audit 5000
	$(BIN)/python benchmarks/scale.py audit 20000
	$(BIN)/python benchmarks/scale.py slow 2000 --document
	$(BIN)/python benchmarks/registers.py
	$(BIN)/python benchmarks/edge.py

posteriors: $(READY) ## how far the probabilities of registration hold on other data: docs/attacks.md, half an hour
	$(BIN)/python benchmarks/posteriors.py --document

schema: $(READY) ## write the schema of an audit's result.json from its classes
	$(BIN)/python -c 'import json; from disclique.audits.result import result_schema; print(json.dumps(result_schema(), indent=2))' > src/disclique/audits/result.schema.json

texts: $(READY)  ## write texts/en.toml, the list of all that pages say, from templates and code
	$(BIN)/python -m disclique.texts.extract

clean:          ## remove what make created
	rm -rf $(VENV) demo build dist src/*.egg-info
