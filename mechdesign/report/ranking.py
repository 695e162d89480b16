"""Which mean mechanism to use: all of them ranked by predicted error, with the reasons.

The predicted error of an attribute's mean is sqrt(V(eps/k) m/(k n)) times the width of the range, with V the
worst-case variance of a report on a range of length 1, n users, m attributes and k of them reported by each
user at eps/k (self-normalised: m/(k n) is one over the expected number of reports). k is the whole number
from 1 to m that makes V(eps/k)/k least: it is 1 wherever V falls faster than 1/eps, as it does for all
mechanisms whose variance tends to 0, and more than 1 for Duchi's, whose V tends to 1 on [-1, 1].
Crossings of variances are computed, not remembered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mechdesign.collect.base import CollectingMechanism
from mechdesign.collect.codec import Domain
from mechdesign.core.errors import ParameterError, counted, listed
from mechdesign.core.validation import integer, privacy_epsilon
from mechdesign.core.values import json_object
from mechdesign.families.mean import (
    AttributeSampling,
    DiscretePiecewise,
    Duchi,
    Hybrid,
    Laplace,
    Piecewise,
    SquareWave,
)
from mechdesign.families.mean.attributes import epsilon_share
from mechdesign.families.mean.discrete import best_shape
from mechdesign.families.mean.means import MeanMechanism
from mechdesign.families.mean.optimal_channel import best_mechanism, best_variance
from mechdesign.families.mean.variance import WORST_VARIANCES, hybrid_mixing
from mechdesign.show.tables import html_table, table
from mechdesign.work.records import dataclass

if TYPE_CHECKING:
    from mechdesign.families.shuffle.promise import Promise

MAX_USERS, MAX_ATTRIBUTES = 10**18, 1_000_000

CHANNEL = "mean-channel"

KINDS: dict[str, type[MeanMechanism]] = {
    "discrete-piecewise": DiscretePiecewise,
    "duchi": Duchi,
    "hybrid": Hybrid,
    "piecewise": Piecewise,
    "square-wave": SquareWave,
    "laplace": Laplace,
}
"""What is ranked besides the solved channel; the earlier one is preferred where errors are equal."""

EXACT = (CHANNEL, "discrete-piecewise", "duchi")


def positive_epsilon(value: Any) -> float:
    """Return epsilon > 0 and finite: at 0 there is nothing to choose among."""
    result = privacy_epsilon(value)
    if result == 0.0:
        raise ParameterError("epsilon", "a report contains no information at 0", "set epsilon > 0")
    return result


@dataclass(frozen=True)
class RankedMechanism:
    """A mechanism with its predicted error.

    Attributes
    ----------
    name : str
    error : float
        Predicted worst-case standard error of an attribute's mean, in the units of the values.
    report_variance : float
        Worst-case variance of one report at its share of epsilon, in squared units.
    per_user : int
        k, how many attributes each user reports.
    exact : bool
        Whether its privacy certificate is exact.
    reason : str
    build : callable
        Returns the mechanism that runs.
    """

    name: str
    error: float
    report_variance: float
    per_user: int
    exact: bool
    reason: str
    build: Callable[[], CollectingMechanism] = field(repr=False)


HEADER = ("mechanism", "std error", "per user", "exact audit", "reason")
"""Columns of a ranking."""


@dataclass(frozen=True, repr=False)
class Ranking:
    """Mechanisms in order of predicted error; ``print`` it for the table and the reasons.

    Attributes
    ----------
    epsilon : float
        Of a user's own reports.
    users, attributes : int
    candidates : tuple of Candidate
        The best one first.
    promise : Promise, optional
        What all reports keep once they are shuffled.
    unshuffled : Candidate, optional
        The best one for the same epsilon without a shuffler.
    """

    epsilon: float
    users: int
    attributes: int
    candidates: tuple[RankedMechanism, ...]
    promise: Promise | None = None
    unshuffled: RankedMechanism | None = None

    @property
    def best(self) -> RankedMechanism:
        """The candidate with the least predicted error."""
        return self.candidates[0]

    def mechanism(self) -> CollectingMechanism:
        """Return the best mechanism, ready to run."""
        from mechdesign.families.shuffle.shuffled_reports import Shuffled

        built = self.best.build()
        return built if self.promise is None else Shuffled(built, self.promise)

    def _gain(self) -> str:
        """Return the gain from the shuffler in numbers; empty without one."""
        if self.promise is None or self.unshuffled is None:
            return ""
        promise, alone = self.promise, self.unshuffled
        times = (alone.error / self.best.error) ** 2
        honest = "" if promise.honest == 1.0 else f", {promise.honest_users} of them honest"
        return (
            f"shuffled: epsilon = {promise.epsilon:g} and delta = {promise.delta:g} from {promise.users} "
            f"users on{honest}; local epsilon = {self.epsilon:g}\n"
            f"without a shuffler {alone.name} has the error {alone.error:.4g}: the shuffler is equivalent to "
            f"{times:.4g} times as many users\n"
        )

    def __repr__(self) -> str:
        text = listed([f"{candidate.name} {candidate.error:.4g}" for candidate in self.candidates])
        return f"Ranking({self._sizes}, errors: {text})"

    def _rows(self) -> list[list[str]]:
        return [
            [
                candidate.name,
                f"{candidate.error:.4g}",
                str(candidate.per_user),
                "yes" if candidate.exact else "no",
                candidate.reason,
            ]
            for candidate in self.candidates
        ]

    @property
    def _head(self) -> str:
        return f"epsilon = {self.epsilon:g}, {self._sizes}"

    @property
    def _sizes(self) -> str:
        return f"{counted(self.users, 'user')}, {counted(self.attributes, 'attribute')}"

    def __str__(self) -> str:
        return f"{self._gain()}{self._head}\n{table(HEADER, self._rows())}"

    def _repr_html_(self) -> str:
        return html_table(self._head, HEADER, self._rows(), self._gain().splitlines())

    def as_json(self) -> dict[str, Any]:
        """Return the ranking as plain values."""
        fields = ("name", "error", "report_variance", "per_user", "exact", "reason")
        candidates = [{field: getattr(candidate, field) for field in fields} for candidate in self.candidates]
        head: dict[str, Any] = {"epsilon": self.epsilon, "users": self.users, "attributes": self.attributes}
        if self.promise is not None and self.unshuffled is not None:
            alone = {field: getattr(self.unshuffled, field) for field in fields}
            head |= {"shuffled": self.promise.as_dict(), "unshuffled": alone}
        return json_object({**head, "candidates": candidates})


def choose(
    epsilon: float,
    users: int,
    attributes: int = 1,
    low: float = 0.0,
    high: float = 1.0,
    exact_only: bool = False,
    channel: bool = True,
    shuffled: int | None = None,
    delta: float | None = None,
    honest: float = 1.0,
) -> Ranking:
    """Rank the mean mechanisms by predicted worst-case error.

    Parameters
    ----------
    epsilon : float
        The privacy of a user, for all of that user's reports together; with ``shuffled`` that of the
        shuffled reports of all users.
    users, attributes : int
    low, high : float
        The range of the values.
    exact_only : bool
        Whether to leave out mechanisms whose floating-point reports leak.
    channel : bool
        Whether to solve for the best channel as well, which takes seconds where it is not known yet.
    shuffled : int, optional
        How many users' reports at least are shuffled before anybody sees them. Users then run a mechanism
        with the largest local epsilon that is proven to be enough for any of them.
    delta : float, optional
        Of the shuffled reports; needed with ``shuffled``.
    honest : float
        The fraction of these users who follow the protocol, whatever the others do.

    Returns
    -------
    Ranking

    Examples
    --------
    >>> ranking = choose(epsilon=1.0, users=10_000, channel=False)
    >>> [candidate.name for candidate in ranking.candidates][:2]
    ['hybrid', 'discrete-piecewise']
    >>> choose(epsilon=8.0, users=10_000, attributes=36, channel=False).best.per_user
    1
    >>> ranking = choose(epsilon=0.5, users=10_000, channel=False, shuffled=10_000, delta=1e-6)
    >>> round(ranking.epsilon, 2), round((ranking.unshuffled.error / ranking.best.error) ** 2)
    (4.34, 137)
    """
    eps = positive_epsilon(epsilon)
    if shuffled is None:
        if delta is not None or honest != 1.0:
            raise ParameterError("shuffled", "is required with delta or honest", "give the number of users")
        return _ranking(eps, users, attributes, low, high, exact_only, channel)
    if delta is None:
        raise ParameterError("delta", "is required with shuffled", "give that of the shuffled reports")
    from mechdesign.families.shuffle.promise import Promise, largest_local

    promise = Promise(shuffled, eps, delta, honest)
    local = largest_local(promise.honest_users, promise.epsilon, promise.delta)
    alone = _ranking(eps, users, attributes, low, high, exact_only, channel).best
    ranking = _ranking(local, users, attributes, low, high, exact_only, channel)
    return replace(ranking, promise=promise, unshuffled=alone)


def _ranking(
    eps: float, users: int, attributes: int, low: float, high: float, exact_only: bool, channel: bool
) -> Ranking:
    """Rank for the epsilon of a user's own reports."""
    n, m = integer("users", users, 1, MAX_USERS), integer("attributes", attributes, 1, MAX_ATTRIBUTES)
    domain = Domain(low, high)
    candidates = [_candidate(name, eps, n, m, domain) for name in KINDS]
    if channel:
        candidates.insert(
            0, _channel_candidate(eps, n, m, domain, min(candidates, key=lambda entry: entry.error).per_user)
        )
    allowed = [
        entry for entry in candidates if math.isfinite(entry.error) and (entry.exact or not exact_only)
    ]
    if not allowed:
        raise ParameterError(
            "epsilon", f"{eps:g} is so small that every variance overflows", "give a larger one"
        )
    return Ranking(eps, n, m, tuple(sorted(allowed, key=lambda entry: entry.error)))


def unit_variance(name: str, epsilon: float) -> float:
    """Return the worst-case variance of a report of a mechanism on a range of length 1."""
    if name == CHANNEL:
        solved = best_variance(epsilon)
        return math.inf if solved is None else solved
    if name == "discrete-piecewise":
        return best_shape(epsilon)[0] / 4.0
    with np.errstate(all="ignore"):  # an epsilon so small that the formula overflows: infinite
        worst = float(WORST_VARIANCES[name](epsilon)) / 4.0
    return worst if math.isfinite(worst) else math.inf


def best_per_user(name: str, epsilon: float, attributes: int) -> int:
    """Return the k in 1 .. m with the least V(eps/k)/k: how many attributes each user should report.

    Examples
    --------
    >>> [best_per_user(name, 9.0, 36) for name in ("duchi", "piecewise", "laplace")]
    [4, 1, 1]
    """
    # The discretised mechanism is close to the hybrid, whose formula costs nothing.
    formula = "hybrid" if name == "discrete-piecewise" else name
    numbers = range(1, attributes + 1)
    return min(numbers, key=lambda k: unit_variance(formula, epsilon / k) / k)


@lru_cache(maxsize=64)
def crossing(first: str, second: str, low: float = 0.1, high: float = 20.0) -> float:
    """Return the epsilon at which two worst-case variances are equal; thesis sec. 2.3.4 prints 1.29.

    Examples
    --------
    >>> round(crossing("duchi", "piecewise"), 4)
    1.2898
    """
    from mechdesign.solvers.roots import sign_change

    def difference(epsilon: float) -> float:
        return unit_variance(first, epsilon) - unit_variance(second, epsilon)

    return sign_change(difference, low, high)


def _candidate(name: str, epsilon: float, users: int, attributes: int, domain: Domain) -> RankedMechanism:
    k = best_per_user(name, epsilon, attributes)
    variance = unit_variance(name, epsilon / k) * domain.width**2

    def build() -> CollectingMechanism:
        single = KINDS[name](epsilon_share(epsilon, k), domain.low, domain.high)  # type: ignore[call-arg]
        return single if attributes == 1 else AttributeSampling(single, attributes, k, epsilon)

    reason = ""
    if math.isfinite(variance):
        reason = _because(name, epsilon / k) + _because_k(name, epsilon, attributes, k)
    error = _error(variance, users, attributes, k)
    return RankedMechanism(name, error, variance, k, name in EXACT, reason, build)


def _channel_candidate(
    epsilon: float, users: int, attributes: int, domain: Domain, near: int
) -> RankedMechanism:
    """Rank the solved channel; its k is sought next to that of the best formula, as each k is a program."""
    numbers = [k for k in (near - 1, near, near + 1) if 1 <= k <= attributes]
    k = min(numbers, key=lambda number: unit_variance(CHANNEL, epsilon / number) / number)
    variance = unit_variance(CHANNEL, epsilon / k) * domain.width**2

    def build() -> CollectingMechanism:
        single = best_mechanism(epsilon_share(epsilon, k), domain.low, domain.high)
        assert single is not None  # its variance is finite, or it would not be ranked
        return single if attributes == 1 else AttributeSampling(single, attributes, k, epsilon)

    error = _error(variance, users, attributes, k)
    reason = ""
    if math.isfinite(variance):
        part = 1.0 - unit_variance(CHANNEL, epsilon / k) / unit_variance("hybrid", epsilon / k)
        reason = f"solved for this epsilon: variance {part:.1%} below the hybrid's"
        reason += _because_k(CHANNEL, epsilon, attributes, k)
    return RankedMechanism(CHANNEL, error, variance, k, True, reason, build)


def _error(variance: float, users: int, attributes: int, per_user: int) -> float:
    return math.sqrt(variance) * math.sqrt(attributes / (per_user * users))


def _because(name: str, epsilon: float) -> str:
    border = crossing("duchi", "piecewise")
    below = "below" if epsilon < border else "above"
    if name == "duchi":
        return f"one bit; better than piecewise below epsilon = {border:.4g}, and this is {below}"
    if name == "piecewise":
        return f"better than duchi above epsilon = {border:.4g}, and this is {below}"
    if name == "hybrid":
        return f"piecewise with probability {float(hybrid_mixing(epsilon)):.3g}, else duchi"
    if name == "discrete-piecewise":
        _, cells, window = best_shape(epsilon)
        return f"piecewise on {cells} cells with a window of {window}"
    if name == "square-wave":
        return "made for distributions; its affine estimate of the mean is unbiased"
    return "additive noise without bounds"


def _because_k(name: str, epsilon: float, attributes: int, k: int) -> str:
    if attributes == 1:
        return ""
    if k == 1:
        return "; reports one attribute: more would divide epsilon too far"
    single, several = unit_variance(name, epsilon), unit_variance(name, epsilon / k) / k
    return (
        f"; {k} attributes at epsilon {epsilon / k:.3g} each: variance {several / single:.0%} of that for one"
    )
