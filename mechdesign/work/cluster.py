"""Independent pieces of work on a Dask cluster, their results merged in a tree on its workers.

Dask does what it was made for: it hands out pieces, hands them out again when a worker dies, and gives up a
piece that kills its workers again and again. Nothing of it is imported before a cluster is asked for.
"""

from __future__ import annotations

import importlib
import logging
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from mechdesign.core.errors import MechDesignError, MethodError, ParameterError
from mechdesign.work.parallel import Silent, Watcher, interrupts_held, worker_count

LOCAL = "local"
"""The address that stands for processes on this machine."""
ANSWER = 3.0
"""Seconds in which a scheduler has to answer."""
WORKERS = 30.0
"""Seconds in which a cluster has to have a worker."""
PAYS, PAYS_TO_COUNT = 2e7, 1e8
"""Rows for each process from which starting them takes less time than they save: to randomize, and to count.

Of one question in CSV: two seconds to start and end them, 80 and 40 nanoseconds a row in one process.
"""
ENVIRONMENT = "distributed.nanny.pre-spawn-environ"
"""Where Dask's configuration has the variables of the environment of workers."""
FAN = 8
"""Results that are merged at a time."""


@contextmanager
def connected(address: str, jobs: int | None = None, option: str = "--dask") -> Iterator[Any]:
    """Give a client of a Dask cluster.

    Parameters
    ----------
    address : str
        Of its scheduler, such as ``tcp://host:8786``; or ``local``, for processes on this machine.
    jobs : int, optional
        How many of these; by default one per CPU core.
    option : str
        How the command names the address.

    Raises
    ------
    ParameterError
        At once, when distributed is not installed, or no scheduler answers.
    """
    try:
        import distributed as module
    except ImportError:
        raise ParameterError(option, "needs distributed", "pip install 'mechdesign[dask]'") from None
    distributed: Any = module
    place = f"{option} {address}"
    for name in ("distributed", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what went wrong is said in one line
    if address == LOCAL:
        settings: dict[str, Any] = {
            "n_workers": worker_count(jobs),
            "threads_per_worker": 1,
            "dashboard_address": "127.0.0.1:0",  # its own port: 8787 is taken where another cluster runs
            "scheduler_kwargs": {"dashboard": False},
            "silence_logs": logging.CRITICAL,
        }
        with _local(distributed, settings, place) as cluster, distributed.Client(cluster) as client:
            yield client
        return
    _require_answer(address, place)
    try:
        client = distributed.Client(address, timeout=ANSWER)
    except (OSError, ValueError, TypeError, ImportError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise _nobody(place, reason) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKERS)
        except TimeoutError:
            raise ParameterError(place, "the cluster has no workers", "start some") from None
        yield client


def does_not_pay(address: str, rows: float, jobs: int | None = None, least: float = PAYS) -> str:
    """Return that processes on this machine are not worth starting for so few rows; empty where they are.

    Examples
    --------
    >>> does_not_pay("tcp://host:8786", 10.0), does_not_pay(LOCAL, 1e9, jobs=2)
    ('', '')
    """
    workers = worker_count(jobs)
    if address != LOCAL or rows >= least * workers:
        return ""
    processes = f"{workers} worker process" + ("" if workers == 1 else "es")
    return (
        f"--dask {LOCAL}: for about {rows:.1g} rows, starting {processes} takes longer than it saves "
        f"(it pays from {least:.0e} rows for each); omit --dask, or start workers once and give their address"
    ).replace("e+0", "e")


def _local(distributed: Any, settings: dict[str, Any], place: str) -> Any:
    """Return a cluster of processes on this machine; where one of them ends at once, that is one line.

    Dask lets its workers return memory to the system at once (``MALLOC_TRIM_THRESHOLD_``), and with that they
    get new pages for each array: reading takes twice as long. These here live as long as a command.
    """
    dask: Any = importlib.import_module("dask")
    before = dask.config.get(ENVIRONMENT, {})
    variables = {name: value for name, value in before.items() if not name.startswith("MALLOC_")}
    try:
        with interrupts_held(), dask.config.set({ENVIRONMENT: variables}):
            return distributed.LocalCluster(**settings)
    except Exception as error:  # what it raises cannot be listed: of its own, of asyncio, of the system
        lines = str(error).splitlines() or [type(error).__name__]
        what = f"the processes on this machine did not start ({lines[0]})"
        raise MethodError(place, what, "run it again, or without --dask") from None


def _require_answer(address: str, place: str) -> None:
    """Raise ParameterError at once when nobody listens: Dask's client would go on trying."""
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if parts.scheme not in ("tcp", "tls"):
        return
    try:
        port = parts.port
    except ValueError:
        port = None
    if not parts.hostname or port is None:
        raise ParameterError(
            place, "is not an address of a scheduler", "give one such as tcp://host:8786, or local"
        )
    try:
        socket.create_connection((parts.hostname, port), timeout=ANSWER).close()
    except OSError as error:
        raise _nobody(place, error.strerror or str(error)) from None


def _nobody(place: str, reason: str) -> ParameterError:
    return ParameterError(place, f"no scheduler answers there ({reason})", "check the address")


def run_pieces(
    client: Any,
    function: Callable[..., Any],
    labels: Sequence[str],
    arguments: Sequence[tuple[Any, ...]],
    shared: Any,
    watcher: Watcher | None = None,
) -> list[Any]:
    """Return the results of ``function(shared, *arguments)`` of all pieces, in their order.

    Parameters
    ----------
    client : Client
    function : callable
        Of the top level of a module; a piece whose worker dies is run again.
    labels : sequence of str
        What the pieces are called in errors.
    arguments : sequence of tuple
    shared : object
        What all pieces need; it is sent to each worker once.
    watcher : Watcher, optional
    """
    with _pieces(client, function, labels, arguments, shared, watcher) as (work, done, _, _):
        done()
        return [future.result() for future in work]


def merge_pieces(
    client: Any,
    function: Callable[..., Any],
    merge: Callable[..., Any],
    labels: Sequence[str],
    arguments: Sequence[tuple[Any, ...]],
    shared: Any,
    watcher: Watcher | None = None,
) -> Any:
    """Return the merged results of all pieces: merged in a tree on the workers, in the order of the pieces.

    Parameters are those of :func:`run_pieces`, and ``merge(shared, *results)``.
    """
    with _pieces(client, function, labels, arguments, shared, watcher) as (work, done, common, name):
        level, number = list(work), 0
        while len(level) > 1:
            groups = [level[start : start + FAN] for start in range(0, len(level), FAN)]
            level = [
                client.submit(merge, common, *group, key=f"merge-{name}-{number}-{place}", pure=False)
                for place, group in enumerate(groups)
            ]
            number += 1
        done()
        return level[0].result()


@contextmanager
def _pieces(
    client: Any,
    function: Callable[..., Any],
    labels: Sequence[str],
    arguments: Sequence[tuple[Any, ...]],
    shared: Any,
    watcher: Watcher | None,
) -> Iterator[tuple[list[Any], Callable[[], None], Any, str]]:
    """Hand out pieces; give them, a function that waits for all, what they share, and the name of the run."""
    name, follow = secrets.token_hex(8), watcher if watcher is not None else Silent()
    follow.begin(len(labels), 0)
    common = client.submit(_same, shared, key=f"shared-{name}", pure=False)
    work = [
        client.submit(function, common, *own, key=f"piece-{name}-{number}", pure=False)
        for number, own in enumerate(arguments)
    ]
    called = {f"piece-{name}-{number}": label for number, label in enumerate(labels)}

    def done() -> None:
        import distributed as module

        distributed: Any = module
        for future in distributed.as_completed(list(work)):
            if future.status != "finished":
                future.result()
            follow.finished(called[future.key])

    try:
        yield work, done, common, name
    except BaseException as error:
        client.cancel([*work, common])  # what still waits is not begun
        if isinstance(error, MechDesignError) or not isinstance(error, Exception):
            raise
        raise _explained(error, called) from error


def _same(thing: Any) -> Any:
    return thing


def _explained(error: Exception, called: dict[str, str]) -> Exception:
    """Return an error of one line for what a cluster raises; another error as it is."""
    kind = type(error).__name__
    if kind == "KilledWorker":
        piece = called.get(str(getattr(error, "task", "")), "a piece of work")
        what = "this or another piece of work killed workers repeatedly"
        return MethodError(piece, f"{what}, perhaps for want of memory", "give workers more of it")
    if isinstance(error, ImportError):
        return MethodError(
            "--dask", f"the workers lack a package ({error})", "install the same on all of them"
        )
    if kind in LOST:
        return MethodError("--dask", f"the cluster was lost ({kind})", "run it again")
    return error


LOST = ("CancelledError", "CommClosedError", "FutureCancelledError", "FuturesCancelledError")
"""What distributed raises when the scheduler is gone."""
