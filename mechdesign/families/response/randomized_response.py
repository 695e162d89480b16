"""The problem ``randomized-response``: the best channel for categorical answers under local privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.channel import FORMER_NOTIONS, NOTIONS
from mechdesign.collect.codec import Labels
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError, counted
from mechdesign.core.fields import (
    Generators,
    Kept,
    checked,
    choice,
    delta_field,
    epsilon_field,
    frozen_problem,
    related,
)
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import finite_array, one_of, probability_vector
from mechdesign.core.values import Matrix, Vector
from mechdesign.exact.numbers import rounding_allowance
from mechdesign.families.response import parameters as priors
from mechdesign.families.response.parameters import (
    DISTANCES_GENERATORS as DISTANCES,
    distance_matrix,
    entropy_bits,
    mutual_information_bits,
)
from mechdesign.primitives.finite import FiniteChannel, PrivacyTarget
from mechdesign.primitives.kary import KaryResponse
from mechdesign.primitives.kary_channel import KaryChannel

if TYPE_CHECKING:
    import cvxpy

Array = NDArray[np.float64]
NamedUtility = Literal["truth", "absolute-loss", "squared-loss", "distance-loss", "mutual-information"]

UTILITIES = ("truth", "absolute-loss", "squared-loss", "distance-loss", "mutual-information")

NAMES = "Names of the answers and of the reports (as many reports as answers: the same names by default)."


def _utility(problem: RandomizedResponse, field: str, value: Any) -> str | Array:
    if isinstance(value, str):
        return one_of(field, value, UTILITIES)
    matrix = finite_array(field, value, 2)
    if matrix.shape[0] != problem.size:
        raise ParameterError(
            field,
            f"has {matrix.shape[0]} rows for {problem.size} answers",
            "give a row an answer, a column a report",
        )
    return matrix


def _distance(problem: RandomizedResponse, field: str, value: Any) -> str | Array:
    if problem.delta > 0:
        raise ParameterError(
            "delta", "metric privacy is defined here for delta = 0 only", "drop delta or distance"
        )
    return value if isinstance(value, str) else finite_array(field, value, 2)


def _labels(problem: RandomizedResponse, field: str, names: Any) -> tuple[str, ...]:
    return _names(field, names, problem.size)


def _report_labels(problem: RandomizedResponse, field: str, names: Any) -> tuple[str, ...]:
    return _names(field, names, problem.reports)


def _names(field: str, names: Any, size: int) -> tuple[str, ...]:
    if not isinstance(names, (list, tuple, np.ndarray)):
        raise ParameterError(field, f"expected a list of names, got {names!r}")
    Labels(size, tuple(names), field)
    return tuple(names)


@frozen_problem(eq=False)
class RandomizedResponse(Problem[FiniteChannel | KaryResponse]):
    r"""The best channel p_ij = Pr[report j | answer i] for a prior under local differential privacy.

    ::

        maximize    sum_ij pi_i U_ij p_ij
        subject to  sum_j max(0, p_ij - e^eps p_i'j) <= delta     for every pair of answers i, i'
                    sum_j p_ij = 1,  p_ij >= 0

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: Zhou, Lu, Wu (2019), eqs. (2)-(4), (13)-(15), (19)-(20).

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0)
    >>> round(md.solve(problem).value, 6)
    0.584847
    """

    name: ClassVar[str] = "randomized-response"
    example: ClassVar[Mapping[str, Any]] = {"prior": [0.5, 0.3, 0.2], "epsilon": 1.0}
    sense: ClassVar[Sense] = "max"
    value_name: ClassVar[str] = "expected utility"
    summary: ClassVar[str] = (
        "optimal channel for categorical answers under (epsilon, delta) or metric privacy"
    )
    generators: ClassVar[Generators] = {"prior": priors.GENERATORS, "distance": DISTANCES}
    is_extended: ClassVar[bool] = False
    levers: ClassVar[tuple[str, ...]] = ("epsilon", "delta")

    prior: Kept[Array, Vector] = checked(
        "Frequencies pi of two answers or more: >= 0, summing to 1.", probability_vector, form="(n,) array"
    )
    epsilon: float = epsilon_field(">= 0 and finite. With 0, a report does not depend on the answer.")
    delta: float = delta_field("In [0, 1).", default=0.0)
    utility: Kept[NamedUtility | Array, NamedUtility | Matrix] = related(
        r"""``"truth"`` is the probability that a report is true (the paper's u); the losses are -\|i - """
        r"j\| and -(i - j)^2 on an ordinal scale, and minus ``distance``; an (n, m) matrix gives the "
        "utility of report j for answer i (give minus a loss) and may have any number m of reports; "
        '``"mutual-information"`` is I(answer; report) in bits.',
        _utility,
        form='{"truth", "absolute-loss", "squared-loss", "distance-loss", "mutual-information"} or array',
        default="truth",
    )
    distance: Kept[Literal["line"] | Array | None, Literal["line"] | Matrix | None] = related(
        r"""Metric privacy: p_ij <= e^(eps d(i, i')) p_i'j instead; delta must be 0. ``"line"`` is \|i - """
        r"i'\|. A 2 x 2 array that is symmetric with a zero diagonal is a distance matrix, not points.",
        _distance,
        form='(n, n) array, "line", or (n, 2) array of points',
        default=None,
    )
    notion: Literal["ldp", "entry-wise"] = choice(
        "How delta is read: over sets of reports (local differential privacy, written above), or entry "
        "by entry as in the paper, p_ij <= e^eps p_i'j + delta. They coincide for two reports and for "
        "delta = 0.",
        NOTIONS,
        default="ldp",
        renamed=FORMER_NOTIONS,
    )
    labels: Sequence[str] | None = related(NAMES, _labels, form="sequence of str", default=None)
    report_labels: Sequence[str] | None = related(NAMES, _report_labels, form="sequence of str", default=None)

    def __attrs_post_init__(self) -> None:
        if self.size < 2:
            raise ParameterError("prior", "has a single answer, so there is nothing to protect", "give two")
        _ = self._distances  # what is not a distance is refused here
        if self.distance is None and isinstance(self.utility, str) and self.utility == "distance-loss":
            raise ParameterError("utility", "'distance-loss' needs a distance", "give one")

    # Shape and data

    @property
    def size(self) -> int:
        """Number n of answers."""
        return len(self.prior)

    @property
    def reports(self) -> int:
        """Number m of reports."""
        return self.size if isinstance(self.utility, str) else int(self.utility.shape[1])

    @property
    def is_linear(self) -> bool:
        """Whether the utility is linear in the channel."""
        return not isinstance(self.utility, str) or self.utility != "mutual-information"

    def utility_matrix(self) -> Array:
        """Return U, shape (n, m); only for linear utilities."""
        if not isinstance(self.utility, str):
            return self.utility
        if self.utility == "truth":
            return np.eye(self.size)
        if self.utility == "distance-loss":
            distance = self.distances()
            assert distance is not None
            return -distance
        places = np.arange(self.size, dtype=np.float64)
        steps: Array = places[:, None] - places
        return -np.abs(steps) if self.utility == "absolute-loss" else -(steps**2)

    def weights(self) -> Array:
        """Return pi_i U_ij, the coefficient of each p_ij in the objective."""
        return self.prior[:, None] * self.utility_matrix()

    def centred_weights(self) -> tuple[Array, float]:
        """Return the coefficients less those of each answer's best report, and what that took away.

        Adding a constant to a row of U adds a constant to the objective; solvers, whose tolerances are
        absolute, should see the differences only.
        """
        weights = self.weights()
        best = weights.max(axis=1)
        return weights - best[:, None], math.fsum(best.tolist())

    def distances(self) -> Array | None:
        """Return the (n, n) distance matrix, or None without metric privacy."""
        return self._distances

    @cached_property
    def _distances(self) -> Array | None:  # of hundreds of points they take seconds, in fractions
        if self.distance is None:
            return None
        matrix = distance_matrix(self.distance, self.size)
        matrix.setflags(write=False)
        return matrix

    def target(self) -> PrivacyTarget:
        """Return the guarantee that a channel must satisfy."""
        return self._target

    @cached_property
    def _target(self) -> PrivacyTarget:
        return PrivacyTarget(self.epsilon, self.delta, self.distances(), self.notion)

    # As a program

    def statement(self) -> cvxpy.Problem:
        import cvxpy as cp

        channel = cp.Variable((self.size, self.reports), name="channel", nonneg=True)
        first, second = np.nonzero(~np.eye(self.size, dtype=np.bool_))  # every pair of answers
        distances = self.distances()
        exponents = self.epsilon * (np.ones(len(first)) if distances is None else distances[first, second])
        over = channel[first] - cp.multiply(np.exp(exponents)[:, None], channel[second])
        if self.delta > 0 and self.notion == "ldp":  # over sets of reports
            privacy = cp.sum(cp.pos(over), axis=1) <= self.delta
        else:
            privacy = over <= self.delta
        rows = [cp.sum(channel, axis=1) == 1, privacy.set_label("privacy"), *self.own_rows(channel)]
        return cp.Problem(cp.Maximize(self.utility_of(channel)), rows)

    def utility_of(self, channel: cvxpy.Variable) -> cvxpy.Expression:
        """Return the expected utility of a channel in cvxpy."""
        import cvxpy as cp

        return cp.sum(cp.multiply(self.weights(), channel))

    def own_rows(self, channel: cvxpy.Variable) -> list[cvxpy.Constraint]:
        """Return custom constraints on a channel, in cvxpy."""
        return []

    def why_no_statement(self) -> str | None:
        if not self.is_linear and getattr(self, "own_utility", None) is None:
            return "mutual information is convex in the channel, so maximising it is not a convex program"
        distances = self.distances()
        reach = self.epsilon * (1.0 if distances is None else float(distances.max()))
        return f"its coefficients reach e^{reach:.0f}; the limit is e^15" if reach > 15 else None

    def statement_size(self) -> int:
        return self.size * (self.size - 1) * self.reports

    # Judging candidates

    def objective(self, variables: Variables) -> float:
        """Return the expected utility of ``variables["channel"]``."""
        channel = variables["channel"]
        if isinstance(channel, KaryChannel) and isinstance(self.utility, str) and self.utility == "truth":
            return math.fsum((self.prior * channel.diagonal()).tolist())
        dense = np.asarray(channel, dtype=np.float64)
        if not self.is_linear:
            return mutual_information_bits(self.prior, dense)
        if isinstance(self.utility, str) and self.utility == "truth":
            return math.fsum((self.prior * np.diag(dense)).tolist())
        return math.fsum((self.weights() * dense).ravel().tolist())

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return the largest violations of row sums, signs and privacy (in floating point)."""
        channel = variables["channel"]
        exponential = math.exp(min(self.epsilon, 700.0))
        if isinstance(channel, KaryChannel):
            total = channel.high + (len(channel.kept) - 1) * channel.low
            excess = (channel.high - exponential * channel.low) if len(channel.kept) > 1 else 0.0
            return {
                "row_sums": abs(total - 1.0),
                "signs": max(0.0, -channel.low),
                "privacy": max(0.0, (1.0 - channel.delta) * excess + channel.delta - self.delta),
            }
        dense = np.asarray(channel, dtype=np.float64)
        return {
            "row_sums": float(np.abs(dense.sum(axis=1) - 1.0).max()),
            "signs": max(0.0, -float(dense.min())),
            "privacy": self._privacy_excess(dense, exponential),
        }

    def _privacy_excess(self, channel: Array, exponential: float) -> float:
        distance = self.distances()
        if distance is not None:
            factors = np.exp(np.minimum(self.epsilon * distance, 700.0))
            rows = (float((channel[i] - factors[i][:, None] * channel).max()) for i in range(self.size))
            return max(0.0, *rows)
        if self.notion == "entry-wise" or self.delta == 0.0:
            worst = float((channel.max(axis=0) - exponential * channel.min(axis=0)).max())
        else:
            worst = max(
                float(np.maximum(channel - exponential * row, 0.0).sum(axis=1).max()) for row in channel
            )
        return max(0.0, worst - self.delta)

    # From a solution to something that runs

    def mechanism(self, solution: Solution[Any]) -> FiniteChannel | KaryResponse:
        """Return the exactly private mechanism of a solution: rounded to integers, audited, or refused."""
        channel = solution.realisation if solution.realisation is not None else solution.variables["channel"]
        if isinstance(channel, KaryChannel) and self.report_labels in (None, self.labels):
            return KaryResponse.from_channel(channel, self.labels)
        report_labels = self.report_labels
        if report_labels is None and self.reports == self.size:
            report_labels = self.labels
        return FiniteChannel.from_floats(np.asarray(channel), self.target(), self.labels, report_labels)

    def among(self) -> str:
        """Return the set of channels among which an optimum is one."""
        private = "epsilon-private" if self.delta == 0.0 else f"(epsilon, delta)-private ({self.notion})"
        if self.distance is not None:
            private = "metric-private"
        more = ", within the custom constraints" if self.is_extended else ""
        return (
            f"all {private} channels from {counted(self.size, 'answer')} to "
            f"{counted(self.reports, 'report')}{more}"
        )

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return privacy and normalization of the mechanism that would run, and optimality of the value."""
        mechanism = solution.mechanism()
        return (*mechanism.certificates(), self._optimality(solution, self._deployed_value(mechanism)))

    def _optimality(self, solution: Solution[Any], deployed: float) -> Certificate:
        """Judge what would run, not what the solver said; a value beyond its own bound fails as well."""
        figures = {"deployed_value": deployed, "lost_by_rounding": solution.value - deployed}
        if solution.bound is None:
            return self.optimality(solution, unproven=figures)
        allowance = rounding_allowance(self.objective_scale(), 64 * (self.size + self.reports))
        shortfall = solution.bound - deployed
        left = shortfall if solution.value <= solution.bound + allowance else math.inf
        figures = {"gap": solution.gap, "shortfall": shortfall, **figures}
        return self.optimality(
            solution, left, self.at_stake(solution.value, solution.bound), slack=allowance, figures=figures
        )

    def at_stake(self, value: float, bound: float) -> float:
        """Return the utility at stake: best report always against worst report always, or the bound."""
        if not self.is_linear:
            return abs(bound)
        if isinstance(self.utility, str) and self.utility == "truth":
            return 1.0
        utility = self.utility_matrix()
        return float(self.prior @ (utility.max(axis=1) - utility.min(axis=1)))

    def trivial_bound(self) -> float | None:
        """Return what answers in clear are worth: the best report for each, or the entropy of the prior."""
        if not self.is_linear:
            return entropy_bits(self.prior) * (1.0 + 2.0**-40)
        if isinstance(self.utility, str) and self.utility == "truth":
            return 1.0
        best = math.fsum((self.prior * self.utility_matrix().max(axis=1)).tolist())
        return best + rounding_allowance(self.objective_scale())

    def objective_scale(self) -> float:
        """Return the largest utility, which probabilities weigh with at most 1 in all; or the information."""
        if not self.is_linear:
            return entropy_bits(self.prior)
        if isinstance(self.utility, str) and self.utility == "truth":
            return 1.0
        return float(np.abs(self.utility_matrix()).max())

    def _deployed_value(self, mechanism: FiniteChannel | KaryResponse) -> float:
        if isinstance(mechanism, KaryResponse):
            return math.fsum((self.prior * mechanism.diagonal).tolist())
        return self.objective({"channel": mechanism.channel})
