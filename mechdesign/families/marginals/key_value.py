"""The problem ``key-value``: which private report of keys with values estimates shares and means best.

A value becomes one of the two ends of its range at random; the keys with these ends are a set of items out
of 2 d, reported by set selection. The share of a key is the sum of the shares of its ends, share times mean
their difference. No private channel has both variances small: :func:`pair_variance_bound`, with its proof in
docs/families/marginals_items.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Domain
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import Kept, checked, frozen_problem, real, related, whole
from mechdesign.core.problem import Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import MOST_USERS, integer, number
from mechdesign.families.marginals.frequency_oracle import listed_count, listed_names
from mechdesign.families.marginals.item_sets import (
    EXHAUSTIVE,
    LARGEST,
    SAFETY,
    item_epsilon,
    items_of_bits,
    selection_shares,
    separator_of,
)
from mechdesign.families.marginals.items.estimates import PairLaw
from mechdesign.families.marginals.items.selection import MOST_ITEMS, MOST_LENGTH, KeyValueSelection

Array = NDArray[np.float64]


def pair_variances(keys: int, length: int, sizes: NDArray[np.int64], epsilon: float) -> tuple[Array, Array]:
    """Return users times the variance of a share, and of the difference of the shares of its two ends.

    All sets of ``length`` of the keys are equally frequent, and so are both ends.

    Examples
    --------
    >>> share, difference = pair_variances(500, 5, np.array([52]), 1.0)
    >>> share.round(2), difference.round(2)
    (array([41.08]), array([41.16]))
    """
    own, other = selection_shares(2 * keys, length, sizes, epsilon)
    whole, w, part = 2 * keys + length, sizes.astype(np.float64), length / keys
    miss = np.exp(np.log1p(-w[:, None] / (whole - np.arange(length))).sum(axis=1))
    taken = (1.0 - miss) / (1.0 - miss + math.exp(-epsilon) * miss)
    two = w * (w - 1.0) / (whole * (whole - 1.0))
    beside = w * (w - 1.0) / ((whole - length) * (whole - length - 1.0))
    both = taken * two / (1.0 - miss)
    neither = taken * (two - miss * beside) / (1.0 - miss) + (1.0 - taken) * beside
    laws = [PairLaw(*row) for row in np.stack([own, other, both, neither], axis=1).tolist()]
    shares = [law.share_variance(part) + part * (1.0 - part) for law in laws]
    return np.array(shares), np.array([law.difference_variance(part) for law in laws])


def pair_variance_bound(keys: int, length: int, epsilon: float) -> float:
    """Return a lower bound of the sum of the two variances, for every private channel.

    With V of the share and U of the difference, l (1 - l/d) (1 - 1/d) / V + l / U is at most
    (e^epsilon - 1)^2 / (4 e^epsilon), so that V + U is at least the square of the sum of the roots, over it.

    Examples
    --------
    >>> round(pair_variance_bound(500, 5, 1.0), 2)
    73.21
    """
    noise = 4.0 * math.exp(-epsilon) / math.expm1(-epsilon) ** 2
    share = math.sqrt(length * (1.0 - length / keys) * (1.0 - 1.0 / keys))
    return noise * (share + math.sqrt(length)) ** 2 * (1.0 - SAFETY)


def best_pair_size(keys: int, length: int, epsilon: float, most: int) -> int:
    """Return the number of reported ends, at most ``most``, with the least sum of the variances."""
    last = min(most, 2 * keys)
    sizes = np.arange(1, last + 1, dtype=np.int64)
    if last > EXHAUSTIVE // 4:
        rough = np.unique(np.geomspace(1, last, 300).astype(np.int64))
        place = int(np.argmin(_sums(keys, length, rough, epsilon)))
        ends = rough[max(0, place - 1)], rough[min(len(rough) - 1, place + 1)]
        sizes = np.unique(np.linspace(*ends, EXHAUSTIVE // 4).astype(np.int64))
    return int(sizes[np.argmin(_sums(keys, length, sizes, epsilon))])


def _sums(keys: int, length: int, sizes: NDArray[np.int64], epsilon: float) -> Array:
    possible = sizes <= 2 * keys - 1
    sums = np.full(len(sizes), np.inf)
    share, difference = pair_variances(keys, length, sizes[possible], epsilon)
    sums[possible] = share + difference
    return sums


def _keys_most(problem: Any, field: str, value: Any) -> int:
    return integer(field, value, 1, min(problem.categories, MOST_LENGTH))


def _length(problem: Any, field: str, value: Any) -> int:
    return integer(field, problem.most if value is None else value, 1, problem.most)


def _high(problem: Any, field: str, value: Any) -> float:
    high = number(field, value)
    if not problem.low < high:
        raise ParameterError(field, f"{high:g} is not above low = {problem.low:g}", "give low < high")
    return Domain(problem.low, high).high


@frozen_problem()
class KeyValue(Problem[KeyValueSelection]):
    r"""The report of keys with a value each from which shares of keys and means of values are estimated best.

    ::

        minimize    n Var(share of a key) + n Var(difference of the shares of its two ends)
        over        channels with p(y | S) <= e^eps p(y | S') for all sets of at most l keys with values

    The variances are those of sets of l keys that are all equally frequent, with ends that are, too.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: Gu, Li, Cheng, Xiong, Cao (2020) for the task; docs/families/marginals_items.md for the channel
    and the bound.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.KeyValue(categories=500, most=5, epsilon=1.0))
    >>> dict(solution.variables), round(solution.value, 2), round(solution.bound, 2)
    ({'length': 5, 'size': 52}, 82.24, 73.21)
    """

    name: ClassVar[str] = "key-value"
    example: ClassVar[Mapping[str, Any]] = {
        "categories": 20,
        "most": 2,
        "epsilon": 1.0,
        "low": 0.0,
        "high": 5.0,
    }
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("epsilon",)
    value_name: ClassVar[str] = "users x variance of a share and of share x mean"
    trivial: ClassVar[float | None] = 0.0
    unstated: ClassVar[str] = "it is a choice of a whole number, with a formula in it"
    summary: ClassVar[str] = "best private report of keys with values, for shares and means"
    compared_with: ClassVar[str] = "all epsilon-private channels of keys and ends with unbiased estimators"

    labels: Sequence[str] | None = checked(
        "Names of the keys; their number is that of the names.",
        listed_names,
        form="sequence of str",
        default=None,
    )
    categories: Kept[int, int | None] = related(
        "Number d of keys, at least 2; not needed with ``labels``.",
        listed_count(MOST_ITEMS, "items", '"bread", "milk"'),
        form="int",
        limits={"minimum": 2, "maximum": MOST_ITEMS // 2},
        default=None,
        fills=True,
    )
    epsilon: float = checked(
        "For all keys and values of a user. With 0 a report contains no information.",
        item_epsilon,
        limits={"minimum": 0, "maximum": LARGEST},
        form="float",
    )
    most: int = related(
        "The most keys of a user; a client refuses more.",
        _keys_most,
        form="int",
        limits={"minimum": 1, "maximum": MOST_LENGTH},
    )
    low: float = real("Least value.", default=-1.0)
    high: float = related("Largest value.", _high, form="float", default=1.0)
    users: int = whole("Number of users who report.", low=1, high=MOST_USERS, default=10_000)
    length: Kept[int, int | None] = related(
        "Number l of keys that are filled or sampled to; by default ``most``, so that nothing is left out.",
        _length,
        form="int",
        limits={"minimum": 1, "maximum": MOST_LENGTH},
        default=None,
        fills=True,
    )
    max_report_bits: int | None = whole("The most bits that a report may have.", low=1, default=None)
    separator: str = related(
        "What stands between keys in a cell of a table.", separator_of, form="str", default=";"
    )

    @property
    def planned_users(self) -> int | None:
        """Number of users who will report."""
        return self.users

    def report_items(self) -> int:
        """Return the most ends that a report may have."""
        return items_of_bits(2 * self.categories, self.max_report_bits)

    def objective(self, variables: Variables) -> float:
        size = integer("size", variables["size"], 1, 2 * self.categories - 1)
        share, difference = pair_variances(self.categories, self.length, np.array([size]), self.epsilon)
        return float(share[0] + difference[0])

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how many ends reports are too long; they are private by what they are."""
        return {"report_items": float(max(0, int(variables["size"]) - self.report_items()))}

    def lower_bound(self) -> float:
        """Return the bound for every private channel."""
        return pair_variance_bound(self.categories, self.length, self.epsilon)

    def mechanism(self, solution: Solution[Any]) -> KeyValueSelection:
        return KeyValueSelection.of(
            self.categories,
            self.epsilon,
            self.length,
            int(solution.variables["size"]),
            self.most,
            self.labels,
            separator=self.separator,
            low=self.low,
            high=self.high,
        )

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        mechanism = solution.mechanism()
        law, part = mechanism.pair_law, self.length / self.categories
        deployed = law.share_variance(part) + part * (1.0 - part) + law.difference_variance(part)
        proofs = list(mechanism.certificates())
        if solution.bound is None:
            return (*proofs, self.optimality(solution))
        excess = deployed - solution.bound
        figures = {"gap": solution.gap, "deployed_value": deployed, "excess": excess}
        return (*proofs, self.optimality(solution, excess, solution.bound, figures=figures))


def pair_outcome(problem: KeyValue, most: int) -> Outcome:
    """Return the best number of reported ends, at most ``most``, with the bound."""
    if problem.epsilon == 0.0:
        message = "with epsilon = 0 reports contain no information; give a larger epsilon"
        return Outcome(status="infeasible", solver="formula", message=message)
    allowed = min(most, problem.report_items())
    if allowed < 1:
        least = (2 * problem.categories - 1).bit_length()
        message = f"a report names at least one end; max_report_bits has to be at least {least}"
        return Outcome(status="infeasible", solver="formula", message=message)
    size = best_pair_size(problem.categories, problem.length, problem.epsilon, allowed)
    variables = {"length": problem.length, "size": size}
    value, bound = problem.objective(variables), problem.lower_bound()
    share, difference = pair_variances(problem.categories, problem.length, np.array([size]), problem.epsilon)
    return Outcome(
        status="optimal" if value <= bound * (1.0 + problem.optimal_within) else "feasible",
        variables=variables,
        bound=bound,
        bound_source="the information of a private channel about an average set",
        solver="formula",
        notes={
            "share_variance": float(share[0]),
            "difference_variance": float(difference[0]),
            "above_bound": value / bound - 1.0,
        },
    )
