"""The methods of ``deployed-frequencies``: the optimum, and the system as it runs."""

from __future__ import annotations

from mechdesign.collect.subset_sizes import best_size
from mechdesign.core.method import Method, Outcome
from mechdesign.families.deployed.frequencies.problem import DEPLOYED, OPTIMUM, DeployedFrequencies

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
