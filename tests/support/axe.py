"""The script of axe-core where it is installed: in the package axe-core-python, or a folder of npm."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGES = ("axe_core_python",)
REASON = "no axe-core here (pip install axe-core-python, or npm install axe-core; or name it in AXE_CORE)"

STANDARD = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
"""The rules: WCAG 2.2 AA, and the best practices of the tool."""


def axe_script() -> Path | None:
    """Return the path of axe-core; None where it is not installed."""
    folders = [ROOT / "node_modules" / "axe-core"]
    for name in PACKAGES:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            folders += map(Path, spec.submodule_search_locations)
    named = os.environ.get("AXE_CORE")
    found = [Path(named)] if named else []
    found += [path for folder in folders if folder.is_dir() for path in folder.rglob("axe.min.js")]
    return next((path for path in found if path.is_file()), None)


def violations(browser: Any, script: Path, undecided: bool = True) -> list[str]:
    """Return what axe-core finds on the page of a browser, and what it cannot decide about contrast.

    It cannot decide about texts in pictures and under what scrolls; without ``undecided`` these are left out.
    """
    if browser.execute_script("return typeof axe === 'undefined'"):  # once for all states of a page
        browser.execute_script(script.read_text(encoding="utf-8"))
    found = browser.execute_async_script(
        "const [tags, done] = arguments;"
        "const known = new Set(axe.getRules().flatMap((rule) => rule.tags));"  # older ones lack some
        "const runOnly = tags.filter((tag) => known.has(tag));"
        "axe.run(document, { runOnly, resultTypes: ['violations', 'incomplete'] })"
        ".then(done, (error) => done({ error: String(error) }));",
        STANDARD,
    )
    assert "error" not in found, found
    assert len(found["passes"]) > 15, "axe-core ran on an empty page"
    return [
        f"{rule['id']}: {node['html'][:120]}"
        for kind in ("violations", "incomplete")[: 1 + undecided]
        for rule in found[kind]
        for node in rule["nodes"]
    ]
