"""The problem ``item-sets``: which private report of a set of items lets shares be estimated best.

With z = e^epsilon - 1, sets of l of d items, all equally frequent, and a report of w of N = d + l, the chance
that a uniform subset misses the set is m = C(N - w, l) / C(N, l), and that a hit is reported is
pi = e^epsilon h / (1 + z h) for h = 1 - m. An own item is reported with p = pi w / (N h), any other with
q = pi (w / N - m w / (N - l)) / h + (1 - pi) w / (N - l). The proofs, and that no private channel has less
than :func:`set_variance_bound`, are in docs/families/marginals_items.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError, counted
from mechdesign.core.fields import Kept, checked, frozen_problem, real, related, whole
from mechdesign.core.problem import Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import MOST_USERS, finite_array, integer, privacy_epsilon
from mechdesign.families.marginals.frequency_oracle import listed_count, listed_names
from mechdesign.families.marginals.items.hashing import SetHashing, hashing_bits, hashing_shares
from mechdesign.families.marginals.items.selection import (
    MOST_ITEMS,
    MOST_LENGTH,
    SetSelection,
    separator_text,
)

Array = NDArray[np.float64]

LEAST, LARGEST = 2.0**-20, 12.0
"""With a smaller epsilon integers out of 2**62 are too coarse; with a larger one drawing takes too long."""
EXHAUSTIVE = 2048
"""Up to so many sizes of reports all are tried."""
SAFETY = 2.0**-40


def selection_shares(
    items: int, length: int, sizes: NDArray[np.int64], epsilon: float
) -> tuple[Array, Array]:
    """Return p and q of set selection for each number w of reported items.

    Examples
    --------
    >>> own, other = selection_shares(3, 1, np.array([1]), math.log(3.0))
    >>> own.round(12), other.round(12)  # randomized response among three items and a dummy: 3/6, 1/6
    (array([0.5]), array([0.16666667]))
    """
    whole, w = items + length, sizes.astype(np.float64)
    steps = np.arange(length, dtype=np.float64)
    with np.errstate(divide="ignore"):
        logarithm = np.log1p(-w[:, None] / (whole - steps)).sum(axis=1)
    miss, hit = np.exp(logarithm), -np.expm1(logarithm)
    taken = hit / (hit + math.exp(-epsilon) * miss)
    beside = w / (whole - length)
    return taken * w / (whole * hit), taken * (w / whole - miss * beside) / hit + (1.0 - taken) * beside


def even_variances(
    items: int,
    length: int,
    sizes: NDArray[np.int64],
    epsilon: float,
    held: float | None = None,
    shares: Callable[..., tuple[Array, Array]] = selection_shares,
) -> Array:
    """Return users times the variance of a share, all sets of ``length`` items being equally frequent.

    Or, where users have ``held`` items on average, all sets of one size. By default of set selection.

    Examples
    --------
    >>> even_variances(17, 5, np.array([1, 2]), 1.0).round(3)
    array([14.83 , 17.774])
    """
    own, other = shares(items, length, sizes, epsilon)
    mixed = other + (length if held is None else held) / items * (own - other)
    with np.errstate(divide="ignore"):  # where every subset is a hit
        result: Array = mixed * (1.0 - mixed) / (own - other) ** 2
    return result


def set_variance_bound(items: int, length: int, epsilon: float) -> float:
    """Return a lower bound of the same for every private channel and every unbiased estimator.

    It is l (1 - l/d) (1 - 1/d) 4 e^epsilon / (e^epsilon - 1)^2, and at least that of a draw of users.

    Examples
    --------
    >>> round(set_variance_bound(1000, 5, 1.0), 3), round(set_variance_bound(6, 2, 12.0), 6)
    (18.303, 0.222222)
    """
    shares = np.zeros(length + 1)
    shares[length] = 1.0
    return mixed_variance_bound(items, shares, epsilon)


def mixed_variance_bound(items: int, shares: Array, epsilon: float) -> float:
    """Return the bound for sets of several sizes: ``shares`` of users with 0, 1, 2, ... items.

    Examples
    --------
    >>> round(mixed_variance_bound(1000, np.array([0.0, 0.5, 0.0, 0.5]), 1.0), 3)
    7.347
    """
    sizes = np.arange(len(shares), dtype=np.float64)
    share = float(sizes @ shares) / items
    across = float((sizes * (items - sizes)) @ shares) / (items * (items - 1.0))
    along = (float(sizes**2 @ shares) - (share * items) ** 2) / items
    noise = 4.0 * math.exp(-epsilon) / math.expm1(-epsilon) ** 2
    draw = share * (1.0 - share)
    spread = max(across, along)
    return max(items * draw**2 / spread * noise if spread else 0.0, draw) * (1.0 - SAFETY)


def best_report_size(
    items: int,
    length: int,
    epsilon: float,
    most: int,
    held: float | None = None,
    shares: Callable[..., tuple[Array, Array]] = selection_shares,
) -> int:
    """Return the number of reported items, at most ``most``, with the least variance.

    Examples
    --------
    >>> best_report_size(1000, 5, 1.0, 1000), best_report_size(1000, 5, 1.0, 10)
    (52, 10)
    """
    sizes = np.arange(1, min(most, items) + 1, dtype=np.int64)
    if len(sizes) > EXHAUSTIVE:
        rough = np.unique(np.geomspace(1, sizes[-1], 400).astype(np.int64))
        place = int(np.argmin(even_variances(items, length, rough, epsilon, held, shares)))
        ends = rough[max(0, place - 1)], rough[min(len(rough) - 1, place + 1)]
        sizes = np.unique(np.linspace(*ends, EXHAUSTIVE).astype(np.int64))
    return int(sizes[np.argmin(even_variances(items, length, sizes, epsilon, held, shares))])


def item_epsilon(field: str, value: Any) -> float:
    """Return an epsilon that weights of 62 bits can tell, or 0."""
    epsilon = privacy_epsilon(value, field)
    if epsilon and not LEAST <= epsilon <= LARGEST:
        what = f"{epsilon:g} is outside [{LEAST:.2g}, {LARGEST:g}]"
        raise ParameterError(field, what, "give an epsilon between")
    return epsilon


def _most(problem: Any, field: str, value: Any) -> int:
    """Return the most items of a set: as given, or the last size that has a share."""
    sizes = problem.sizes
    if value is None and sizes is None:
        raise ParameterError(field, "is missing", "write most = 5, or sizes = [0.1, 0.5, 0.4]")
    number = integer(field, len(sizes) - 1 if value is None else value, 1, problem.categories)
    if sizes is not None and len(sizes) - 1 > number:
        what = f"has {counted(len(sizes) - 1, 'item')} at most, and most = {number}"
        raise ParameterError("sizes", what, "give sizes from 0 to most")
    return number


def _sizes(field: str, value: Any) -> tuple[float, ...] | None:
    """Return the shares of users with 0, 1, 2, ... items."""
    if value is None:
        return None
    shares = finite_array(field, value, 1)
    possible = len(shares) > 1 and shares.min() >= 0.0 and shares.max() <= 1.0 and shares[-1] > 0.0
    if not possible or abs(shares.sum() - 1.0) > 1e-6:
        what = "are not shares of users with 0, 1, 2, ... items that sum to 1"
        raise ParameterError(field, what, "give for instance [0.1, 0.5, 0.4]")
    if shares[0] == 1.0:
        raise ParameterError(field, "leave every set empty", "give larger sets a share")
    return tuple(shares.tolist())


def _length(problem: Any, field: str, value: Any) -> int | None:
    return None if value is None else integer(field, value, 1, min(problem.most, MOST_LENGTH))


def separator_of(problem: Any, field: str, value: Any) -> str:
    """Return what stands between items in a cell."""
    return separator_text(field, value, problem.labels or ())


def items_of_bits(items: int, bits: int | None) -> int:
    """Return how many of the items a report of so many bits can name.

    Examples
    --------
    >>> items_of_bits(1000, None), items_of_bits(1000, 1000), items_of_bits(1000, 35)
    (1000, 1000, 3)
    """
    return items if bits is None or bits >= items else bits // (items - 1).bit_length()


@frozen_problem()
class ItemSets(Problem[SetSelection]):
    r"""The report of a set of items of a long list from which the share of each item is estimated best.

    ::

        minimize    n E (estimated share - share)^2
        over        lengths l, and channels with p(y | S) <= e^eps p(y | S') for all sets of at most l items;
                    of larger sets l items are sampled

    The variance is that of sets of l items, or of the stated sizes, that are all equally frequent, the bias
    that of an item of the share ``share`` whose users have sets like all others.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: Wang, Li, Jha (2018) for padding and sampling; docs/families/marginals_items.md for the channel
    and the bound.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.ItemSets(categories=1000, most=5, epsilon=1.0))
    >>> dict(solution.variables), round(solution.value, 3), round(solution.bound, 3)
    ({'length': 5, 'size': 52}, 20.559, 18.303)
    """

    name: ClassVar[str] = "item-sets"
    example: ClassVar[Mapping[str, Any]] = {"categories": 50, "most": 3, "epsilon": 1.0}
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("epsilon",)
    value_name: ClassVar[str] = "users x mean squared error of a share"
    trivial: ClassVar[float | None] = 0.0
    unstated: ClassVar[str] = "it is a choice of two whole numbers, with a formula in them"
    summary: ClassVar[str] = "best private report of a set of items, for the share of each"
    compared_with: ClassVar[str] = "all epsilon-private channels with unbiased estimators, for each length"

    labels: Sequence[str] | None = checked(
        "Names of the items; their number is that of the names.",
        listed_names,
        form="sequence of str",
        default=None,
    )
    categories: Kept[int, int | None] = related(
        "Number d of items, at least 2; not needed with ``labels``.",
        listed_count(MOST_ITEMS, "items", '"bread", "milk"'),
        form="int",
        limits={"minimum": 2, "maximum": MOST_ITEMS},
        default=None,
        fills=True,
    )
    epsilon: float = checked(
        "For the whole set. With 0 a report contains no information, and the problem is infeasible.",
        item_epsilon,
        limits={"minimum": 0, "maximum": LARGEST},
        form="float",
    )
    sizes: Sequence[float] | None = checked(
        "Shares of users with 0, 1, 2, ... items, known or assumed; they decide how many items are sampled.",
        _sizes,
        form="sequence of float",
        default=None,
    )
    most: Kept[int, int | None] = related(
        "The most items of a set; a client refuses larger ones. Not needed with ``sizes``.",
        _most,
        form="int",
        limits={"minimum": 1, "maximum": MOST_ITEMS},
        default=None,
        fills=True,
    )
    users: int = whole("Number of users who report.", low=1, high=MOST_USERS, default=10_000)
    share: float = real("Share of the item whose bias counts.", low=0.0, high=1.0, default=0.05)
    length: int | None = related(
        "Number l of items that sets are filled or sampled to; by default the one of least error.",
        _length,
        form="int",
        limits={"minimum": 1, "maximum": MOST_LENGTH},
        default=None,
    )
    max_report_bits: int | None = whole("The most bits that a report may have.", low=1, default=None)
    separator: str = related(
        "What stands between items in a cell of a table.", separator_of, form="str", default=";"
    )

    @property
    def planned_users(self) -> int | None:
        """Number of users who will report."""
        return self.users

    def bias(self, length: int) -> float:
        """Return the part of the share that is missing: sets like the average sampled to this length."""
        if self.sizes is None:
            return 0.0 if length >= self.most else 1.0 - length / self.most
        sizes, shares = np.arange(len(self.sizes)), np.array(self.sizes)
        return 1.0 - float((np.minimum(sizes, length) @ shares) / (sizes @ shares))

    def sampled_sizes(self, length: int) -> Array:
        """Return shares of users with 0, 1, 2, ... items after sampling; all have ``length`` by default."""
        shares = np.zeros(length + 1)
        if self.sizes is None:
            shares[length] = 1.0
        else:
            np.add.at(shares, np.minimum(np.arange(len(self.sizes)), length), self.sizes)
        return shares

    def held(self, length: int) -> float:
        """Return how many items a user has on average, after sampling."""
        return float(np.arange(length + 1) @ self.sampled_sizes(length))

    def with_bias(self, length: int, variance: float) -> float:
        """Return users times the mean squared error."""
        return variance + self.users * (self.share * self.bias(length)) ** 2

    def lengths(self) -> range:
        """Return the lengths to choose from."""
        last = min(self.most, MOST_LENGTH)
        if self.length is not None:
            return range(self.length, self.length + 1)
        return range(1, last + 1) if self.sizes is not None else range(last, last + 1)

    def report_items(self) -> int:
        """Return the most items that a report may have."""
        return items_of_bits(self.categories, self.max_report_bits)

    def objective(self, variables: Variables) -> float:
        length = integer("length", variables["length"], 1, self.most)
        size = integer("size", variables["size"], 1, self.categories)
        shares = hashing_shares if variables.get("hashed") else selection_shares
        values = even_variances(
            self.categories, length, np.array([size]), self.epsilon, self.held(length), shares
        )
        return self.with_bias(length, float(values[0]))

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how many items or bits reports are too long; they are private by what they are."""
        if variables.get("hashed"):
            bits = hashing_bits(self.categories, int(variables["length"]))
            return {"report_bits": float(max(0, bits - (self.max_report_bits or bits)))}
        return {"report_items": float(max(0, int(variables["size"]) - self.report_items()))}

    def lower_bound(self) -> float:
        """Return the least, over the lengths, of the bound for every channel and the bias."""
        return min(
            self.with_bias(
                each, mixed_variance_bound(self.categories, self.sampled_sizes(each), self.epsilon)
            )
            for each in self.lengths()
        )

    def mechanism(self, solution: Solution[Any]) -> SetSelection:
        kind = SetHashing if solution.variables.get("hashed") else SetSelection
        return kind.of(
            self.categories,
            self.epsilon,
            int(solution.variables["length"]),
            int(solution.variables["size"]),
            self.most,
            self.labels,
            separator=self.separator,
        )

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        mechanism = solution.mechanism()
        deployed = self.with_bias(
            mechanism.length, mechanism.variance_at(self.held(mechanism.length) / self.categories)
        )
        proofs = list(mechanism.certificates())
        if solution.bound is None:
            return (*proofs, self.optimality(solution))
        excess = deployed - solution.bound
        figures = {"gap": solution.gap, "deployed_value": deployed, "excess": excess}
        return (*proofs, self.optimality(solution, excess, solution.bound, figures=figures))


def selection_outcome(problem: ItemSets, most: int) -> Outcome:
    """Return the best length and number of reported items, at most ``most``, with the bound."""
    if problem.epsilon == 0.0:
        message = "with epsilon = 0 reports contain no information; give a larger epsilon"
        return Outcome(status="infeasible", solver="formula", message=message)
    allowed = min(most, problem.report_items())
    if allowed < 1:
        least = (problem.categories - 1).bit_length()
        message = f"a report names at least one item; max_report_bits has to be at least {least}"
        return Outcome(status="infeasible", solver="formula", message=message)
    designs = [
        {
            "length": length,
            "size": best_report_size(
                problem.categories, length, problem.epsilon, allowed, problem.held(length)
            ),
        }
        for length in problem.lengths()
    ]
    return best_outcome(problem, designs)


def hashing_outcome(problem: ItemSets) -> Outcome:
    """Return the best length and the best w of set hashing within the limit of bits, with the bound."""
    lengths = [each for each in problem.lengths() if hashing_fits(problem, each)]
    if problem.epsilon == 0.0 or not lengths:
        return selection_outcome(problem, problem.categories)
    designs = [
        {
            "length": length,
            "size": best_report_size(
                problem.categories,
                length,
                problem.epsilon,
                problem.categories,
                problem.held(length),
                hashing_shares,
            ),
            "hashed": 1,
        }
        for length in lengths
    ]
    return best_outcome(problem, designs)


def hashing_fits(problem: ItemSets, length: int) -> bool:
    """Whether reports of set hashing have at most as many bits as they may."""
    bits = problem.max_report_bits
    return bits is None or hashing_bits(problem.categories, length) <= bits


def best_outcome(problem: ItemSets, designs: Sequence[Mapping[str, int]]) -> Outcome:
    """Return the design with the least error, next to the bound."""
    variables = min(designs, key=problem.objective)
    value, bound = problem.objective(variables), problem.lower_bound()
    return Outcome(
        status="optimal" if value <= bound * (1.0 + problem.optimal_within) else "feasible",
        variables=variables,
        bound=bound,
        bound_source="the information of a private channel about an average set",
        solver="formula",
        notes={
            "bias": problem.bias(variables["length"]),
            "above_bound": value / bound - 1.0 if bound else math.inf,
        },
    )
