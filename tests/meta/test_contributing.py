"""What docs/project/extending.md calls complete: pasted into a copy of the package, it works."""

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
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "type: " in block]
    assert len(code.splitlines()) <= 60
    (place,) = re.findall(r"Save it in the folder of a family, as `([\w/]+\.py)`", page)
    (top / place).write_text(code, encoding="utf-8")
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


MAKE = """
import sys
from pathlib import Path
import numpy as np
from mechdesign.data.about import About
from mechdesign.families.response.scale_response import (ScaleResponse)
mechanism = ScaleResponse.of(5, 2.0, ["never", "seldom", "now and then", "often", "always"])
mechanism.with_about(About(id="scale-2026")).save("scale.json")
truth, rng, hits = np.array([0.5, 0.3, 0.1, 0.1, 0.0]), np.random.default_rng(7), 0
answers = np.repeat(mechanism.labels.names, (truth * 4000).astype(int))
for _ in range(100):
    low, high = mechanism.estimate(mechanism.randomize(answers, rng=rng)).interval(0.95)
    hits = hits + ((low <= truth) & (truth <= high))
print(hits.min())
Path("answers.csv").write_text("answer\\n" + "\\n".join(answers[::4]) + "\\n")
"""


def test_the_mechanism_collects_from_the_shell_and_its_intervals_cover(folder):
    """Of 100 intervals of 95 %, fewer than 87 cover with a chance of 0.0006 if each covers so often."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", MAKE], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert int(done.stdout) >= 87
    assert "privacy: holds (exact); epsilon = 2" in run(folder, "audit", "scale.json")
    run(folder, "randomize", "scale.json", "answers.csv", "-o", "reports.csv", "--seed", "1")
    estimate = run(folder, "estimate", "scale.json", "reports.csv")
    assert estimate.startswith("1000 reports")
    assert "now and then" in estimate
    run(folder, "export", "scale.json", "--to", "python", "-o", "client.py")
    assert "scale-response" in (folder / "client.py").read_text(encoding="utf-8")
