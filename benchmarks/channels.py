"""Optimal channels: qif's three ways to be called, plain HiGHS, and ours, each audited exactly."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

import mechdesign as md
from benchmarks.exact import Privacy, exact_true_epsilon
from benchmarks.measure import best_of, shown_ratio, shown_seconds
from benchmarks.rivals import ChannelRun, RivalUnavailable, isolated, qif_channel
from mechdesign.families.response import RandomizedResponse
from mechdesign.show.tables import table

TITLE = "Optimal channels: uniform prior, epsilon = 1"

Floats: TypeAlias = NDArray[np.float64]
Loss: TypeAlias = Literal["zero-one", "absolute"]

EPSILON = 1.0
LIMIT = 300.0
"""Seconds a rival may take for one channel, importing included."""

NOTES = """\
seconds      least of a few runs where one is short; ours includes repair, integers and exact audit
ratio        seconds divided by those of the first row with the same n
loss         expected loss of the channel that was returned (ours: of the integers that are sampled)
above bound  that loss less the proven lower bound; negative: what breaking the privacy rows gained
true epsilon of the returned numbers, taken exactly (per unit of distance on the line); wanted: 1
repair       expected loss that our repair and rounding to integers added to the solver's channel
qif          the plain call: all rows, all variables (its default)
qif chain    with d_priv_ch, which leaves out the rows that neighbours imply (its fast call; line only)
qif dist     with vars="dist": among channels with one variable a distance only; the optimum may be elsewhere
HiGHS        scipy's linprog on the same compact rows at its own tolerances, nothing repaired"""


@dataclass(frozen=True)
class Line:
    """One row of the table; ``failure`` stands where there is no channel."""

    method: str
    n: int
    seconds: float = math.nan
    loss: float = math.nan
    true_epsilon: Decimal = Decimal("nan")
    repair: float | None = None
    failure: str = ""


def run(quick: bool) -> None:
    """Print one table for each privacy and loss."""
    _ours("zero-one", 3, "line", None)  # imports the solvers
    print(NOTES)
    for privacy in ("local", "line"):
        for loss in ("zero-one", "absolute"):
            _print_table(loss, privacy, quick)


def _print_table(loss: Loss, privacy: Privacy, quick: bool) -> None:
    rows, failures = [], []
    for n in (16, 32) if quick else (16, 32, 64, 128):
        first, bound = _ours(loss, n, privacy, None)
        lines = [first]
        if first.method != "ours, lp":
            lines.append(_ours(loss, n, privacy, "lp")[0])
        if n <= 64:
            lines += _rivals(loss, n, privacy)
        rows += [_cells(line, first.seconds, bound) for line in lines]
        failures += [f"  {line.method}, n = {line.n}: {line.failure}" for line in lines if line.failure]
    distance = "every two answers within epsilon" if privacy == "local" else "within epsilon |i - i'|"
    print(f"\n{loss} loss, {privacy} privacy ({distance})")
    header = ["n", "method", "seconds", "ratio", "loss", "above bound", "true epsilon", "repair"]
    print("\n".join([table(header, rows), *failures]), flush=True)


def _cells(line: Line, unit: float, bound: float) -> list[str]:
    if line.failure:
        return [str(line.n), line.method, "-", "-", "-", "-", "no channel", ""]
    return [
        str(line.n),
        line.method,
        shown_seconds(line.seconds),
        shown_ratio(line.seconds / unit),
        f"{line.loss:.10f}",
        f"{line.loss - bound:+.1e}",
        _shown_epsilon(line.true_epsilon),
        "" if line.repair is None else f"{line.repair:.1e}",
    ]


def _shown_epsilon(true_epsilon: Decimal) -> str:
    if true_epsilon.is_infinite():
        return "inf"
    excess = true_epsilon - Decimal(EPSILON)
    if abs(excess) > Decimal("1e-3"):
        return f"{true_epsilon:.4f}"
    return f"{EPSILON:g} {'-' if excess <= 0 else '+'} {abs(excess):.1e}"


# Ours


def _problem(loss: Loss, n: int, privacy: Privacy) -> RandomizedResponse:
    return RandomizedResponse(
        prior=np.full(n, 1.0 / n),
        epsilon=EPSILON,
        utility="truth" if loss == "zero-one" else "absolute-loss",
        distance="line" if privacy == "line" else None,
    )


def _ours(loss: Loss, n: int, privacy: Privacy, method: str | None) -> tuple[Line, float]:
    """Return our row and the proven lower bound of the expected loss."""
    problem = _problem(loss, n, privacy)

    def solve() -> tuple[md.Solution, md.Mechanism]:
        solution = md.solve(problem, method)
        return solution, solution.mechanism()

    (solution, mechanism), seconds = best_of(solve)
    assert solution.bound is not None
    audited = mechanism.audit()  # type: ignore[attr-defined]
    exact = exact_true_epsilon(_weights(mechanism), privacy)
    if not audited.holds or abs(audited.true_epsilon_digits - exact) > Decimal("1e-40"):
        raise AssertionError(f"two audits of our channel disagree: {audited.true_epsilon_digits} and {exact}")
    channel: Floats = mechanism.channel  # type: ignore[attr-defined]
    polishing = float(solution.notes.get("utility_given_up", 0.0))
    rounding = solution.value - problem.objective({"channel": channel})
    offset = 1.0 if loss == "zero-one" else 0.0
    line = Line(
        f"ours, {solution.method}",
        n,
        seconds,
        _expected(channel, loss),
        exact,
        max(0.0, polishing + rounding),
    )
    return line, offset - solution.bound


def _weights(mechanism: md.Mechanism) -> NDArray[np.int64]:
    """Return the integers the mechanism samples from as a matrix, whatever its structure."""
    weights = getattr(mechanism, "weights", None)
    if isinstance(weights, np.ndarray):
        return weights
    assert weights is not None
    n, kept = weights.size, mechanism.kept  # type: ignore[attr-defined]
    matrix = np.zeros((n, n), dtype=np.int64)
    matrix[:, kept] = weights.low
    delegates = np.full(n, kept[0])
    delegates[kept] = kept
    matrix[np.arange(n), delegates] = weights.high
    matrix[np.arange(n), np.arange(n)] += weights.own
    return matrix


# The others


def _rivals(loss: Loss, n: int, privacy: Privacy) -> list[Line]:
    lines = [_qif("qif", loss, n, privacy, skip_implied=False)]
    if privacy == "line":
        lines.append(_qif("qif chain", loss, n, privacy))
    lines.append(_qif("qif dist", loss, n, privacy, variables="dist"))
    result, seconds = best_of(lambda: naive_highs(loss, n, privacy))
    if isinstance(result, str):
        return [*lines, Line("HiGHS", n, failure=result)]
    return [*lines, _audited("HiGHS", loss, n, privacy, ChannelRun(result, seconds))]


def _qif(
    name: str,
    loss: Loss,
    n: int,
    privacy: Privacy,
    skip_implied: bool = True,
    variables: Literal["all", "dist"] = "all",
) -> Line:
    try:
        result = isolated(LIMIT, qif_repeated, loss, n, privacy, skip_implied, variables)
    except RivalUnavailable as error:
        return Line(name, n, failure=error.reason)
    return _audited(name, loss, n, privacy, result)


def qif_repeated(
    loss: Loss, n: int, privacy: Privacy, skip_implied: bool, variables: Literal["all", "dist"]
) -> ChannelRun:
    """Return qif's channel with the least seconds of a few calls; for a process of its own."""
    runs: list[ChannelRun] = []

    def call() -> None:
        runs.append(qif_channel(loss, n, EPSILON, privacy, skip_implied=skip_implied, variables=variables))

    best_of(call)
    return min(runs, key=lambda run: run.seconds)


def naive_highs(loss: Loss, n: int, privacy: Privacy) -> Floats | str:
    """Return the channel of scipy's HiGHS on the compact rows as one would write them, or its message.

    Local privacy: m_j <= p_ij <= e^eps m_j with one auxiliary m_j a report. Line: p_ij <= e^eps p_i'j for
    neighbours i and i'.
    """
    optimize: Any = importlib.import_module("scipy.optimize")
    sparse: Any = importlib.import_module("scipy.sparse")
    factor = math.exp(EPSILON)
    unit, every = sparse.eye_array(n), sparse.eye_array(n * n)
    sums = sparse.kron(unit, np.ones((1, n)))
    if privacy == "local":
        least = sparse.kron(np.ones((n, 1)), unit)  # picks the auxiliary of each entry's report
        rows = sparse.vstack([sparse.hstack([-every, least]), sparse.hstack([every, -factor * least])])
        sums = sparse.hstack([sums, sparse.csr_array((n, n))])
    else:
        here, next_ = sparse.eye_array(n - 1, n), sparse.eye_array(n - 1, n, k=1)
        rows = sparse.vstack(
            [sparse.kron(here - factor * next_, unit), sparse.kron(next_ - factor * here, unit)]
        )
    cost = np.zeros(rows.shape[1])
    cost[: n * n] = _losses(loss, n).ravel() / n
    answer = optimize.linprog(
        cost, A_ub=rows, b_ub=np.zeros(rows.shape[0]), A_eq=sums, b_eq=np.ones(n), method="highs"
    )
    if answer.status != 0:
        return str(answer.message)
    channel: Floats = answer.x[: n * n].reshape(n, n)
    return channel


def _audited(name: str, loss: Loss, n: int, privacy: Privacy, result: ChannelRun) -> Line:
    return Line(
        name,
        n,
        result.seconds,
        _expected(result.channel, loss),
        exact_true_epsilon(result.channel, privacy),
    )


def _losses(loss: Loss, n: int) -> Floats:
    places = np.arange(n, dtype=np.float64)
    steps: Floats = np.abs(places[:, None] - places)
    return steps if loss == "absolute" else np.minimum(steps, 1.0)


def _expected(channel: Floats, loss: Loss) -> float:
    return math.fsum((_losses(loss, len(channel)) * channel).ravel().tolist()) / len(channel)
