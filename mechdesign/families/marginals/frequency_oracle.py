"""The problem ``frequency-oracle``: which private report lets the server estimate frequencies best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from mechdesign.collect.codec import Labels
from mechdesign.collect.oracle import Oracle
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import Kept, checked, frozen_problem, real, related, whole
from mechdesign.core.forecast import Remark
from mechdesign.core.problem import Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.text import counted
from mechdesign.core.validation import MOST_USERS, integer, privacy_epsilon
from mechdesign.families.marginals.oracle_kinds import OracleKind, kind_of
from mechdesign.families.marginals.oracles.best import least_bits, variance_lower_bound

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
        raise ParameterError(
            field,
            f"{epsilon:g} is so small that weights of 62 bits cannot distinguish the reports",
            f"give at least {LEAST:.3g}",
        )
    if epsilon > LARGEST:
        raise ParameterError(
            field, f"{epsilon:g} leaves no variance to speak of", f"give at most {LARGEST:g}"
        )
    return epsilon


def _labels(field: str, value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, (list, tuple)):
        raise ParameterError(field, f"expected a list of names, got {value!r}")
    return Labels(len(value), tuple(value)).names


def _categories(problem: FrequencyOracle, field: str, value: Any) -> int:
    """Return the number of categories: as given, which has to be that of the labels, or theirs."""
    if value is None and problem.labels is None:
        raise ParameterError(field, "is missing", 'write labels = ["no", "yes"], or categories = 2')
    count = None if problem.labels is None else len(problem.labels)
    number = integer(field, count if value is None else value, 2, MOST_CATEGORIES)
    if count not in (None, number):
        raise ParameterError(
            "labels", f"{counted(count, 'name')} for {number} categories", "give one name each"
        )
    return number


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
    summary: ClassVar[str] = "best private report for frequencies, compared with the popular ones"
    compared_with: ClassVar[str] = "all epsilon-private channels with unbiased estimators"

    labels: Sequence[str] | None = checked(
        "Names of the categories; their number is that of the names.",
        lambda field, given: None if given is None else _labels(field, given),
        form="sequence of str",
        default=None,
    )
    categories: Kept[int, int | None] = related(
        "Their number D, at least 2; not needed with ``labels``.",
        _categories,
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
        """Return privacy and normalization of what would run, the length of reports, and optimality."""
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
        """Return the oracle that runs, with exact integer weights."""
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
