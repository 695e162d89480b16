"""What a light installation does: numpy and attrs only, as on a server that collects, or on a device."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import special

import mechdesign
from mechdesign.core.errors import COMPLETE
from mechdesign.exact.gamma import gammainc, gammaincc

ROOT = Path(mechdesign.__file__).parent.parent

# A finder in front of all others, which knows nothing of what a light installation has not.
BLOCK = f"""
import sys

class Light:
    names = {sorted(COMPLETE | {"cryptography"})!r}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)

sys.meta_path.insert(0, Light())
from mechdesign.cli import main
sys.exit(main(sys.argv[1:]))
"""

SURVEY = """
[survey]
title = "How we work"
epsilon = 2.0
users = 3000

[[questions]]
name = "recommend"
labels = ["no", "yes"]

[[questions]]
name = "team"
labels = ["a", "b", "c"]
"""


def light(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
    command = [sys.executable, "-c", BLOCK, *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def well(folder: Path, *words: str) -> str:
    done = light(folder, *words)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("light")
    (path / "s.toml").write_text(SURVEY, encoding="utf-8")
    rows = "\n".join(["no,a", "yes,b", "yes,c", "yes,a"] * 100)
    (path / "answers.csv").write_text(f"recommend,team\n{rows}\n", encoding="utf-8")
    well(path, "build", "s.toml", "-o", "s.json")
    well(path, "randomize", "s.json", "answers.csv", "-o", "reports.csv")
    return path


def test_a_survey_goes_from_questions_to_results(folder: Path) -> None:
    assert "privacy: holds (exact)" in well(folder, "audit", "s.json")
    direct = well(folder, "estimate", "s.json", "reports.csv")
    well(folder, "count", "s.json", "reports.csv", "-o", "counts.json")
    assert well(folder, "estimate", "s.json", "counts.json") == direct
    assert "recommend" in direct
    well(folder, "export", "s.json", "--to", "html", "-o", "s.html")


def test_results_are_those_of_a_complete_installation(folder: Path) -> None:
    command = [sys.executable, "-m", "mechdesign", "estimate", "s.json", "reports.csv", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    complete = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    ).stdout
    numbers = [text.strip(",[] ") for text in complete.splitlines()]
    for ours, theirs in zip(
        well(folder, "estimate", "s.json", "reports.csv", "--json").splitlines(), numbers, strict=True
    ):
        own = ours.strip(",[] ")
        if own != theirs:
            key, _, value = own.rpartition(" ")
            other, _, expected = theirs.rpartition(" ")
            assert key == other
            assert float(value) == pytest.approx(float(expected), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("words", "package"),
    [
        (("demo",), "scipy"),
        (("solve", "response/zhou2019_survey", "--method", "lp"), "scipy"),
        (("solve", "response/zhou2019_survey", "--method", "statement"), "cvxpy"),
    ],
)
def test_what_is_missing_is_one_line_with_the_command_that_adds_it(
    folder: Path, words: tuple[str, ...], package: str
) -> None:
    done = light(folder, *words)
    lines = (done.stderr or done.stdout).strip().splitlines()
    assert done.returncode in (1, 2)
    assert any(f"{package}: is needed" in line and "pip install mechdesign" in line for line in lines), lines
    assert "Traceback" not in done.stderr


def test_incomplete_gamma_functions_are_those_of_scipy() -> None:
    generator = np.random.default_rng(7)
    shape = 4.0 / np.exp(generator.uniform(np.log(0.02), np.log(20.0), 3000)) ** 2
    x = np.maximum(shape + generator.uniform(-6.0, 8.0, 3000) * np.sqrt(shape), 0.0)
    for own, other in ((gammainc, special.gammainc), (gammaincc, special.gammaincc)):
        np.testing.assert_allclose(own(shape, x), other(shape, x), rtol=1e-12, atol=1e-14)
