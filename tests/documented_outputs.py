"""Compare what README and documentation show with what is printed, or correct them.

    python -m tests.documented_outputs [--update] [PAGE ...]

Without pages: all of them. Of the page of problems its table, too. What is compared, and how, is said
in ``tests/support/documents.py``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

from tests.support.documents import outputs, pages, rewritten
from tests.support.registry_table import PAGE, table, with_table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.documented_outputs", description=__doc__)
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE")
    parser.add_argument("--update", action="store_true", help="write what is printed into the pages")
    options = parser.parse_args()
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as kept:
        return _compared(options, Path(kept))


def _compared(options: argparse.Namespace, kept: Path) -> int:
    wrong = 0
    for page in options.pages or pages():
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


if __name__ == "__main__":
    sys.exit(main())
