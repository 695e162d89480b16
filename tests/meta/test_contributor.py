"""What a contributor is given: pages that stay short, and commands that exist wherever they are named."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIGURATION = (".pre-commit-config.yaml", ".github/workflows/tests.yml", ".github/pull_request_template.md")
PAGES = ("README.md", "CONTRIBUTING.md", "docs/project/extending.md", *CONFIGURATION)
DRAWING = re.compile(r"^```text\n(.*?)^```", re.DOTALL | re.MULTILINE)


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_first_page_and_the_script_stay_short():
    assert len(text("CONTRIBUTING.md").split()) <= 1200
    assert len(text("run.py").splitlines()) <= 100


def test_the_drawings_are_those_of_the_architecture():
    drawings = DRAWING.findall(text("CONTRIBUTING.md"))
    assert len(drawings) == 2
    assert set(drawings) <= set(DRAWING.findall(text("docs/explanation/architecture.md")))


@pytest.mark.parametrize("page", PAGES)
def test_tasks_and_tests_that_are_named_exist(page):
    tasks = set(re.findall(r'^    "(\w+)": \(', text("run.py"), re.MULTILINE))
    assert "demo" in tasks
    assert set(re.findall(r"\bpython3? run\.py (\w+)", text(page))) <= tasks
    named = re.findall(r"(?<![\w/])(?:tests|\.ci)/[\w/]+(?:\.py)?", text(page))
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_makefile_and_script_have_the_same_tasks():
    tasks = set(re.findall(r'^    "(\w+)": \(', text("run.py"), re.MULTILINE)) - {"python"}
    (targets,) = re.findall(r"^([a-z ]+):\n\t@\$\(PYTHON\) run\.py \$@", text("Makefile"), re.MULTILINE)
    assert set(targets.split()) == tasks


def test_groups_and_tasks_name_extras_that_exist():
    project = tomllib.loads(text("pyproject.toml"))
    extras = set(project["project"]["optional-dependencies"])
    groups = project["dependency-groups"]
    assert set(project["tool"]["uv"]["default-groups"]) == {"dev", "docs"} == set(groups)
    for name, (line,) in groups.items():
        assert line == f"mechdesign[{name}]"
        assert name in extras
    for names in re.findall(r'^    "\w+": \("([\w,]+)"', text("run.py"), re.MULTILINE):
        assert set(names.split(",")) <= extras


def test_every_supported_python_is_tried():
    """The versions that the matrix script knows are those of the workflow."""
    (supported,) = re.findall(r"^SUPPORTED = \((.*)\)$", text(".ci/matrix.py"), re.MULTILINE)
    (tried,) = re.findall(
        r"^        python: \[(.*)\]\n        packages", text(".github/workflows/tests.yml"), re.MULTILINE
    )
    assert tried == supported
