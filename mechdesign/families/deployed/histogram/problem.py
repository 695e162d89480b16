"""The problem ``deployed-histogram``: the least noise of clients for summed one-hot vectors, for all data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from mechdesign.collect import Mechanism
from mechdesign.core.certificate import Certificate
from mechdesign.core.fields import frozen_problem, real, whole
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.families.deployed.audit.flipped_counts import attacked_delta, flipped_delta

LEAST, MOST = 0.01, 12.0
"""Local epsilon: below, counts are noise; above, rounding shows next to delta."""

REAL = "for real numbers, by a dominating pair over all data of the others"


@cache
def _proven(users: int, local_epsilon: float, epsilon: float) -> float:
    """Return the proven delta, computed once."""
    return flipped_delta(users, local_epsilon, epsilon)


@frozen_problem()
class DeployedHistogram(Problem[Mechanism]):
    r"""The least noise of clients that keeps (epsilon, delta) for a sum of one-hot vectors, for all data.

    ::

        minimize    standard deviation of a debiased count, sqrt(n e^eps0) / (e^eps0 - 1)
        over        eps0, where each bit of a one-hot vector is flipped with 1/(e^eps0 + 1)
        such that   the sum of n vectors is (epsilon, delta)-private when one user's vector is replaced,
                    whatever the others hold

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: draft-wang-ppm-differential-privacy, section "Prio3MultiHotHistogram with Client Randomization",
    which states eps0 for three pairs of epsilon and delta and leaves the justification open. All n clients
    are honest. The proof is in docs/families/deployed.md.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.DeployedHistogram(users=1000, epsilon=1.0, delta=1e-6, stated_local_epsilon=2.0)
    >>> solution, stated = md.solve(problem), md.solve(problem, "as-deployed")
    >>> round(solution.value, 1), round(stated.value, 1)
    (7.1, 13.5)
    """

    name: ClassVar[str] = "deployed-histogram"
    example: ClassVar[Mapping[str, Any]] = {"users": 10000, "epsilon": 1.0, "delta": 1e-8}
    sense: ClassVar[Sense] = "min"
    value_name: ClassVar[str] = "standard deviation of a count"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "least noise of clients for summed one-hot vectors, proven for all data"
    compared_with: ClassVar[str] = "all flips of bits with one probability that keep epsilon and delta"
    optimal_within: ClassVar[float] = 0.02

    users: int = whole("Number of honest clients n in a batch.", low=2, high=10**6)
    epsilon: float = real("Central epsilon of the sum, from 0.02 to 8.", low=0.02, high=8.0)
    delta: float = real("Central delta of the sum, from 1e-10 to 0.1.", low=1e-10, high=0.1)
    stated_local_epsilon: float | None = real(
        "The eps0 that a system states for this epsilon and delta, from 0.01 to 12.",
        low=LEAST,
        high=MOST,
        default=None,
        form="float",
    )

    def deviation(self, local_epsilon: float) -> float:
        """Return the standard deviation of a debiased count."""
        return math.sqrt(self.users * math.exp(local_epsilon)) / math.expm1(local_epsilon)

    def proven_delta(self, local_epsilon: float) -> float:
        """Return an upper bound of delta for all data."""
        return _proven(self.users, local_epsilon, self.epsilon)

    def attacked_delta(self, local_epsilon: float) -> float:
        """Return a lower bound of delta: the others all hold the same."""
        return attacked_delta(self.users, local_epsilon, self.epsilon)

    # Judging candidates

    def objective(self, variables: Variables) -> float:
        """Return the standard deviation of a debiased count."""
        return self.deviation(float(variables["local_epsilon"]))

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by which part the proven delta exceeds the required one."""
        return {"delta": max(0.0, self.proven_delta(float(variables["local_epsilon"])) / self.delta - 1.0)}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return whether delta is proven, and the distance from noise that an attack refutes."""
        local = float(solution.variables["local_epsilon"])
        found = self.proven_delta(local)
        figures = {"epsilon": self.epsilon, "delta": self.delta, "proven_delta": found}
        figures["attacked_delta"] = self.attacked_delta(local)
        witness = {"others": "all hold what the user holds, or all what the user does not hold"}
        promise = Guarantee(self.epsilon, self.delta, "central", covers="the aggregate")
        kept = Certificate.of_privacy(Proof(promise, None, found, exact=False), figures, witness, REAL)
        return kept, self.optimality(solution)

    def why_no_mechanism(self) -> str:
        """Return why the result is not a mechanism, and its use."""
        return (
            "it states the noise of clients of a secure aggregation, which runs elsewhere: for a trusted "
            "shuffler build a shuffle-histogram model"
        )
