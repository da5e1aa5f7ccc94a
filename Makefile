# On a machine with only python3 and make, every target sets itself up in .venv.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test test-slow test-gpu lint format bench docs notebook pictures screenshots clean

demo: $(READY)
	$(BIN)/rootcausal demo

test: $(READY)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

test-slow: $(READY) .venv-flower/.ready
	$(BIN)/python -m pytest -q -m slow
	.venv-flower/bin/python -m pytest -q -m "not gpu" tests/test_federated_flower.py tests/test_help.py tests/test_cli.py

# In an environment of its own: Flower pins older versions of what we both use, of the command line's typer too.
.venv-flower/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-flower
	.venv-flower/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-flower/bin/python -m pip install --quiet --editable . --group dev --group flower
	touch $@

# Where a GPU is: uses the Python at hand, whose CuPy fits its driver.
test-gpu:
	PYTHONPATH=src $(PYTHON) -m pytest -q -m "gpu and not slow" tests/test_tables.py tests/test_gpu.py tests/test_nonlinear_places.py tests/test_reference_cases.py tests/test_scales.py tests/test_population.py tests/test_discrete_order.py tests/test_known_order.py tests/test_adjusting.py tests/test_exogenous.py tests/test_weights.py tests/test_detection_limits.py tests/test_reliability.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# In an environment of its own: the peer pins older versions of what we both use.
bench: .venv-bench/.ready
	.venv-bench/bin/python benchmarks/cpu.py

.venv-bench/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-bench/bin/python -m pip install --quiet --editable . --group bench
	touch $@

# The guide as a site in build/site; a warning ends the build.
docs: $(READY)
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site

# Runs every cell of the example notebook, and keeps the outputs in it.
notebook: $(READY)
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/python examples/run_notebook.py

# The idea, the figures of the gallery, and the graphs of "What you know" (this downloads the Framingham data).
pictures: $(READY)
	$(BIN)/python docs/gallery_pictures.py
	$(BIN)/python docs/knowledge_pictures.py
	$(BIN)/python docs/idea_picture.py

screenshots: $(READY)
	$(BIN)/python -m pip install --quiet pillow
	$(BIN)/python docs/screenshots.py

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rootcausal needs Python 3.11 or newer; try: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@

clean:
	rm -rf .venv .venv-bench .venv-flower build dist
