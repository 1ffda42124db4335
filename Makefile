# Everything a newcomer needs: Python >= 3.11, make and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/runs
READY := $(VENV)/ready

.DEFAULT_GOAL := help
.PHONY: help demo test long check docs slow bench matching counts coverage posteriors scale schema screenshots texts wheel wheelhouse dependencies r lowest clean

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

# clkhash needs older parts than the tools of a developer: an environment of its own, by which bits are compared.
CLKHASH := .venv-clkhash
$(CLKHASH)/ready:
	test -x $(CLKHASH)/bin/python || $(PYTHON) -m venv $(CLKHASH)
	$(CLKHASH)/bin/python -m pip install --quiet --disable-pip-version-check 'clkhash==0.18.3'
	touch $@

demo: $(RUNS)   ## the paper's example, then an audit of a synthetic survey: pictures and report in demo/
	$(BIN)/disclique example poets --out demo/poets --force
	$(BIN)/disclique demo --out demo/audit

# Files go to the processes in the order of their names: by the number of their tests, the longest would come last.
SHARED := -n auto --dist loadfile --no-loadscope-reorder
test: $(READY)  ## run the tests
	$(BIN)/python -m pytest -m 'not slow and not long' $(SHARED)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -m 'not slow' tests/engine/test_product.py tests/engine/test_clique.py -k small

check: $(READY) ## lint, types, import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/tools/build.py

counts:         ## how large the house is beside its limits; docs/tools/counts.py --where says where
	$(PYTHON) docs/tools/counts.py

docs: $(READY)  ## the documentation site in site/: open site/index.html, no network needed
	$(BIN)/python docs/tools/build.py

long: $(READY)  ## tests of whole programs: killed and gone on with, on clusters, in a real browser, as a package
	$(BIN)/python -m pytest -m 'long and not slow' $(SHARED) -n 3 # programs wait for each other most of the time

slow: $(READY)  ## full-scale checks
	$(BIN)/python -m pytest -m slow

bench: $(READY) ## time the engine and its peers
	$(BIN)/python benchmarks/engine.py --out benchmarks/results
	$(BIN)/python benchmarks/document.py

matching: $(READY) ## the attack on two matrices beside others, hours: make matching DATA=DIR
	$(BIN)/python benchmarks/matching.py --data $(DATA)
	$(BIN)/python benchmarks/matching.py --data $(DATA) --show

coverage: $(READY) ## how often the ends of intervals hold: tables and picture of docs/evidence/verdicts.md, ten minutes
	$(BIN)/python benchmarks/bounds_coverage.py --document

scale: $(READY) ## what audits cost against the size of the file (hours)
	$(BIN)/python benchmarks/scale.py releases
	$(BIN)/python benchmarks/scale.py audit 2000
	$(BIN)/python benchmarks/scale.py audit 5000
	$(BIN)/python benchmarks/scale.py audit 20000
	$(BIN)/python benchmarks/scale.py slow 2000 --document
	$(BIN)/python benchmarks/registers.py
	$(BIN)/python benchmarks/edge.py

posteriors: $(READY) ## how far the probabilities of registration hold on other data: docs/evidence/attacks.md, half an hour
	$(BIN)/python benchmarks/posteriors.py --document

screenshots: $(READY) ## pictures of every step of the app: in screenshots/, and those of docs/img/
	$(BIN)/python tests/app_screenshots.py

schema: $(READY) ## write the schema of an audit's result.json, and that of recipients.json, from their classes
	$(BIN)/python -c 'import json; from disclique.audits.result import result_schema; print(json.dumps(result_schema(), indent=2))' > src/disclique/audits/result.schema.json
	$(BIN)/python -c 'import json; from disclique.audits.recipient_facts import recipients_schema; print(json.dumps(recipients_schema(), indent=2))' > src/disclique/audits/recipients.schema.json

texts: $(READY)  ## bring the catalogues of all languages in step with what code and templates say
	$(BIN)/python docs/tools/catalogues.py

wheel: $(READY) ## sdist and wheel in dist/, and the wheel tried in an empty environment (needs a package index)
	rm -rf dist build
	mkdir -p build/tree
	git archive HEAD | tar -x -C build/tree  # what is committed: a data file that lies about here is nobody else's
	$(BIN)/python -m build --outdir dist build/tree
	$(BIN)/python -m pytest -m slow tests/door/test_package.py

dependencies: $(READY) ## write docs/reference/dependencies.md: the closed list of what is installed along, with licences
	$(BIN)/python docs/tools/dependencies.py

# For rooms without a network: every wheel, a hash for each, the bill of materials; then tried without an index. For another
# system or Python than this one, run it there.
HOUSE := dist/wheelhouse
wheelhouse: $(READY) ## wheels with hashes and an SBOM for air-gapped rooms in dist/wheelhouse/, tried in an empty environment
	rm -rf $(HOUSE) build/tree build/empty
	mkdir -p build/tree $(HOUSE)
	git archive HEAD | tar -x -C build/tree
	$(BIN)/python -m build --wheel --no-isolation --outdir $(HOUSE) build/tree
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --only-binary :all: -c constraints.txt \
		-d $(HOUSE) "$$(ls $(HOUSE)/disclique-*.whl)[app,geo,stat]"
	$(BIN)/python docs/tools/dependencies.py --bundle $(HOUSE)
	$(BIN)/python -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check --no-index --find-links $(HOUSE) \
		--require-hashes -r $(HOUSE)/requirements.txt
	build/empty/bin/disclique example poets --out build/empty/poets

# The package arrow is only suggested and not everywhere to be had: without it files go as CSV, and the check notes it.
r: $(RUNS)      ## build and check the R package (needs R with jsonlite, knitr, rmarkdown, testthat, and pandoc)
	rm -rf build/r && mkdir -p build/r
	cd build/r && DISCLIQUE=$(CURDIR)/$(BIN)/disclique R CMD build $(CURDIR)/r
	cd build/r && DISCLIQUE=$(CURDIR)/$(BIN)/disclique _R_CHECK_FORCE_SUGGESTS_=false \
		R CMD check --no-manual --no-build-vignettes disclique_*.tar.gz
	! grep -E 'Status:.*(ERROR|WARNING)' build/r/disclique.Rcheck/00check.log

# The lower bounds of pyproject.toml are true as far as this goes. Old libraries warn of newer ones: here warnings pass.
LOWEST := .venv-lowest
LOWEST_PYTHON ?= python3.11
LOWEST_TESTS := $(patsubst %,tests/%.py,attacks/test_attack audits/test_audit cli/test_cli engine/test_clique \
	runs/test_cluster spaces/test_bits engine/test_engine_kernels runs/test_execute door/test_extras records/test_formats \
	records/test_checks masks/test_masks show/test_plots engine/test_product attacks/test_profiles attacks/test_registers \
	show/test_report studies/test_study records/test_tables spaces/test_strings measures/test_utility spaces/test_vectors)
constraints-lowest.txt: pyproject.toml .ci/lowest.py
	$(PYTHON) .ci/lowest.py > $@

lowest: constraints-lowest.txt ## the tests of what depends on libraries, with the lowest versions that are allowed
	test -x $(LOWEST)/bin/python || $(LOWEST_PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-lowest.txt \
		-e '.[app,bench,dask,geo,stat]' hypothesis httpx jsonschema pytest pytest-xdist
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/numba $(LOWEST)/bin/python -m pytest -m 'not slow' -n auto --dist loadfile \
		-o filterwarnings=default --disable-warnings $(LOWEST_TESTS)

clean:          ## remove what make created
	rm -rf $(VENV) $(LOWEST) $(CLKHASH) demo build dist site src/*.egg-info
