"""Compare what README and documentation show with what is printed, or correct them.

    python -m tests.documented_outputs [--update] [--claims] [PAGE ...]

Without pages: all of them. Of the page of problems its table, too, and of every page the tables of claims;
with --claims these only. What is compared, and how, is said in ``tests/support/documents.py``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

from mechdesign.papers.shown.blocks import BLOCK, OVERVIEW, with_tables
from tests.support.documents import outputs, pages, rewritten
from tests.support.registry_table import PAGE, table, with_table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.documented_outputs", description=__doc__)
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE")
    parser.add_argument("--update", action="store_true", help="write what is printed into the pages")
    parser.add_argument("--claims", action="store_true", help="only the tables of claims, which is quick")
    options = parser.parse_args()
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as kept:
        return _compared(options, Path(kept))


def _compared(options: argparse.Namespace, kept: Path) -> int:
    wrong = 0
    for page in options.pages or pages():
        wrong += _claims(page, options.update)
        if options.claims:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = list(outputs(page.resolve(), Path(folder), kept / "checks"))
        differing = [shown for shown in found if not (shown.is_current if options.update else shown.is_right)]
        wrong += len(differing)
        print(f"{page}: {len(found)} outputs, {len(differing)} differ")
        for shown in differing:
            print(f"  line {shown.block.start}")
        if options.update and differing:
            page.write_text(rewritten(page.read_text(encoding="utf-8"), found), encoding="utf-8")
        if page.resolve() == PAGE:
            text = page.read_text(encoding="utf-8")
            current = with_table(text, table())
            wrong += current != text
            print(f"{page}: the table of problems {'differs' if current != text else 'is true'}")
            if options.update:
                page.write_text(current, encoding="utf-8")
    return 1 if wrong and not options.update else 0


def _claims(page: Path, update: bool) -> int:
    """Compare the tables of claims of a page, or write them; return 1 where one differs."""
    text = page.read_text(encoding="utf-8")
    tables = len(BLOCK.findall(text)) + len(OVERVIEW.findall(text))
    if not tables:
        return 0
    current = with_tables(text)
    print(f"{page}: {tables} tables of claims {'differ' if current != text else 'are true'}")
    if update:
        page.write_text(current, encoding="utf-8")
    return int(current != text)


if __name__ == "__main__":
    sys.exit(main())
