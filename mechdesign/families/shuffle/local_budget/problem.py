"""The problem ``shuffle-local-budget``: how little noise each report needs before it is shuffled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

from mechdesign.collect.promise import Promise
from mechdesign.collect.shuffled import Shuffled
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.core.fields import checked, frozen_problem
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.judge import Setting, attacked, case_of
from mechdesign.families.shuffle.local_budget import building
from mechdesign.families.shuffle.randomizers import randomizer_of
from mechdesign.families.shuffle.shuffling import (
    ATTACK_WITHIN,
    Shuffling,
    attack_certificate,
    central_privacy,
    epsilon_of,
    honest_users,
)
from mechdesign.families.shuffle.theorems import LARGEST, TheoremSetting


def _central(field: str, value: Any) -> float:
    epsilon = epsilon_of(field, value)
    if epsilon == 0.0:
        raise ParameterError(field, "is 0, which only reports without information keep", "give more")
    return epsilon


@frozen_problem()
class ShuffleLocalBudget(Shuffling, Problem[Shuffled]):
    r"""The largest local epsilon that is proven to be enough for a central one after shuffling.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: Wang and Meng (2022), section 2.3, tables 2 to 4; docs/families/shuffle.md.

    Examples
    --------
    >>> import mechdesign as md
    >>> kary = {"name": "k-ary", "size": 10}
    >>> problem = md.ShuffleLocalBudget(users=1000000, central_epsilon=0.5, delta=1e-9, randomizer=kary)
    >>> solution = md.solve(problem)
    >>> print(f"{solution.value:.4f} is enough, {solution.bound:.4f} is too much")
    8.3429 is enough, 8.3432 is too much
    """

    name: ClassVar[str] = "shuffle-local-budget"
    example: ClassVar[Mapping[str, Any]] = {"users": 10000, "central_epsilon": 0.5, "delta": 1e-06}
    sense: ClassVar[Sense] = "max"
    value_name: ClassVar[str] = "local epsilon"
    optimal_within: ClassVar[float] = ATTACK_WITHIN
    summary: ClassVar[str] = "how little local privacy is proven to be enough before shuffling"
    compared_with: ClassVar[str] = "all local epsilons that this central epsilon can allow"

    central_epsilon: float = checked(
        "What the shuffled reports have to keep, with ``delta``; from above 0 to 100.",
        _central,
        limits={"exclusiveMinimum": 0, "maximum": LARGEST},
        form="float",
    )

    @cached_property
    def setting(self) -> Setting:
        """The honest users, their randomizer and delta; the local epsilon is yet the central one."""
        users = honest_users(self.users, self.honest)
        return Setting(users, self.central_epsilon, self.delta, randomizer_of(self.randomizer))

    def setting_with(self, local_epsilon: float) -> Setting:
        """Return the setting with a local epsilon."""
        return replace(self.setting, local_epsilon=local_epsilon)

    @property
    def case(self) -> TheoremSetting:
        """Setting of the closed forms."""
        return case_of(self.setting)

    def objective(self, variables: Variables) -> float:
        """Return the local epsilon."""
        return float(variables["local_epsilon"])

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by which part the delta of an attack exceeds delta; above 0 the local epsilon is refuted."""
        found, _ = attacked(self.setting_with(self.objective(variables)), self.central_epsilon)
        return {"attacked": max(0.0, found / self.delta - 1.0)}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return whether delta is proven for this local epsilon, and how far it is from an attacked one."""
        setting = self.setting_with(self.objective(solution.variables))
        return central_privacy(setting, self.central_epsilon), attack_certificate(solution)

    # From a solution to something that runs

    @property
    def planned_users(self) -> int:
        """Number of users who report."""
        return self.users

    def why_no_mechanism(self) -> str | None:
        """Return why a mechanism cannot be built (the randomizer is unknown or too large), or None."""
        return building.why_not_built(self.setting.randomizer)

    def mechanism(self, solution: Solution[Any]) -> Shuffled:
        """Return k-ary response with the local epsilon, or the channel, with the central certificate.

        Raises
        ------
        MethodError
            For "any" randomizer.
        CertificateError
            When the central epsilon is not proven for it: a published formula that promises too much.
        """
        self.require_mechanism()
        proven, _ = self.certificates(solution)
        if not proven.holds:
            raise CertificateError(self.name, f"not private as stated: {proven}")
        promise = Promise(self.users, self.central_epsilon, self.delta, self.honest)
        return building.lowered_mechanism(
            self.setting.randomizer, self.objective(solution.variables), promise
        )
