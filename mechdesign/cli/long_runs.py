"""Options of commands that run long: processes, cluster, cache; and the bar that follows them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def run_options(added: argparse.ArgumentParser) -> None:
    """Add ``--jobs``, ``--fresh`` and ``--dask``."""
    added.add_argument(
        "--jobs", type=int, metavar="N", help="number of worker processes (default: one per CPU core)"
    )
    added.add_argument(
        "--fresh", action="store_true", help="recompute what an earlier run of the same code has stored"
    )
    dask_option(added)


def dask_option(added: argparse.ArgumentParser) -> None:
    """Add ``--dask``."""
    added.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="run on the Dask cluster whose scheduler has this address, or on 'local' processes",
    )


def run_many(label: str, options: argparse.Namespace, run: Callable[..., list[Any]], *arguments: Any) -> Any:
    """Run many pieces of work as the options say, with a bar, and say how many came from the cache."""
    from mechdesign.work.bars import Watch
    from mechdesign.work.cache import default_cache

    with _cluster(options.dask), Watch(label, is_kept=default_cache() is not None) as watch:
        results = run(*arguments, jobs=options.jobs, fresh=options.fresh, watcher=watch)
    if watch.cached:
        known = f"{watch.cached} of {watch.total} {label}"
        print(
            f"mechdesign: {known} from an earlier run of the same code; --fresh recomputes", file=sys.stderr
        )
    return results


@contextmanager
def _cluster(address: str | None) -> Iterator[None]:
    """Let joblib use a Dask cluster, where one was named."""
    if address is None:
        yield
        return
    import joblib

    from mechdesign.work.cluster import connected

    with connected(address), joblib.parallel_config(backend="dask"):
        yield
