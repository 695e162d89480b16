"""The method that docs/project/extending.md calls complete: pasted into a copy of the package, it works."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mechdesign
from mechdesign.catalog.shipped import models_folder

ROOT = Path(__file__).parents[2]
SLUGS = {
    "response/zhou2019_model1": None,
    "response/survey_skewed": None,
    "response/information": None,
    "response/zhou2019_survey": None,
    "response/metric_line": "plain privacy",
    "response/million_symbols": "1000000 answers are too many",
}
OPTIMAL_THERE = ("response/zhou2019_model1", "response/survey_skewed")
"""Here it happens to find the optimum, which it does not claim."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Return a folder with a copy of package and models, and the method where the page says it goes."""
    top = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        Path(mechdesign.__file__).parent,
        top / "mechdesign",
        ignore=shutil.ignore_patterns("models"),  # compiled files are as good there: nobody compiles twice
    )
    shutil.copytree(models_folder(), top / "models")
    page = (ROOT / "docs" / "project" / "extending.md").read_text(encoding="utf-8")
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "METHOD = " in block]
    (problem,) = re.findall(r"from (mechdesign\.families\.[\w.]+) import RandomizedResponse", code)
    (name,) = re.findall(r"Save it .* as `(\w+\.py)`", page)
    (top / Path(*problem.split(".")).parent / name).write_text(code, encoding="utf-8")
    return top


def run(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-W", "error", "-m", "mechdesign", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_it_is_listed_and_solves(folder):
    assert re.search(
        r"^randomized-response +plain +heuristic ", run(folder, "list", "--problems"), re.MULTILINE
    )
    text = run(folder, "solve", "response/survey_skewed", "--method", "plain")
    assert "randomized-response by plain (heuristic): feasible, value 0." in text
    assert "privacy: holds (exact)" in text
    assert "optimality: not claimed by this method" in text


def test_check_passes_and_judges_it_by_the_bounds_of_the_others(folder):
    entries = {entry["model"]: entry for entry in json.loads(run(folder, "check", *SLUGS, "--json"))}
    for slug, reason in SLUGS.items():
        entry = entries[slug]
        assert entry["agree"]
        assert entry["problems"] == []
        runs = {found["method"]: found for found in entry["runs"]}
        if reason is not None:
            assert reason in entry["skipped"]["plain"]
            continue
        plain = runs["plain"]
        assert plain["claims_optimality"] is False
        assert all(certificate["holds"] for certificate in plain["certificates"])
        assert plain["gap_to_best_bound"] == pytest.approx(entry["best_bound"] - plain["value"])
        assert plain["value"] <= entry["best_bound"]
        assert (plain["gap_to_best_bound"] < 1e-9) == (slug in OPTIMAL_THERE)
