"""``python -m benchmarks [NAME ...] [--all] [--quick]``: one table of ratios, or the named benchmarks."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import platform
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy
import scipy

from benchmarks.rivals import RIVALS, version
from mechdesign.core.errors import suggestion

FIRST = "peers"
"""What is run where nothing is named."""


def find_benchmarks() -> dict[str, ModuleType]:
    """Return the modules next to this one that have a TITLE and a function run, by name."""
    found = {}
    for info in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not info.name.startswith("_"):
            module = importlib.import_module(f"benchmarks.{info.name}")
            if hasattr(module, "TITLE") and hasattr(module, "run"):
                found[info.name] = module
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the named benchmarks, all of them, or the one table of ratios to peers and limits."""
    benchmarks = find_benchmarks()
    listing = "\n".join(f"  {name:<14} {module.TITLE}" for name, module in benchmarks.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Compare speed and size with other libraries.",
        epilog=f"benchmarks:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which benchmarks to run (default: {FIRST})"
    )
    parser.add_argument("--all", action="store_true", help="run all of them")
    parser.add_argument("--quick", action="store_true", help="smaller problems, for a first look")
    parser.add_argument(
        "--only", action="append", default=[], metavar="PROBLEM", help="of 'defaults': this problem alone"
    )
    options = parser.parse_args(arguments)
    if options.only and options.names != ["defaults"]:
        parser.error("--only is an option of the benchmark 'defaults'; name it alone")
    for name in options.names:
        if name not in benchmarks:
            parser.error(f"no benchmark '{name}'; {suggestion(name, benchmarks)}")

    print(
        f"Python {platform.python_version()}, numpy {numpy.__version__}, scipy {scipy.__version__}, "
        f"{platform.machine()}, {os.cpu_count()} processors"
    )
    print("rivals: " + ", ".join(f"{name} {version(name)}" for name in RIVALS))
    for name in options.names or (benchmarks if options.all else [FIRST]):
        print(f"\n{benchmarks[name].TITLE}\n{'=' * len(benchmarks[name].TITLE)}", flush=True)
        start = time.perf_counter()
        benchmarks[name].run(options.quick, **({"only": options.only} if options.only else {}))
        print(f"[{name}: {time.perf_counter() - start:.0f} s]", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
