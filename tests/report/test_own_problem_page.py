"""What docs/project/add_a_problem.md calls complete: short, and known everywhere once it is installed.

The blocks of the page are run by tests/meta/test_documented_outputs.py; here are what it says in words.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.support.documents import FILE, ROOT, install

PAGE = (ROOT / "docs" / "project" / "add_a_problem.md").read_text(encoding="utf-8")
LANGUAGES = ("python", "toml")


def files() -> dict[str, str]:
    """Return the files of the page by their names."""
    result = {}
    for language, body in re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        name = FILE.match(body.partition("\n")[0])
        if language in LANGUAGES and name:
            result[name[1]] = body
    return result


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a folder with the distribution of the page, as pip would leave it."""
    folder = tmp_path_factory.mktemp("site")
    for name, body in files().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(body, encoding="utf-8")
    (folder / "shelves" / "division.py").write_text(files()["shelf.py"], encoding="utf-8")
    install(folder / "pyproject.toml")
    return folder


def python(site, code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(site)])}
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(
        command, cwd=site.parent, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout


def test_a_problem_with_a_statement_only_is_20_lines():
    code = [line for line in files()["shelf.py"].splitlines()[1:] if line.strip()]
    assert len(code) <= 20
    assert "def " in files()["shelf.py"]
    assert files()["shelf.py"].count("def ") == 1, "the statement"


def test_an_installed_class_is_at_the_front_and_holds(site):
    code = """
import mechdesign as md
print(md.Shelf.__module__, md.check_problem(md.Shelf(sales=[3, 1], least=0.2)).holds)
print("Shelf" in dir(md), md.load_model("site/corner.toml").problem == md.Shelf(sales=[5, 3, 1], least=0.1))
""".replace("site/", f"{site.name}/")
    assert python(site, code) == "shelves.division True\nTrue True\n"


def test_a_package_without_problems_is_named(site):
    (site / "shelves" / "__init__.py").write_text("PROBLEM = ()\n", encoding="utf-8")
    code = """
import mechdesign as md
try:
    md.families.problem_classes()
except md.ModelFileError as error:
    print(error)
"""
    assert "shelves has no PROBLEMS" in python(site, "import mechdesign.families" + code)
    (site / "shelves" / "__init__.py").write_text("PROBLEMS = (3,)\n", encoding="utf-8")
    assert "3 in PROBLEMS of shelves is no class of problems" in python(
        site, "import mechdesign.families" + code
    )
    (site / "shelves" / "__init__.py").write_text("raise ValueError('no')\n", encoding="utf-8")
    assert "shelves cannot be imported (no)" in python(site, "import mechdesign.families" + code)
