"""The problem ``frequency-oracle``: which private report lets the server estimate frequencies best.

With it stand the oracles that compete: for each the best parameters, the bits of a report, and the mechanism;
and its methods. The default takes, of the oracles whose variance is nearly the least, the one with the
shortest reports. Variances are times the users, of a category whose frequency tends to 0, written in
w = e^-epsilon and 1 - w, so that nothing overflows or cancels. No oracle has less than
:func:`variance_lower_bound`; the proof is in docs/families/marginals_oracles.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.codec import Labels
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError, counted, suggestion
from mechdesign.core.fields import Kept, checked, frozen_problem, real, related, whole
from mechdesign.core.problem import Method, Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import MOST_USERS, integer, privacy_epsilon
from mechdesign.core.values import Remark, changed
from mechdesign.exact.numbers import prime_from
from mechdesign.families.marginals.oracles import (
    HadamardResponse,
    LocalHashing,
    SubsetSelection,
    SupportOracle,
    UnaryEncoding,
)
from mechdesign.families.marginals.oracles.best import BUILT
from mechdesign.families.marginals.oracles.hashing import LARGEST_REPORT
from mechdesign.families.marginals.oracles.projective import server_can, space_for
from mechdesign.primitives.oracle import Oracle, best_size, subset_bits, subset_variance

Parameters = Mapping[str, Any]

MOST_BUCKETS = 1 << 16
"""No more buckets are tried."""

LARGEST_TRIED = 1 << 10
"""Nor larger fields: their best epsilon is 7."""


Array = NDArray[np.float64]


def optimised_unary_variance(epsilon: float) -> float:
    """Return 4 e^epsilon / (e^epsilon - 1)^2: the own bit kept with 1/2, others set with 1/(e^epsilon + 1).

    Examples
    --------
    >>> round(optimised_unary_variance(math.log(3.0)), 12)
    3.0
    """
    return 4.0 * math.exp(-epsilon) / math.expm1(-epsilon) ** 2


def symmetric_unary_variance(epsilon: float) -> float:
    """Return e^(epsilon/2) / (e^(epsilon/2) - 1)^2: every bit flipped with 1/(e^(epsilon/2) + 1).

    Examples
    --------
    >>> round(symmetric_unary_variance(2.0 * math.log(3.0)), 12)
    0.75
    """
    return math.exp(-epsilon / 2.0) / math.expm1(-epsilon / 2.0) ** 2


def hadamard_variance(epsilon: float) -> float:
    """Return ((e^epsilon + 1) / (e^epsilon - 1))^2.

    Examples
    --------
    >>> round(hadamard_variance(math.log(3.0)), 12)
    4.0
    """
    return ((1.0 + math.exp(-epsilon)) / math.expm1(-epsilon)) ** 2


def local_hashing_variance(categories: int, buckets: NDArray[np.int64], epsilon: float) -> Array:
    """Return the variance of randomized response on buckets of the affine hash family, for each number.

    Two categories share a bucket with the chance c of the family, a little below 1/g. With 1/g it would be
    (e - 1 + g)^2 / ((e - 1)^2 (g - 1)), which is 4 e / (e - 1)^2 at g = e + 1 (Wang et al. 2017, eq. (11)).

    Examples
    --------
    >>> local_hashing_variance(1024, np.array([2, 4, 8]), 1.0).round(4)
    array([4.6736, 3.6824, 4.5562])
    """
    prime = prime_from(categories)
    small, larger = np.divmod(prime, buckets)[0].astype(float), (prime % buckets).astype(float)
    g = buckets.astype(float)
    alike = (larger * (small + 1.0) * small + (g - larger) * small * (small - 1.0)) / (prime * (prime - 1.0))
    w, loss = math.exp(-epsilon), -math.expm1(-epsilon)
    own = 1.0 / (1.0 + (g - 1.0) * w)
    other = own * (w + alike * loss)
    gain = own * loss * (1.0 - alike)
    variances: Array = other * (1.0 - other) / gain**2
    return variances


SAFETY = 2.0**-46
"""More than the dozen roundings of a variance, relative."""


def variance_lower_bound(categories: int, epsilon: float) -> float:
    """Return a lower bound of users times the variance, for every private channel and any reports.

    Examples
    --------
    >>> bound = variance_lower_bound(64, 1.0)
    >>> 3.5 < bound < 4 * np.e / (np.e - 1) ** 2
    True
    """
    sizes = np.arange(1, categories, dtype=np.int64)
    return float(subset_variance(categories, sizes, epsilon).min()) * (1.0 - SAFETY)


def least_bits(categories: int) -> int:
    """Return the bits of a report that can take as many values as there are categories.

    With fewer the frequencies are not determined: D distributions of fewer than D reports are dependent.
    """
    return (categories - 1).bit_length()


@dataclass(frozen=True)
class OracleKind:
    """One kind of oracle.

    Attributes
    ----------
    name, summary : str
    best : callable
        The best parameters for a case, or None where its reports have too many bits or it cannot run.
    bits : callable
        The bits that number all reports, for a case and parameters.
    value : callable
        Users times the variance of a category whose frequency tends to 0.
    needs : str
        Why it may not be possible, in a sentence.
    parameter : str or None
        The name of its parameter, if it has one.
    """

    name: str
    summary: str
    best: Callable[[FrequencyOracle], Parameters | None]
    bits: Callable[[FrequencyOracle, Parameters], int]
    value: Callable[[FrequencyOracle, Parameters], float]
    needs: str
    parameter: str | None = None

    def build(self, case: FrequencyOracle, parameters: Parameters) -> Oracle:
        """Return the mechanism, with exact integer weights."""
        settings = {} if self.parameter is None else {self.parameter: parameters[self.parameter]}
        return BUILT[self.name](case.categories, case.epsilon, labels=case.labels, **settings)


def _always(case: FrequencyOracle, bits: int, most: int = SupportOracle.most_categories) -> Parameters | None:
    fits = case.max_report_bits is None or bits <= case.max_report_bits
    return {} if fits and case.categories <= most else None


# Subset selection


def _best_subset(case: FrequencyOracle) -> Parameters | None:
    if case.categories > SubsetSelection.most_categories:
        return None
    size = best_size(case.categories, case.epsilon, case.max_report_bits)
    return None if size is None else {"size": size}


def _subset_value(case: FrequencyOracle, parameters: Parameters) -> float:
    size = integer("size", parameters["size"], 1, case.categories - 1)
    return float(subset_variance(case.categories, np.array([size]), case.epsilon)[0])


# Local hashing


def _hashing_bits(case: FrequencyOracle, parameters: Parameters) -> int:
    prime = prime_from(case.categories)
    return (prime * (prime - 1) * int(parameters["buckets"]) - 1).bit_length()


def _best_hashing(case: FrequencyOracle) -> Parameters | None:
    prime = prime_from(case.categories)
    seeds = prime * (prime - 1)
    reports = LARGEST_REPORT if case.max_report_bits is None else 1 << min(case.max_report_bits, 53)
    most = min(prime, MOST_BUCKETS, reports // seeds)
    if most < 2 or case.categories > LocalHashing.most_categories:
        return None
    buckets = np.arange(2, most + 1, dtype=np.int64)
    values = local_hashing_variance(case.categories, buckets, case.epsilon)
    return {"buckets": int(buckets[np.argmin(values)])}


def _hashing_value(case: FrequencyOracle, parameters: Parameters) -> float:
    buckets = integer("buckets", parameters["buckets"], 2, prime_from(case.categories))
    return float(local_hashing_variance(case.categories, np.array([buckets]), case.epsilon)[0])


# Projective geometry


def _best_projective(case: FrequencyOracle) -> Parameters | None:
    best: tuple[float, int] | None = None
    field = 2
    while field <= min(LARGEST_TRIED, prime_from(case.categories)):
        space = space_for(case.categories, field)
        short = case.max_report_bits is None or (space.size - 1).bit_length() <= case.max_report_bits
        if short and server_can(space, case.categories):
            value = _projective_value(case, {"field": field})
            best = min(best, (value, field)) if best else (value, field)
        field = prime_from(field + 1)
    return None if best is None else {"field": best[1]}


def _projective_bits(case: FrequencyOracle, parameters: Parameters) -> int:
    return (space_for(case.categories, parameters["field"]).size - 1).bit_length()


def _projective_value(case: FrequencyOracle, parameters: Parameters) -> float:
    space = space_for(case.categories, parameters["field"])
    sizes = np.array([space.on_hyperplane])
    return float(subset_variance(space.size, sizes, case.epsilon)[0])


KINDS: tuple[OracleKind, ...] = (
    OracleKind(
        "subset-selection",
        "a set of k categories, more likely with the user's category",
        _best_subset,
        lambda case, parameters: subset_bits(case.categories, int(parameters["size"])),
        _subset_value,
        f"needs the bits that number the sets, and at most {SubsetSelection.most_categories} categories",
        "size",
    ),
    OracleKind(
        "randomized-response",
        "the category itself, or another one (generalised randomized response)",
        lambda case: _always(case, least_bits(case.categories), 1 << 20),
        lambda case, parameters: least_bits(case.categories),
        lambda case, parameters: _subset_value(case, {"size": 1}),
        "needs log2 D bits",
    ),
    OracleKind(
        "local-hashing",
        "a hash function and a bucket (optimised local hashing)",
        _best_hashing,
        _hashing_bits,
        _hashing_value,
        "needs about 2 log2 D bits for the hash function and one or more for the bucket",
        "buckets",
    ),
    OracleKind(
        "optimised-unary",
        "one bit per category, flipped independently (OUE)",
        lambda case: _always(case, case.categories),
        lambda case, parameters: case.categories,
        lambda case, parameters: optimised_unary_variance(case.epsilon),
        f"needs D bits, and at most {UnaryEncoding.most_categories} categories",
    ),
    OracleKind(
        "symmetric-unary",
        "a bit a category, all flipped with the same probability (basic RAPPOR)",
        lambda case: _always(case, case.categories),
        lambda case, parameters: case.categories,
        lambda case, parameters: symmetric_unary_variance(case.epsilon),
        f"needs D bits, and at most {UnaryEncoding.most_categories} categories",
    ),
    OracleKind(
        "hadamard",
        "a number that a row of a Hadamard matrix marks (Hadamard response)",
        lambda case: _always(case, case.categories.bit_length(), HadamardResponse.most_categories),
        lambda case, parameters: case.categories.bit_length(),
        lambda case, parameters: hadamard_variance(case.epsilon),
        "needs the bits of the number D",
    ),
    OracleKind(
        "projective-geometry",
        "a hyperplane, more likely through the user's point (projective geometry response)",
        _best_projective,
        _projective_bits,
        _projective_value,
        "needs log2 D bits or a few more, and a prime field whose hyperplanes can be counted",
        "field",
    ),
)

NAMES = tuple(kind.name for kind in KINDS)

SHORTEST = "randomized-response"
"""The kind whose reports have the fewest bits of all."""


def kind_of(name: Any) -> OracleKind:
    """Return the kind of oracle of this name.

    Raises
    ------
    ParameterError
        With the closest names.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise ParameterError("oracle", f"no '{name}'", suggestion(str(name), NAMES))


RESOLUTION = 2.0**-40
"""Or by less than this: what rounding to 2**-62 may cost where the variance is next to nothing."""

LEAST = 2.0**-30
"""Below this epsilon the rounding of the weights costs more than a millionth of the variance."""

LARGEST = 700.0
"""Above this epsilon variances are below the least double."""

MOST_CATEGORIES = 1 << 20
"""More categories are refused."""


def _epsilon(field: str, value: Any) -> float:
    epsilon = privacy_epsilon(value, field)
    if 0.0 < epsilon < LEAST:
        what = f"{epsilon:g} is so small that weights of 62 bits cannot distinguish the reports"
        raise ParameterError(field, what, f"give at least {LEAST:.3g}")
    if epsilon > LARGEST:
        what = f"{epsilon:g} leaves no variance to speak of"
        raise ParameterError(field, what, f"give at most {LARGEST:g}")
    return epsilon


def listed_names(field: str, value: Any) -> tuple[str, ...] | None:
    """Return the names of a list, or None where they are the numbers from 0."""
    if value is not None and not isinstance(value, (list, tuple)):
        raise ParameterError(field, f"expected a list of names, got {value!r}")
    return None if value is None else Labels(len(value), tuple(value)).names


def listed_count(most: int, things: str = "categories", example: str = '"no", "yes"') -> Any:
    """Return the check of a number: as given, which has to be that of the names, or theirs."""

    def count_of(problem: Any, field: str, value: Any) -> int:
        names = problem.labels
        if value is None and names is None:
            raise ParameterError(field, "is missing", f"write labels = [{example}], or categories = 2")
        place, count = ("labels", len(names)) if value is None else (field, value)
        number = integer(place, count, 2, most)
        if names is not None and len(names) != number:
            what = f"{counted(len(names), 'name')} for {number} {things}"
            raise ParameterError("labels", what, "give one name each")
        return number

    return count_of


@frozen_problem()
class FrequencyOracle(Problem[Oracle]):
    r"""The report about one of D categories from which frequencies are estimated with the least variance.

    ::

        minimize    n Var(estimate of a category's frequency), as that frequency tends to 0,
                    averaged over the categories, the other ones equally frequent
        over        every channel with  p(y | x) <= e^eps p(y | x')  and every unbiased estimator

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: Zhang (2019), section 2.2, for the setting; docs/families/marginals_oracles.md for the bound.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.FrequencyOracle(categories=64, epsilon=1.0, max_excess=0))
    >>> dict(solution.variables), round(solution.value, 6), solution.status
    ({'oracle': 'subset-selection', 'size': 17}, 3.537193, 'optimal')
    """

    name: ClassVar[str] = "frequency-oracle"
    example: ClassVar[Mapping[str, Any]] = {"labels": ["never", "sometimes", "often"], "epsilon": 1.0}
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("epsilon",)
    value_name: ClassVar[str] = "users x variance of a share"
    trivial: ClassVar[float | None] = 0.0
    unstated: ClassVar[str] = "it is a choice among kinds of reports, each with a formula in a whole number"
    summary: ClassVar[str] = "best private report for frequencies, compared with the popular ones"
    compared_with: ClassVar[str] = "all epsilon-private channels with unbiased estimators"

    labels: Sequence[str] | None = checked(
        "Names of the categories; their number is that of the names.",
        listed_names,
        form="sequence of str",
        default=None,
    )
    categories: Kept[int, int | None] = related(
        "Their number D, at least 2; not needed with ``labels``.",
        listed_count(MOST_CATEGORIES),
        form="int",
        limits={"minimum": 2, "maximum": MOST_CATEGORIES},
        default=None,
        fills=True,
    )
    epsilon: float = checked(
        "From 0 to 700. With 0 a report contains no information, and the problem is infeasible.",
        _epsilon,
        limits={"minimum": 0, "maximum": LARGEST},
        form="float",
    )
    users: int = whole(
        "Number of users who report. The value does not depend on it; standard errors do.",
        low=1,
        high=MOST_USERS,
        default=1,
    )
    max_report_bits: int | None = whole(
        "The most bits that a report may have: its number of possible values is at most 2 to this "
        "power. What draws on public randomness, such as a hash function, is part of the report.",
        low=1,
        default=None,
    )
    max_excess: float = real(
        "The part of the least variance that is given for shorter reports: of all oracles within it, the "
        "default has the shortest. With 0 it has the least variance.",
        low=0.0,
        high=1.0,
        default=0.01,
    )

    @property
    def planned_users(self) -> int | None:
        """Number of users who will report; None for the default of 1, which is a unit and no plan."""
        return self.users if self.users > 1 else None

    # Judging candidates

    def objective(self, variables: Variables) -> float:
        """Return users times the variance for the oracle that ``variables`` names, with its parameters."""
        return kind_of(variables["oracle"]).value(self, variables)

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how many bits reports are too long; the oracles are private by what they are."""
        excess = 0
        if self.max_report_bits is not None:
            excess = kind_of(variables["oracle"]).bits(self, variables) - self.max_report_bits
        return {"report_bits": float(max(0, excess))}

    def lower_bound(self) -> float:
        """Return the bound that holds for every private channel, whatever its reports."""
        return variance_lower_bound(self.categories, self.epsilon)

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        mechanism = solution.mechanism()
        variance = mechanism.variance()
        proofs = list(mechanism.certificates())
        if self.max_report_bits is not None:
            bits = kind_of(solution.variables["oracle"]).bits(self, solution.variables)
            figures = {"bits": bits, "allowed": self.max_report_bits}
            proofs.append(Certificate("report_bits", bits <= self.max_report_bits, True, figures))
        return (*proofs, self._optimality(solution, variance))

    def _optimality(self, solution: Solution[Any], deployed: float) -> Certificate:
        """Judge what would run, not the formula."""
        if solution.bound is None:
            return self.optimality(solution)
        excess = deployed - solution.bound
        figures = {"gap": solution.gap, "deployed_value": deployed, "excess": excess}
        return self.optimality(solution, excess, solution.bound, slack=RESOLUTION, figures=figures)

    # From a solution to something that runs

    def mechanism(self, solution: Solution[Any]) -> Oracle:
        return kind_of(solution.variables["oracle"]).build(self, solution.variables)


def candidate(problem: FrequencyOracle, kind: OracleKind) -> Outcome:
    """Return the outcome of a method for one kind of oracle: its best parameters and the proven bound.

    The status is ``optimal`` where the variance equals the bound, else ``feasible``.
    """
    reason = impossible(problem)
    parameters = None if reason else kind.best(problem)
    if parameters is None:
        return Outcome(status="infeasible", solver="formula", message=reason or kind.needs)
    variables = {"oracle": kind.name, **parameters}
    bound = problem.lower_bound()
    value = problem.objective(variables)
    return Outcome(
        status="optimal" if value <= bound * (1.0 + problem.optimal_within) else "feasible",
        variables=variables,
        bound=bound,
        bound_source="the information of a private channel being a mixture over subset sizes",
        solver="formula",
        notes={"report_bits": kind.bits(problem, variables), "above_bound": value / bound - 1.0},
    )


def impossible(problem: FrequencyOracle) -> str | None:
    """Return why no oracle at all exists, if so."""
    if problem.epsilon == 0.0:
        return "with epsilon = 0 reports contain no information; give a larger epsilon"
    least = least_bits(problem.categories)
    if problem.max_report_bits is not None and problem.max_report_bits < least:
        return (
            f"fewer reports than categories leave the frequencies undetermined; "
            f"max_report_bits has to be at least {least}"
        )
    return None


def why_not(problem: FrequencyOracle, kind: OracleKind) -> str | None:
    """Return why a kind of oracle does not apply where others do, if so."""
    if impossible(problem) is not None or kind.best(problem) is not None:
        return None
    limit = "" if problem.max_report_bits is None else f" ({problem.max_report_bits} are allowed)"
    return f"it {kind.needs}{limit}"


def outlook(problem: FrequencyOracle, solution: Solution[Oracle], users: int | None = None) -> Remark | None:
    """Return the alternative with longer reports and less variance; None where there is none."""
    name = solution.notes.get("least_variance")
    if name is None:
        return None
    bits, longer = solution.notes["report_bits"], solution.notes["its_report_bits"]
    excess = solution.notes["excess"]
    text = (
        f"reports of {counted(bits, 'bit')} for {100.0 * excess:.2g}% more variance than the least: "
        f"'{name}' has that, with {counted(longer, 'bit')} (--method {name}, or max_excess = 0)"
    )
    return Remark(text, {"alternative": name, "alternative_bits": longer, "excess": excess})


WITHIN = 1.0 + 2.0**-40
"""Variances closer than this count as equal; of equally short reports those without a parameter are taken."""

MOST_HASHED = 10**11
"""Users times categories for which a server evaluates hash functions in minutes: with more, local hashing is
not taken for its short reports alone."""


def run_best(problem: FrequencyOracle) -> Outcome:
    """Take the shortest reports of all oracles, each with its best parameters, within ``max_excess``.

    Where that is not the oracle of least variance, the notes name the latter and what it differs by.
    """
    possible = [outcome for outcome in (candidate(problem, kind) for kind in KINDS) if outcome.variables]
    if not possible:
        return candidate(problem, kind_of(SHORTEST))
    values = {outcome.variables["oracle"]: problem.objective(outcome.variables) for outcome in possible}
    least = _shortest(possible, values, WITHIN * min(values.values()))
    quick = [outcome for outcome in possible if outcome is least or not _is_slow(problem, outcome)]
    most = (WITHIN + problem.max_excess) * min(values.values())
    taken = _shortest(quick, values, most)
    if taken.notes["report_bits"] == least.notes["report_bits"]:
        return least
    names = [outcome.variables["oracle"] for outcome in (taken, least)]
    alternative = {
        "least_variance": names[1],
        "its_report_bits": least.notes["report_bits"],
        "excess": values[names[0]] / values[names[1]] - 1.0,
    }
    return changed(taken, notes={**taken.notes, **alternative})


def _shortest(outcomes: list[Outcome], values: dict[str, float], most: float) -> Outcome:
    """Return the outcome with the shortest reports whose variance is at most ``most``."""
    fitting = [outcome for outcome in outcomes if values[outcome.variables["oracle"]] <= most]
    return min(fitting, key=lambda outcome: (outcome.notes["report_bits"], len(outcome.variables)))


def _is_slow(problem: FrequencyOracle, outcome: Outcome) -> bool:
    """Whether the server needs minutes for the reports of the planned users."""
    return outcome.variables["oracle"] == "local-hashing" and problem.users * problem.categories > MOST_HASHED


def method_of(kind: OracleKind) -> Method:
    """Return the method of one oracle: its best parameters, next to the bound for every oracle."""
    return Method(
        name=kind.name,
        problem=FrequencyOracle,
        kind="analytic",
        summary=kind.summary,
        run=lambda problem: candidate(problem, kind),
        why_not=lambda problem: why_not(problem, kind),
    )
