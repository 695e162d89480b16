"""The problem ``shuffle-local-budget``: how little noise each report needs before it is shuffled.

Its methods return a local epsilon next to one that is attacked. From the local epsilon follows what users
run: k-ary response with it, or the channel, and the central promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from mechdesign.collect import FiniteChannel, KaryChannel, KaryResponse, PrivacyTarget
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.core.fields import checked, frozen_problem
from mechdesign.core.problem import Method, Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.amplification import (
    ATTACK_WITHIN,
    Shuffling,
    attack_certificate,
    central_privacy,
    epsilon_of,
    honest_users,
)
from mechdesign.families.shuffle.judge import (
    Curve,
    Setting,
    attacked,
    case_of,
    guessed,
    local_bracket,
    refuted_local,
)
from mechdesign.families.shuffle.promise import Promise
from mechdesign.families.shuffle.randomizers import KnownRandomizer, randomizer_of
from mechdesign.families.shuffle.shuffled_reports import Shuffled
from mechdesign.families.shuffle.theorems import LARGEST, Theorem, TheoremSetting

MOST_SIZE = 1 << 20
"""k-ary response with more values is not built."""

REDUCTIONS = (0.0, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""Parts of the local epsilon that are given up until the central promise is proven for what runs."""

ANY = (
    "'any' does not define what users run: give randomizer = {name = \"k-ary\", size = k} or a channel, or "
    "build a mechanism of your own for shuffled reports with --shuffled"
)


def why_not_built(randomizer: KnownRandomizer) -> str | None:
    """Return why a local budget has nothing to run, or None."""
    if randomizer.kind == "any":
        return ANY
    if randomizer.kind == "k-ary" and randomizer.size > MOST_SIZE:
        return f"k-ary response on more than {MOST_SIZE} values is not built; merge values"
    return None


def local_mechanism(randomizer: KnownRandomizer, epsilon: float) -> KaryResponse | FiniteChannel:
    """Return the mechanism that every user runs.

    Examples
    --------
    >>> local_mechanism(KnownRandomizer("k-ary", 3), 1.0)
    KaryResponse(3 answers, epsilon=1)
    """
    if randomizer.kind == "k-ary":
        values = np.arange(randomizer.size, dtype=np.int64)
        return KaryResponse.from_channel(KaryChannel(randomizer.size, values, epsilon))
    rows = np.array([[float(entry) for entry in row] for row in randomizer.rows])
    return FiniteChannel.from_floats(rows, PrivacyTarget(epsilon))


def lowered_mechanism(randomizer: KnownRandomizer, epsilon: float, promise: Promise) -> Shuffled:
    """Return the local mechanism with the central promise, its epsilon lowered by at most a hundredth.

    Raises
    ------
    CertificateError
        When the promise is not proven then either.
    """
    refused = CertificateError("shuffled", "not private as stated")
    for part in REDUCTIONS if randomizer.kind == "k-ary" else (0.0,):
        try:
            return Shuffled(local_mechanism(randomizer, epsilon * (1.0 - part)), promise)
        except CertificateError as error:
            refused = error
    raise refused


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
        attacked_delta, _ = attacked(self.setting_with(self.objective(variables)), self.central_epsilon)
        return {"attacked": max(0.0, attacked_delta / self.delta - 1.0)}

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
        return why_not_built(self.setting.randomizer)

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
        return lowered_mechanism(self.setting.randomizer, self.objective(solution.variables), promise)


@lru_cache(maxsize=256)
def _refuted(setting: Setting, central_epsilon: float) -> tuple[float, str]:
    return refuted_local(setting, central_epsilon)


def outcome(problem: ShuffleLocalBudget, epsilon: float, grade: str, solver: str, **notes: Any) -> Outcome:
    """Return a local epsilon with an attacked one as its bound; ``optimal`` where they nearly meet."""
    bound, text = _refuted(problem.setting, problem.central_epsilon)
    close = epsilon <= bound <= epsilon * (1.0 + ATTACK_WITHIN)
    return Outcome(
        status="optimal" if close else "feasible",
        variables={"local_epsilon": epsilon},
        bound=bound if math.isfinite(bound) else None,
        bound_source=f"an exact attack: {text}",
        solver=solver,
        notes={"grade": grade, **notes},
    )


def searched_epsilon(problem: ShuffleLocalBudget, curve: Callable[[Setting], Curve], grade: str) -> Outcome:
    """Return the largest local epsilon with a bound of delta small enough."""
    central = problem.central_epsilon

    def bound(local: float) -> float:
        return curve(problem.setting_with(local))(central)

    epsilon, _ = local_bracket(bound, problem.delta, central, guessed(problem.setting, central))
    return outcome(problem, epsilon, grade, "bisection of a proven bound")


def search_method(
    name: str,
    summary: str,
    grade: str,
    curve: Callable[[Setting], Curve],
    why_not: Callable[[ShuffleLocalBudget], str | None],
) -> Method:
    """Return the method that searches the largest local epsilon with a bound of delta small enough."""

    def run(problem: ShuffleLocalBudget) -> Outcome:
        return searched_epsilon(problem, curve, grade)

    run.__doc__ = f"Return the largest local epsilon: {summary}."
    return Method(name, ShuffleLocalBudget, "numeric", summary, run, why_not)


def why_not_channel(problem: ShuffleLocalBudget) -> str | None:
    """Return why the method does not apply (a channel has its local epsilon), or None."""
    if problem.setting.randomizer.kind == "channel":
        return "a channel has its local epsilon: see convolution"
    return None


def theorem_method(theorem: Theorem, summary: str) -> Method:
    """Return the method that inverts a theorem."""

    def run(problem: ShuffleLocalBudget) -> Outcome:
        epsilon = theorem.local(problem.case, problem.central_epsilon)
        assert not isinstance(epsilon, str)  # why_not was asked
        helps = epsilon > problem.central_epsilon
        result = outcome(problem, epsilon, theorem.grade, "closed form", amplifies=helps)
        return Outcome(
            "feasible", result.variables, result.bound, result.bound_source, "closed form", "", result.notes
        )

    def why_not(problem: ShuffleLocalBudget) -> str | None:
        reason = why_not_channel(problem)
        if reason is not None:
            return reason
        epsilon = theorem.local(problem.case, problem.central_epsilon)
        return epsilon if isinstance(epsilon, str) else None

    run.__doc__ = f"Return the largest local epsilon of {theorem.grade}."
    return Method(theorem.name, ShuffleLocalBudget, theorem.kind, summary, run, why_not)
