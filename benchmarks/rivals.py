"""The other libraries, one function a task, for the benchmark tables.

Nothing here is part of the toolkit and nothing is imported before it is asked for. A rival that does
not import, raises, dies or runs out of time says so with :class:`RivalUnavailable`, whose text goes into
the table.

Every function does a rival's work the way its own documentation shows, with inputs converted to the form
it wants (a Python list for the libraries that take one value a call) and its just-in-time compilation done
before the clock starts. ``seconds`` never includes importing. Libraries that take one value a call are
slow: pass a sample, and compare ``values_per_second``.

The ``benchmarks`` extra installs the rivals beside the toolkit. Two of them need help from outside their
own declared dependencies: pure-ldp 1.2 imports statsmodels without declaring it, and diffprivlib 0.6
imports names that scikit-learn 1.9 removed, so it needs ``scikit-learn<1.9``. ldp-toolbox 0.1 declares a web
server and a cluster scheduler, which its oracles do not use: ``pip install --no-deps ldp-toolbox numba
xxhash joblib`` is enough to measure it. None of the libraries releases marginals of several attributes.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from multiprocessing.connection import Connection
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.integer[Any]]
Result = TypeVar("Result")

RIVALS = ("qif", "pure-ldp", "multi-freq-ldpy", "ldp-toolbox", "diffprivlib", "opendp", "mechaudit")


class RivalUnavailable(RuntimeError):  # noqa: N818 - it names a state of the table, not a mistake
    """A rival cannot be measured; ``reason`` is one line for the table."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class ChannelRun:
    """A channel as the rival returned it, unrepaired: row i holds the report probabilities of input i."""

    channel: Floats
    seconds: float


@dataclass(frozen=True)
class EstimateRun:
    """An estimate (a vector of frequencies, or one mean as a vector of length 1) and what it cost."""

    estimates: Floats
    seconds: float
    values: int

    @property
    def values_per_second(self) -> float:
        """Answers randomized and aggregated in one second."""
        return self.values / self.seconds


def version(distribution: str) -> str:
    """Version of an installed rival, or "not installed"."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def qif_channel(
    loss: Literal["zero-one", "absolute"],
    n: int,
    epsilon: float,
    privacy: Literal["local", "line"] = "local",
    *,
    skip_implied: bool = True,
    variables: Literal["all", "dist"] = "all",
    solver: str = "AUTO",
) -> ChannelRun:
    """Return qif's optimal channel on n symbols under the uniform prior.

    Parameters
    ----------
    loss
        What is minimised in expectation: "zero-one" (the report is wrong) or "absolute" (its distance).
    n
        Number of inputs, and of outputs.
    epsilon
        Privacy parameter.
    privacy
        "local": every two inputs within epsilon; "line": within epsilon |i - i'|.
    skip_implied
        On a line, tell qif that only neighbouring inputs need a constraint (its fast way; without it qif 1.6
        fails at n = 64). Of no effect under "local", where no constraint is implied.
    variables
        qif's ``vars``: "all" solves the problem (its default); "dist" looks only among channels with one
        variable a distance, which is far smaller and loses utility where the optimum is not of that shape.
    solver
        qif's name of a linear solver: AUTO (its default, today CLP), CLP, GLOP, HIGHS or SOPLEX.

    Raises
    ------
    RivalUnavailable
        When qif does not import, its solver fails, or it finds no channel.
    """
    qif = _load("qif", "qif")
    mechanism = qif.mechanism.d_privacy

    def distance(i: int, j: int) -> float:
        return epsilon * abs(i - j) if privacy == "line" else epsilon * (i != j)

    def cost(i: int, j: int) -> float:
        return float(abs(i - j)) if loss == "absolute" else float(i != j)

    def implied(i: int, j: int) -> bool:
        return abs(i - j) != 1

    options: dict[str, Any] = {"vars": variables}
    if privacy == "line" and skip_implied:
        options["d_priv_ch"] = implied
    default = qif.lp.defaults.solver
    qif.lp.defaults.solver = solver
    try:
        prior = qif.probab.uniform(n)
        start = time.perf_counter()
        channel = _attempt("qif", lambda: mechanism.min_loss_given_d(prior, n, distance, cost, **options))
        seconds = time.perf_counter() - start
    finally:
        qif.lp.defaults.solver = default
    result = np.array(channel, dtype=np.float64)
    if result.shape != (n, n):
        raise RivalUnavailable(f"qif: no channel found (returned shape {result.shape})")
    return ChannelRun(result, seconds)


def pure_ldp_frequencies(values: Integers, k: int, epsilon: float) -> EstimateRun:
    """Direct encoding of pure-ldp: one client call and one server call an answer; unbiased estimates.

    ``values`` holds symbols 0..k-1. Estimates are relative frequencies.
    """
    oracle = _load("pure-ldp", "pure_ldp.frequency_oracles.direct_encoding")
    answers = values.tolist()

    def run() -> Floats:
        client = oracle.DEClient(epsilon, k, index_mapper=_same)
        server = oracle.DEServer(epsilon, k, index_mapper=_same)
        server.aggregate_all([client.privatise(answer) for answer in answers])
        counts = server.estimate_all(range(k), suppress_warnings=True)
        return np.asarray(counts, dtype=np.float64) / len(answers)

    return _timed("pure-ldp", run, len(answers))


def multi_freq_ldpy_frequencies(values: Integers, k: int, epsilon: float) -> EstimateRun:
    """Generalized randomized response of multi-freq-ldpy: one compiled client call an answer.

    ``values`` holds symbols 0..k-1. The library clips negative estimates and rescales, so they are biased.
    """
    oracle = _load("multi-freq-ldpy", "multi_freq_ldpy.pure_frequency_oracles.GRR")
    answers = values.tolist()
    _attempt("multi-freq-ldpy", lambda: oracle.GRR_Client(0, k, epsilon))  # compiles

    def run() -> Floats:
        reports = [oracle.GRR_Client(answer, k, epsilon) for answer in answers]
        return np.asarray(oracle.GRR_Aggregator_MI(reports, k, epsilon), dtype=np.float64)

    return _timed("multi-freq-ldpy", run, len(answers))


def pure_ldp_oracle(
    values: Integers, k: int, epsilon: float, kind: Literal["unary", "hashing", "hadamard"]
) -> EstimateRun:
    """A frequency oracle of pure-ldp: one client call and one server call an answer.

    Optimised unary encoding, optimised local hashing, or Hadamard response. ``values`` holds symbols 0..k-1.
    """
    names = {"unary": "unary_encoding", "hashing": "local_hashing", "hadamard": "hadamard_response"}
    module = _load("pure-ldp", f"pure_ldp.frequency_oracles.{names[kind]}")
    answers = values.tolist()

    def run() -> Floats:
        if kind == "hadamard":
            server = module.HadamardResponseServer(epsilon, k, index_mapper=_same)
            client = module.HadamardResponseClient(
                epsilon, k, hash_funcs=server.get_hash_funcs(), index_mapper=_same
            )
        elif kind == "unary":
            server = module.UEServer(epsilon, k, use_oue=True, index_mapper=_same)
            client = module.UEClient(epsilon, k, use_oue=True, index_mapper=_same)
        else:
            server = module.LHServer(epsilon, k, use_olh=True, index_mapper=_same)
            client = module.LHClient(epsilon, k, use_olh=True, index_mapper=_same)
        for answer in answers:
            server.aggregate(client.privatise(answer))
        counts = server.estimate_all(range(k), suppress_warnings=True)
        return np.asarray(counts, dtype=np.float64) / len(answers)

    return _timed("pure-ldp", run, len(answers))


def multi_freq_ldpy_oracle(
    values: Integers, k: int, epsilon: float, kind: Literal["unary", "hashing", "subset"]
) -> EstimateRun:
    """A frequency oracle of multi-freq-ldpy: one compiled client call an answer.

    Optimised unary encoding, optimised local hashing, or subset selection. ``values`` holds symbols 0..k-1.
    The library clips negative estimates and rescales, so they are biased.
    """
    short = {"unary": "UE", "hashing": "LH", "subset": "SS"}[kind]
    module = _load("multi-freq-ldpy", f"multi_freq_ldpy.pure_frequency_oracles.{short}")
    client, server = getattr(module, f"{short}_Client"), getattr(module, f"{short}_Aggregator_MI")
    answers = values.tolist()
    _attempt("multi-freq-ldpy", lambda: client(0, k, epsilon))  # compiles

    def run() -> Floats:
        reports = [client(answer, k, epsilon) for answer in answers]
        estimates = server(reports, epsilon) if kind == "unary" else server(reports, k, epsilon)
        return np.asarray(estimates, dtype=np.float64)

    return _timed("multi-freq-ldpy", run, len(answers))


def ldp_toolbox_oracle(
    values: Integers, k: int, epsilon: float, kind: Literal["unary", "hashing", "subset"]
) -> EstimateRun:
    """A frequency oracle of ldp-toolbox: one compiled client call an answer.

    Optimised unary encoding, optimised local hashing, or subset selection. ``values`` holds symbols 0..k-1.
    The library clips negative estimates and rescales, so they are biased.
    """
    names = {
        "unary": ("ue", "UnaryEncoding"),
        "hashing": ("lh", "LocalHashing"),
        "subset": ("ss", "SubsetSelection"),
    }
    short, title = names[kind]
    module = _load("ldp-toolbox", f"ldp_toolbox.protocols.frequency.{short}")
    oracle = getattr(module, title)(k, epsilon)
    answers = values.tolist()
    _attempt("ldp-toolbox", lambda: oracle.obfuscate(0))  # compiles

    def run() -> Floats:
        reports = [oracle.obfuscate(answer) for answer in answers]
        return np.asarray(oracle.estimate(reports), dtype=np.float64)

    return _timed("ldp-toolbox", run, len(answers))


def diffprivlib_laplace_mean(values: Floats, low: float, high: float, epsilon: float) -> EstimateRun:
    """Every value randomized locally by diffprivlib's Laplace mechanism (one call a value), then averaged."""
    mechanisms = _load("diffprivlib", "diffprivlib.mechanisms")
    answers = values.tolist()

    def run() -> Floats:
        laplace = mechanisms.Laplace(epsilon=epsilon, delta=0.0, sensitivity=high - low)
        return np.array([np.mean([laplace.randomise(answer) for answer in answers])])

    return _timed("diffprivlib", run, len(answers))


def opendp_laplace_mean(
    values: Floats, low: float, high: float, epsilon: float, *, vectorised: bool = True
) -> EstimateRun:
    """Every value randomized locally by OpenDP's Laplace mechanism, then averaged.

    ``vectorised`` adds the noise to the whole vector in one call (the faster way: only the simulation of many
    clients can do so); otherwise one call a value, as each client would.
    """
    dp = _load("opendp", "opendp.prelude")
    answers = values.tolist()

    def run() -> Floats:
        dp.enable_features("contrib")
        number = dp.atom_domain(T=float, nan=False)
        scale = (high - low) / epsilon
        if vectorised:
            laplace = dp.m.make_laplace(dp.vector_domain(number), dp.l1_distance(T=float), scale=scale)
            return np.array([np.mean(laplace(answers))])
        laplace = dp.m.make_laplace(number, dp.absolute_distance(T=float), scale=scale)
        return np.array([np.mean([laplace(answer) for answer in answers])])

    return _timed("opendp", run, len(answers))


@dataclass(frozen=True)
class DesignRun:
    """The optimum of a direct mechanism in floating point, and what it cost."""

    value: float
    seconds: float


def mechaudit_optimum(tables: dict[str, Any], goal: str, requirements: tuple[str, ...]) -> DesignRun:
    """Design a direct mechanism with mechaudit: compile, solve with HiGHS, and its own audit of the result.

    Parameters
    ----------
    tables
        An environment with private values, as ``Environment.tables()`` returns it.
    goal
        "ExpectedRevenue" or "ExpectedSocialWelfare". A cost of outcomes is taken off the values of the first
        agent, who then pays for it.
    requirements
        Names of mechaudit's requirements, such as "DSIC".

    ``seconds`` are of the processor.
    """
    mechaudit = _load("mechaudit", "mechaudit")
    agents, outcomes = tables["agents"], tables["outcomes"]
    worth = {}
    for agent, names, rows in zip(agents, tables["types"], tables["values"], strict=True):
        for name, row in zip(names, rows, strict=True):
            for outcome, value, cost in zip(outcomes, row, tables["cost"], strict=True):
                taken = Fraction(cost) if agent == agents[0] else Fraction(0)
                worth[agent, name, outcome] = float(Fraction(value) - taken)
    prior = dict(zip(product(*tables["types"]), map(_number, tables["joint"]), strict=True))

    def run() -> float:
        environment = mechaudit.FiniteEnvironment(
            agents=dict(zip(agents, tables["types"], strict=True)),
            outcomes=outcomes,
            prior=prior if len(agents) > 1 else {key: share for (key,), share in prior.items()},
            values=mechaudit.PrivateValues(lambda agent, own, outcome: worth[agent, own, outcome]),
        )
        required = tuple(getattr(mechaudit, name)() for name in requirements)
        problem = environment.design(objective=getattr(mechaudit, goal)(), requirements=required)
        return float(problem.solve().objective_value)

    start = time.process_time()
    value = _attempt("mechaudit", run)
    return DesignRun(value, time.process_time() - start)


def _number(written: Any) -> float:
    return float(Fraction(written))


def isolated(limit: float, function: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
    """Call a function of a module in a process of its own, for at most ``limit`` seconds.

    A rival that aborts the interpreter (a native library on the wrong processor) or never returns becomes a
    :class:`RivalUnavailable` like any other, and its memory is given back. The limit includes importing. The
    calling script needs its ``if __name__ == "__main__":`` guard.

    Examples
    --------
    ``isolated(120, qif_channel, "absolute", 64, 1.0)``
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sender, function, arguments, options), daemon=True)
    process.start()
    sender.close()
    try:
        if not receiver.poll(limit):
            raise RivalUnavailable(f"{function.__name__}: no answer within {limit:g} s")
        outcome = receiver.recv()
    except EOFError:
        process.join()
        raise RivalUnavailable(f"{function.__name__}: process died (exit code {process.exitcode})") from None
    finally:
        process.kill()
        process.join()
        receiver.close()
    if isinstance(outcome, RivalUnavailable):
        raise outcome
    result: Result = outcome
    return result


def _answer(
    sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    """Send the function's result, or why there is none, to the parent process."""
    try:
        sender.send(function(*arguments, **options))
    except RivalUnavailable as error:
        sender.send(error)
    except Exception as error:  # whatever a rival raises belongs in the table
        sender.send(RivalUnavailable(f"{function.__name__}: {_one_line(error)}"))


def _load(name: str, module: str) -> Any:
    """Import a rival's module, or say why it cannot be imported."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        absent = (error.name or "").split(".")[0]
        if absent == module.split(".")[0]:
            raise RivalUnavailable(f"{name}: not installed") from error
        raise RivalUnavailable(f"{name} {version(name)}: does not import ({_one_line(error)})") from error
    except Exception as error:  # a rival may raise anything while it is imported
        raise RivalUnavailable(f"{name} {version(name)}: does not import ({_one_line(error)})") from error


def _attempt(name: str, call: Callable[[], Any]) -> Any:
    """Call a rival; whatever it raises becomes a reason for the table."""
    try:
        return call()
    except Exception as error:  # a rival may raise anything
        raise RivalUnavailable(f"{name} {version(name)}: {_one_line(error)}") from error


def _timed(name: str, run: Callable[[], Floats], values: int) -> EstimateRun:
    start = time.perf_counter()
    estimates = _attempt(name, run)
    return EstimateRun(estimates, time.perf_counter() - start, values)


def _same(symbol: int) -> int:
    return symbol


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()).split(" (/")[0]
    return f"{type(error).__name__}: {text[:160]}" if text else type(error).__name__
