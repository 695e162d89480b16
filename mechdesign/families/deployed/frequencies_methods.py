"""The methods of ``deployed-frequencies``, and a system next to the optimum at its exact epsilon, in numbers.

The methods are the optimum and the system as it runs. ``quantities`` are the numbers that claims may name,
among them the epsilon of several reports of one value.
"""

from __future__ import annotations

import math
from typing import Any

from mechdesign.collect.oracle import best_size
from mechdesign.core.problem import Method, Outcome
from mechdesign.core.solution import Solution
from mechdesign.families.deployed.frequencies import DEPLOYED, OPTIMUM, DeployedFrequencies
from mechdesign.families.deployed.systems import KaryRandomizer, RapporSystem

SOURCE = "the information of a private channel being a mixture over subset sizes"


def optimum(problem: DeployedFrequencies) -> Outcome:
    """Return subset selection of the best size at the system's epsilon, which attains the bound."""
    size = best_size(problem.categories, problem.exact_epsilon)
    return Outcome(
        status="optimal",
        variables={"report": OPTIMUM, "size": size},
        bound=problem.lower_bound(),
        bound_source=SOURCE,
        solver="formula",
    )


def as_deployed(problem: DeployedFrequencies) -> Outcome:
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
           "subset selection of the best size at the exact epsilon of the system", optimum),
    Method("as-deployed", DeployedFrequencies, "heuristic",
           "the system with its public parameters", as_deployed),
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
