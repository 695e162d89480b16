"""The examples of a docstring pass where its file is the only one that is collected."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import warm

ROOT = Path(__file__).parents[2]
PROGRAM = "import pytest, sys\nsys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', {place!r}]))\n"


@pytest.mark.parametrize("problem", ["marginals/marginal_views", "response/randomized_response"])
def test_examples_of_a_problem_pass_alone(problem: str, tmp_path: Path) -> None:
    script, printed = tmp_path / "alone.py", tmp_path / "printed"
    script.write_text(PROGRAM.format(place=f"mechdesign/families/{problem}.py"), encoding="utf-8")
    code, _ = warm.run_script(script, ROOT, {**os.environ, "PYTHONPATH": str(ROOT)}, printed)
    text = printed.read_text(encoding="utf-8")
    assert code == 0, text
    assert " passed" in text
