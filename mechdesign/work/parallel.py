"""Many independent pieces of work on all cores, or on a cluster, with progress, and resumed after a stop.

Finished pieces are kept in a cache as they come. joblib runs them: with its own processes, or with the
backend that the caller has chosen by ``joblib.parallel_config``, such as a Dask cluster.

A killed process cannot end its workers. They would go on, and hold its standard output, so that another
program waits for what it never gets. So workers end when the process that started them has ended, however
that came about.

On a Dask cluster results are also merged in a tree on its workers. Dask does what it was made for: it hands
out pieces, hands them out again when a worker dies, and gives up a piece that kills its workers again and
again. Nothing of it is imported before a cluster is asked for.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from mechdesign.core.errors import MechDesignError, MethodError, ParameterError, listed, named_option
from mechdesign.work.cache import Cache

PR_SET_PDEATHSIG = 1
"""The request to Linux for a signal when the thread that started this process has ended."""
INTERVAL = 0.5
"""Seconds after which a worker looks for its parent, where the system does not tell it."""


def watch_arguments() -> tuple[int, bool]:
    """Return what :func:`end_with_parent` takes, in the process that starts the workers.

    Examples
    --------
    >>> watch_arguments() == (os.getpid(), True)
    True
    """
    return os.getpid(), threading.current_thread() is threading.main_thread()


def end_with_parent(parent: int, is_main_thread: bool) -> None:
    """End this process as soon as its parent has ended.

    Parameters
    ----------
    parent : int
        Process number of the parent.
    is_main_thread : bool
        Whether the parent's main thread started this process; the system only knows of threads, and
        another thread may end before its process.
    """
    if not hasattr(os, "getppid") or sys.platform == "win32":
        return
    if hasattr(signal, "pthread_sigmask"):  # held by the parent while it started this process
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGHUP})
    is_watched = is_main_thread and _told_by_the_system()
    if os.getppid() != parent:
        os._exit(1)
    if not is_watched:
        threading.Thread(target=_look, args=(parent,), daemon=True).start()


def _told_by_the_system() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _look(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(INTERVAL)
    os._exit(1)


VARIABLE = "MECHDESIGN_JOBS"
"""The environment variable with the number of processes, where none is asked for."""
LOST = ("KilledWorker", "CommClosedError", "FutureCancelledError")
"""What distributed calls it; it is not imported here, it may not be installed."""
ALONE = 1.0
"""Seconds for which work is done in this process before others are started: they cost about as much."""


def _always(result: Any) -> bool:
    """Whether a result is final: every one."""
    return True


@dataclass(frozen=True)
class Task:
    """A piece of work: a function of the top level of a module, its arguments, a label and a key.

    A result is kept under the key, unless ``is_final`` says that another run may find another one.
    """

    label: str
    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    is_final: Callable[[Any], bool] = _always


class Watcher(Protocol):
    """Follows the work; :class:`mechdesign.work.bars.Watch` draws a bar."""

    def begin(self, total: int, cached: int) -> None:
        """Take the number of pieces, and of those that were finished before."""

    def started(self, label: str) -> None:
        """Take note that a piece has been handed out."""

    def finished(self, label: str) -> None:
        """Take note that a piece is done."""


class Silent:
    """A watcher that says nothing."""

    def begin(self, total: int, cached: int) -> None:
        """Print nothing."""

    def started(self, label: str) -> None:
        """Print nothing."""

    def finished(self, label: str) -> None:
        """Print nothing."""


def run_tasks(
    tasks: Sequence[Task],
    jobs: int | None = None,
    cache: Cache | None = None,
    watcher: Watcher | None = None,
    alone: float = ALONE,
) -> list[Any]:
    """Return the results in the order of the tasks.

    Parameters
    ----------
    tasks : sequence of Task
    jobs : int, optional
        Number of processes; by default one per CPU core, or ``MECHDESIGN_JOBS``. With 1 everything is
        done in this process. A backend chosen by ``joblib.parallel_config`` brings its own number.
    cache : Cache, optional
        Results in it are not computed again; new ones are kept as they come, so that nothing is lost when
        the work is interrupted.
    watcher : Watcher, optional
    alone : float
        For how many seconds pieces are begun in this process before others are started. The first may take
        its time, while the other cores wait: 0 is right where a piece can be long.

    Raises
    ------
    ParameterError
        For a number of processes below 1.
    MethodError
        When a process was killed; those that were at work are named.
    Exception
        Whatever a piece of work raises; those finished before are kept.

    Examples
    --------
    >>> run_tasks([Task(text, text, len, (text,)) for text in ("a", "bb")], jobs=1)
    [1, 2]
    """
    workers, watcher = worker_count(jobs), watcher if watcher is not None else Silent()
    results: dict[int, Any] = {}
    for number, task in enumerate(tasks):
        entry = cache.get(task.key) if cache is not None else None
        if entry is not None:
            results[number] = entry[0]
    watcher.begin(len(tasks), len(results))
    missing = [number for number in range(len(tasks)) if number not in results]
    chosen = _backend_is_chosen()
    start = time.monotonic()
    while missing and not chosen and (workers == 1 or len(missing) == 1 or time.monotonic() - start < alone):
        number = missing.pop(0)
        watcher.started(tasks[number].label)
        results[number] = _finish(tasks[number], _run(tasks[number]), cache, watcher)
    if missing:
        handed_out = _handed_out(tasks, missing, watcher)
        try:
            for number, value in _elsewhere(handed_out, None if chosen else min(workers, len(missing))):
                results[number] = _finish(tasks[number], value, cache, watcher)
        except Exception as error:  # what a cluster raises cannot be named here: LOST has its names
            if not _is_lost(error):
                raise
            running = [tasks[number].label for number in missing if number not in results]
            raise MethodError(
                f"a process that did one of {listed(running[:workers])} ended without a result, perhaps for "
                "want of memory",
                remedy="run it again with fewer " + named_option("jobs"),
            ) from error
    return [results[number] for number in range(len(tasks))]


def _run(task: Task) -> Any:
    return task.function(*task.arguments)


def _numbered(number: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[int, Any]:
    return number, function(*arguments)


def _finish(task: Task, value: Any, cache: Cache | None, watcher: Watcher) -> Any:
    if cache is not None and task.is_final(value):
        cache.put(task.key, value)
    watcher.finished(task.label)
    return value


def _handed_out(
    tasks: Sequence[Task], numbers: Sequence[int], watcher: Watcher
) -> Iterator[tuple[int, Task]]:
    for number in numbers:
        watcher.started(tasks[number].label)
        yield number, tasks[number]


def _elsewhere(tasks: Iterator[tuple[int, Task]], workers: int | None) -> Iterator[tuple[int, Any]]:
    """Yield (number, result) as they come, from processes or from the backend of the caller."""
    import joblib

    # One piece at a time: they take seconds, and the bar names those that run.
    parallel = joblib.Parallel(
        n_jobs=workers,
        return_as="generator_unordered",
        pre_dispatch="n_jobs",
        batch_size=1,
        max_nbytes=None,
        **({} if workers is None else {"initializer": end_with_parent, "initargs": watch_arguments()}),
    )
    work = (joblib.delayed(_numbered)(number, task.function, task.arguments) for number, task in tasks)
    with interrupts_held():
        results = parallel(work)  # which starts the processes
    # After an interrupt joblib warns of tasks that were not used; whoever was stopped says what is kept.
    unused = r"\d+ tasks (which were still|have been successfully) "
    warnings.filterwarnings("ignore", unused, UserWarning, r"joblib\.parallel")
    yield from results


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let interrupts wait; processes started meanwhile never get one, not in their first instruction either.

    A terminal sends an interrupt to all processes of a command. This one decides what to do, and ends the
    others. What else ends a command waits as well, so that no process is started half; a worker takes it
    again when it has begun (:func:`mechdesign.work.parallel.end_with_parent`).
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # Two helpers, Python's own and joblib's, would let interrupts through again when they are started.
    for home in ("multiprocessing.resource_tracker", "joblib.externals.loky.backend.resource_tracker"):
        with suppress(ImportError, AttributeError):
            importlib.import_module(home).ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _is_lost(error: Exception) -> bool:
    """Whether a process or a worker of a cluster has died, rather than the work raised an error."""
    from concurrent.futures import BrokenExecutor

    return isinstance(error, BrokenExecutor) or type(error).__name__ in LOST


def _backend_is_chosen() -> bool:
    """Whether the caller is inside ``joblib.parallel_config`` or the like."""
    if "joblib" not in sys.modules:  # nobody can have chosen one
        return False
    import joblib

    backend, jobs = joblib.parallel.get_active_backend()
    return type(backend).__name__ != "LokyBackend" or jobs not in (None, 1)


def worker_count(jobs: int | None) -> int:
    """Return the requested number of processes: as given, as in the environment, or one per core."""
    text = os.environ.get(VARIABLE, "") if jobs is None else jobs
    if text == "":
        return available_cores()
    try:
        workers = int(text)
    except (TypeError, ValueError, OverflowError):
        workers = 0
    if workers < 1 or (jobs is not None and workers != jobs):
        where = "jobs" if jobs is not None else VARIABLE
        raise ParameterError(where, f"{text} is not an integer >= 1", "give how many processes to use")
    return workers


def available_cores() -> int:
    """Return the number of cores that this process may use.

    Examples
    --------
    >>> available_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
    import logging

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
    import socket
    from urllib.parse import urlsplit

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
    import secrets

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
    if kind in GONE:
        return MethodError("--dask", f"the cluster was lost ({kind})", "run it again")
    return error


GONE = ("CancelledError", "CommClosedError", "FutureCancelledError", "FuturesCancelledError")
"""What distributed raises when the scheduler is gone."""
