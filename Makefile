# `make help` lists what there is. Everything is installed into $(VENV); nothing else on the machine is changed.

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

# On a machine whose NVIDIA driver answers, CuPy for the CUDA version of that driver comes with the package.
CUDA := $(shell nvidia-smi 2>/dev/null | sed -n 's/.*CUDA[A-Za-z ]*Version *: *\([0-9][0-9]*\).*/\1/p' | head -n 1)
GPU_EXTRA := $(if $(CUDA),$(shell [ $(CUDA) -ge 13 ] && echo ,cuda13 || { [ $(CUDA) -ge 12 ] && echo ,cuda12; }))

PYTEST := $(BIN)/python -m pytest
QUICK = $(PYTEST) -n 2 -m 'not slow' $(PYTEST_ARGS)
SLOW = $(PYTEST) -n 2 -m slow $(PYTEST_ARGS)

.PHONY: help demo test test-all lit sanitize soak lint format bench clean

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'
	@echo
	@echo "  PYTHON=$(PYTHON) makes $(VENV); PYTEST_ARGS='-k blur' goes to pytest."

demo: $(VENV)/.with-examples ## Set up if needed, then find the corners in a photograph: GPU if there is one, else CPU
	$(BIN)/python examples/harris.py

test: $(VENV)/.with-test ## Set up if needed, then run the quick tests: about 4 minutes on 2 cores
	$(QUICK)

# Both halves run, and either may fail. Of one that PYTEST_ARGS leaves no test (5) the other decides.
test-all: $(VENV)/.with-test-all ## Run the quick tests, then the slow ones: all there are
	@quick=0; $(QUICK) || quick=$$?; \
	slow=0; $(SLOW) || slow=$$?; \
	case "$$quick $$slow" in '0 0' $(if $(PYTEST_ARGS),| '0 5' | '5 0')) ;; *) exit 1 ;; esac

lit: $(VENV)/.with-test ## Run only the tests on IR text
	$(BIN)/lit -v lit_tests

# First by itself: under compute-sanitizer the CUDA compiler does not report registers, and what it made is cached.
GPU_TESTS := -m gpu tests/examples tests/properties tests/execution
SANITIZER := compute-sanitizer --print-limit 5 --error-exitcode 9 --tool

sanitize: $(VENV)/.with-test ## On a GPU: all shapes of kernels against the definitions, then under memcheck and racecheck
	$(PYTEST) $(GPU_TESTS) $(PYTEST_ARGS)
	$(SANITIZER) memcheck $(PYTEST) $(GPU_TESTS) $(PYTEST_ARGS)
	$(SANITIZER) racecheck $(PYTEST) $(GPU_TESTS) $(PYTEST_ARGS)

# KINDS='calls names' chooses kinds of programs (all there are: tests/soak.py --help); failures are printed as small tests.
KINDS ?=
MINUTES ?= 60
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

soak: $(VENV)/.with-test ## Run random programs of all KINDS for MINUTES, in JOBS processes; counts go into soak.json
	$(BIN)/python tests/soak.py $(KINDS) --minutes $(MINUTES) --jobs $(JOBS) --json soak.json

lint: $(VENV)/.with-dev ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.with-dev ## Format the code
	$(BIN)/ruff format .

bench: $(VENV)/.with-benchmarks ## Measure every example on this machine, and plot it
	$(BIN)/python benchmarks/run.py --plot

clean: ## Remove the environment and what tools leave behind
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache

# One stamp per set of extras, so that the demo does not wait for the tests' large wheels.
$(VENV)/.with-%: pyproject.toml | $(VENV)/bin/python
	$(PIP) install --quiet --editable '.[$*$(GPU_EXTRA)]'
	@touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("tilefuse needs Python 3.11 or newer; set PYTHON=" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
