"""The examples of a docstring pass where its file is the only one that is collected."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OPTIONS = ("-q", "-p", "no:cacheprovider")


@pytest.mark.parametrize("problem", ["marginals/marginal_views", "response/randomized_response"])
def test_examples_of_a_problem_pass_alone(problem: str) -> None:
    place = f"mechdesign/problems/{problem}/problem.py"
    command = [sys.executable, "-m", "pytest", *OPTIONS, place]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
