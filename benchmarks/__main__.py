"""``python -m benchmarks [NAME ...] [--quick]``: run benchmarks and print their tables."""

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


def find_benchmarks() -> dict[str, ModuleType]:
    """Return the modules beside this one that have a TITLE and a function run, by name."""
    found = {}
    for info in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not info.name.startswith("_"):
            module = importlib.import_module(f"benchmarks.{info.name}")
            if hasattr(module, "TITLE") and hasattr(module, "run"):
                found[info.name] = module
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the named benchmarks, or all of them."""
    benchmarks = find_benchmarks()
    listing = "\n".join(f"  {name:<14} {module.TITLE}" for name, module in benchmarks.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Compare speed and size with other libraries.",
        epilog=f"benchmarks:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which benchmarks to run (default: all)")
    parser.add_argument("--quick", action="store_true", help="smaller problems, for a first look")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in benchmarks:
            parser.error(f"no benchmark '{name}'; {suggestion(name, benchmarks)}")

    print(
        f"Python {platform.python_version()}, numpy {numpy.__version__}, scipy {scipy.__version__}, "
        f"{platform.machine()}, {os.cpu_count()} processors"
    )
    print("rivals: " + ", ".join(f"{name} {version(name)}" for name in RIVALS))
    for name in options.names or benchmarks:
        print(f"\n{benchmarks[name].TITLE}\n{'=' * len(benchmarks[name].TITLE)}", flush=True)
        start = time.perf_counter()
        benchmarks[name].run(options.quick)
        print(f"[{name}: {time.perf_counter() - start:.0f} s]", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
