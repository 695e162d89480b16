# Shorthand for run.py, which makes the environment and does the work.
PYTHON ?= python3

.PHONY: help demo check test cover lint docs bench release clean
help:
	@$(PYTHON) run.py --help

demo check test cover lint docs bench release:
	@$(PYTHON) run.py $@

clean:
	rm -rf .venv .venv-bench mechdesign-demo build dist docs/_build docs/reference/generated htmlcov .coverage \
		.coverage.* \
		.hypothesis .mypy_cache .pytest_cache .ruff_cache
