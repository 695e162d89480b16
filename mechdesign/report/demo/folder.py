"""The folder of the demonstration: mechanism files, tables, pictures, one page, and what was found."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mechdesign.core.errors import DataError, MissingPackageError, ParameterError
from mechdesign.core.text import counted
from mechdesign.report.demo.page import demo_page
from mechdesign.report.demo.running import Demonstrated
from mechdesign.report.demo.text import demo_json
from mechdesign.report.page.render import require_packages
from mechdesign.show.draw import save
from mechdesign.work.files import read_text, require_name

FORMAT = "mechdesign-demo"
SUMMARY, PAGE = "demo.json", "index.html"
MOST = 1 << 20
"""Bytes of a summary that are read, to see whether a folder is one of ours."""


def require_demo_folder(folder: str) -> None:
    """Raise ParameterError where the folder is a file, or holds anything but an earlier demonstration."""
    require_name(folder, ParameterError)
    path = Path(folder)
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"-o {folder}", "its parent folder does not exist", "choose another path")
    if not os.path.lexists(path):
        return
    if not path.is_dir():
        raise ParameterError(f"-o {folder}", "is a file, not a folder", "choose another path")
    if any(path.iterdir()) and not _is_ours(path):
        raise ParameterError(
            f"-o {folder}", "folder exists and is not an earlier demonstration", "choose another path"
        )


def _is_ours(path: Path) -> bool:
    try:
        found: Any = json.loads(read_text(path / SUMMARY, MOST, DataError))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("format") == FORMAT


def finish(results: Sequence[Demonstrated], folder: Path, name: str, version: str) -> list[str]:
    """Write pictures, page and summary next to the files of the results; return what is in the folder.

    Pictures and page need ``mechdesign[report]``; without it they are left out.

    Parameters
    ----------
    results : sequence of Demonstrated
    folder : Path
        Where the files are written.
    name : str
        What the folder is called in the commands of the page.
    version : str
        Of the toolkit.
    """
    pictures = 0
    draws = can_draw()
    if draws:
        for result in results:
            for number, figure in enumerate(result.figures, 1):
                save(figure, folder / f"{Path(result.file).stem}-{number}.svg")
                pictures += 1
        (folder / PAGE).write_text(demo_page(results, name, version), encoding="utf-8")
    summary = {"format": FORMAT, "version": version, "problems": demo_json(results)}
    (folder / SUMMARY).write_text(json.dumps(summary, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    tables = sum(len(result.written) for result in results)
    files = sum(result.mechanism is not None for result in results)
    contents = [counted(files, "mechanism file"), counted(tables, "table")]
    return [*contents, *([counted(pictures, "picture"), PAGE] if draws else []), SUMMARY]


def can_draw() -> bool:
    """Whether the packages for pictures and pages are installed."""
    try:
        require_packages()
    except MissingPackageError:
        return False
    return True
