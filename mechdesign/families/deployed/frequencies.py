"""The problem ``deployed-frequencies``: a system's reports, and the best ones at the same exact epsilon.

The methods are the optimum and the system as it runs. ``quantities`` are the numbers that claims may name,
among them the epsilon of several reports of one value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mechdesign.collect.base import mechanism_type
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import checked, frozen_problem, whole
from mechdesign.core.problem import Method, Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import MOST_USERS
from mechdesign.families.deployed.systems import KaryRandomizer, RapporSystem, System, system_of
from mechdesign.primitives.oracle import Oracle, best_size, subset_variance

DEPLOYED = "as-deployed"
OPTIMUM = "subset-selection"
SAFETY = 2.0**-46
"""More than the dozen roundings of a variance, relative."""

RESOLUTION = 2.0**-40
"""What rounding to integer weights may cost where the variance is next to nothing."""

MOST_CATEGORIES = 1 << 17


@frozen_problem()
class DeployedFrequencies(Problem[Oracle | System]):
    r"""The frequencies that a real system estimates, with the least variance at its exact epsilon.

    ::

        minimize    n Var(estimate of a category's frequency), as that frequency tends to 0,
                    averaged over the categories, the other ones equally frequent
        over        every channel with  p(y | x) <= e^eps p(y | x')  and every unbiased estimator
        where       eps is the exact epsilon of one report of the system

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    The method ``as-deployed`` is the system itself. Sources: docs/families/deployed.md; for the bound
    docs/families/marginals_oracles.md.

    Examples
    --------
    >>> import mechdesign as md
    >>> sketch = {"name": "count-mean-sketch", "given_epsilon": 4.0, "hashes": 65536, "width": 1024}
    >>> problem = md.DeployedFrequencies(system=sketch, categories=2000)
    >>> solution, deployed = md.solve(problem), md.solve(problem, "as-deployed")
    >>> round(solution.value, 4), round(deployed.value, 4), round(deployed.value / solution.value, 2)
    (0.0749, 0.1823, 2.43)
    """

    name: ClassVar[str] = "deployed-frequencies"
    example: ClassVar[Mapping[str, Any]] = {
        "system": {
            **{"name": "rappor", "bits": 16, "hashes": 2, "cohorts": 64},
            **{"p": 0.5, "q": 0.75, "f": 0.5},
        },
        "categories": 100,
    }
    sense: ClassVar[Sense] = "min"
    value_name: ClassVar[str] = "users x variance of a share"
    trivial: ClassVar[float | None] = 0.0
    unstated: ClassVar[str] = "a system is compared with a formula; there is nothing left to choose"
    summary: ClassVar[str] = "frequencies as a real system collects them, and the optimum at its epsilon"
    compared_with: ClassVar[str] = "all epsilon-private channels with unbiased estimators"

    system: Mapping[str, Any] = checked(
        "The system and its public parameters: ``{name = 'rappor', bits, hashes, cohorts, p, q, f}``, "
        "``{name = 'count-mean-sketch', given_epsilon, hashes, width}``, the same with "
        "``'hadamard-count-mean-sketch'``, ``{name = 'd-bit-flip', given_epsilon, bits}``, or "
        "``{name = 'k-ary', p, states}``.",
        lambda field, system: system_of(field, system).plain(),
        form="mapping",
    )
    categories: int = whole("Number of categories D.", low=2, high=MOST_CATEGORIES)
    users: int = whole(
        "Number of users. The value does not depend on it; standard errors do.",
        low=1,
        high=MOST_USERS,
        default=1,
    )

    def __attrs_post_init__(self) -> None:
        if not self.deployed_value() < float("inf"):
            raise ParameterError(
                "system", "its reports contain no information", "set q other than p, and f < 1"
            )

    @cached_property
    def runs(self) -> System:
        """The system that the table states."""
        return system_of("system", self.system)

    @property
    def exact_epsilon(self) -> float:
        """The exact epsilon of one report, rounded up to a double."""
        return self.runs.epsilon

    @property
    def planned_users(self) -> int | None:
        """Number of users; None for the default of 1, which is a unit."""
        return self.users if self.users > 1 else None

    def deployed_value(self) -> float:
        """Return users times the variance of the system."""
        return self.runs.variance(self.categories)

    def lower_bound(self) -> float:
        """Return the bound that holds for every private channel, whatever its reports."""
        sizes = np.arange(1, self.categories, dtype=np.int64)
        return float(subset_variance(self.categories, sizes, self.exact_epsilon).min()) * (1.0 - SAFETY)

    # Judging candidates

    def objective(self, variables: Variables) -> float:
        """Return users times the variance of the report that ``variables`` names."""
        if variables["report"] == DEPLOYED:
            return self.deployed_value()
        size = np.array([variables["size"]], dtype=np.int64)
        return float(subset_variance(self.categories, size, self.exact_epsilon)[0])

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return 0: both reports are private by what they are, and the certificate says so."""
        return {"privacy": 0.0}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return the privacy of the report and, of the optimum, that nothing is better."""
        mechanism = solution.mechanism()
        if isinstance(mechanism, System):
            return (mechanism.privacy(),)
        excess = mechanism.variance() - (solution.bound or 0.0)
        figures = {"gap": solution.gap, "deployed_value": mechanism.variance(), "excess": excess}
        judged = self.optimality(solution, excess, solution.bound, slack=RESOLUTION, figures=figures)
        return (*mechanism.certificates(), judged)

    # From a solution to something that runs

    def mechanism(self, solution: Solution[Any]) -> Oracle | System:
        """Return the optimal mechanism with integer weights, or the system itself, which runs elsewhere."""
        if solution.variables["report"] == DEPLOYED:
            return self.runs
        subsets: Any = mechanism_type("subset-selection")
        oracle: Oracle = subsets.of(self.categories, self.exact_epsilon, size=solution.variables["size"])
        return oracle


SOURCE = "the information of a private channel being a mixture over subset sizes"


def best_subsets(problem: DeployedFrequencies) -> Outcome:
    """Return subset selection of the best size at the system's epsilon, which attains the bound."""
    size = best_size(problem.categories, problem.exact_epsilon)
    return Outcome(
        status="optimal",
        variables={"report": OPTIMUM, "size": size},
        bound=problem.lower_bound(),
        bound_source=SOURCE,
        solver="formula",
    )


def system_in_use(problem: DeployedFrequencies) -> Outcome:
    """Return the system itself with the bound for all reports of its epsilon."""
    bound = problem.lower_bound()
    return Outcome(
        status="feasible",
        variables={"report": DEPLOYED},
        bound=bound,
        bound_source=SOURCE,
        solver="formula",
        notes={"over_bound": problem.deployed_value() / bound},
    )


METHODS = (
    Method("subset-selection", DeployedFrequencies, "analytic",
           "subset selection of the best size at the exact epsilon of the system", best_subsets),
    Method("as-deployed", DeployedFrequencies, "heuristic",
           "the system with its public parameters", system_in_use),
)  # fmt: skip


MANY = (2, 10, 100)
"""Reports of one value whose exact epsilon is stated."""


def quantities(problem: DeployedFrequencies, solution: Solution[Any]) -> dict[str, Any]:
    """Return the exact epsilon, and how many times the variance of the optimum the system has.

    ``over_optimum`` is that ratio, also that of the users needed for equal errors; ``standard_error`` that
    of a rare category for the problem's users, ``optimal_standard_error`` that of the optimum. RAPPOR also
    has ``epsilon_of_2`` and the like, ``epsilon_of_any_number``, and ``ratio_of_one``, e^epsilon as text,
    exactly, or to ten digits where it has thousands. The k-ary randomizer also has ``noise_at_14``, the p
    that gives epsilon 14.
    """
    deployed, bound = problem.deployed_value(), problem.lower_bound()
    numbers: dict[str, Any] = {
        "exact_epsilon": problem.exact_epsilon,
        "deployed": deployed,
        "optimum": bound,
        "over_optimum": deployed / bound,
        "standard_error": math.sqrt(deployed / problem.users),
        "optimal_standard_error": math.sqrt(bound / problem.users),
    }
    system = problem.runs
    if isinstance(system, RapporSystem):
        configuration = system.configuration()
        single, lasting = configuration.audit(1), configuration.audit(None)
        numbers |= {f"epsilon_of_{number}": configuration.audit(number).epsilon for number in MANY}
        numbers |= {"ratio_of_one": single.ratio_text(), "ratio_of_any_number": lasting.ratio_text()}
        numbers["epsilon_of_any_number"] = lasting.epsilon
    if isinstance(system, KaryRandomizer):
        numbers["noise_at_14"] = system.states / (system.states + math.expm1(14.0))
    return numbers
