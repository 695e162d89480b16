"""The built wheel, installed outside the checkout: every model is there, one a problem is checked."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import mechdesign as md
from mechdesign.report.demo.running import DEMONSTRATIONS

ROOT = Path(__file__).parents[2]


def run(*command: str, cwd: Path, path: Path | None = None) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COV_"))}
    environment |= {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """Build the source archive, and the wheel from it: so the archive is complete, too."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT), cwd=folder)
    return folder


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory) -> Path:
    """Install the wheel, without its dependencies, into a folder of its own."""
    folder = tmp_path_factory.mktemp("site")
    (wheel,) = built.glob("*.whl")
    run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-compile",
        "--target",
        str(folder),
        str(wheel),
        cwd=folder,
    )
    return folder


def test_the_wheel_holds_the_package_the_models_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {
        name.removeprefix("mechdesign/models/") for name in names if name.startswith("mechdesign/models/")
    }
    wanted = {
        path.relative_to(ROOT / "models").as_posix()
        for path in (ROOT / "models").rglob("*")
        if path.is_file()
    }
    assert shipped == wanted
    assert "mechdesign/py.typed" in names
    assert any(name.endswith("LICENSE") for name in names)
    assert {name.split("/")[0] for name in names} == {"mechdesign", f"mechdesign-{md.__version__}.dist-info"}
    files = (
        path
        for path in (ROOT / "mechdesign").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    assert {path.relative_to(ROOT).as_posix() for path in files} <= names


def test_the_source_archive_holds_what_is_needed_to_work_on_it(built):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    for wanted in (
        "pyproject.toml",
        "run.py",
        "README.md",
        "LICENSE",
        "conftest.py",
        "tests/conftest.py",
        "models/references.toml",
    ):
        assert wanted in names
    assert not [name for name in names if "__pycache__" in name or name.startswith((".git/", "docs/_build"))]


QUICK = {
    "auction": "auction/printed_bound",
    "contract": "contract/some_buyers",
    "deployed": "deployed/apple_cms",
    "location": "location/planar_laplace",
    "mean": "mean/rare_trait_delta",
    "survey": "survey/fake_data",
    "workload": "workload/likert_five",
}
"""Models of families whose shortest model takes longer to check."""


def one_model_a_family() -> list[str]:
    """Return for each family a quick model, or the one of the shortest file: all are checked elsewhere.

    Whether every file of the package is in the wheel is another test: here they are found where they are.
    """
    chosen = dict(QUICK)
    for slug in sorted(md.models(), key=lambda slug: (ROOT / "models" / f"{slug}.toml").stat().st_size):
        chosen.setdefault(slug.partition("/")[0], slug)
    return sorted(chosen.values())


def test_the_installed_wheel_has_every_model_and_checks_some_outside_the_checkout(installed, tmp_path):
    where = run(
        sys.executable, "-c", "import mechdesign; print(mechdesign.__file__)", cwd=tmp_path, path=installed
    )
    assert where.startswith(str(installed)), "the checkout was imported"
    script = installed / "bin" / "mechdesign"
    listed = run(sys.executable, str(script), "list", cwd=tmp_path, path=installed)
    assert all(slug in listed for slug in md.models())
    slugs = one_model_a_family()
    text = run(sys.executable, str(script), "check", *slugs, cwd=tmp_path, path=installed)
    assert "every verdict as recorded" in text
    assert f"{len(slugs)} models" in text
    assert list(tmp_path.iterdir()) == []


def test_the_installed_wheel_has_what_its_demonstration_needs(installed, tmp_path):
    script = installed / "bin" / "mechdesign"
    text = run(sys.executable, str(script), "demo", cwd=tmp_path, path=installed)
    assert text.count("yes (") == len(DEMONSTRATIONS)
    assert (tmp_path / "mechdesign-demo" / "index.html").is_file()
