"""The problem ``shuffle-amplification``: how private reports are once they are shuffled.

Its methods return a central epsilon next to what an attack achieves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar

from mechdesign.collect import Mechanism
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import frozen_problem, real
from mechdesign.core.problem import Method, Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.judge import (
    Curve,
    Setting,
    attacked,
    attacked_epsilon,
    case_of,
    least_epsilon,
)
from mechdesign.families.shuffle.randomizers import randomizer_of
from mechdesign.families.shuffle.shuffling import (
    ATTACK_WITHIN,
    Shuffling,
    attack_certificate,
    central_privacy,
    honest_users,
)
from mechdesign.families.shuffle.theorems import LARGEST, Theorem, TheoremSetting


@frozen_problem()
class ShuffleAmplification(Shuffling, Problem[Mechanism]):
    r"""The smallest central epsilon that is proven for shuffled reports of a local randomizer.

    ::

        minimize    epsilon
        such that   Pr[shuffled reports of D in S] <= e^epsilon Pr[shuffled reports of D' in S] + delta
                    for all sets S and all data D, D' that differ in one honest user

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: Wang and Meng (2022), section 2.3, theorems 1 to 4; docs/families/shuffle.md for the proofs.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.ShuffleAmplification(users=1000000, local_epsilon=1.0, delta=1e-6))
    >>> print(f"{solution.value:.6f} is proven, {solution.bound:.6f} is not enough")
    0.003514 is proven, 0.003079 is not enough
    """

    name: ClassVar[str] = "shuffle-amplification"
    example: ClassVar[Mapping[str, Any]] = {"users": 10000, "local_epsilon": 1.0, "delta": 1e-06}
    sense: ClassVar[Sense] = "min"
    value_name: ClassVar[str] = "central epsilon"
    optimal_within: ClassVar[float] = ATTACK_WITHIN
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "proven privacy of shuffled reports, next to what an attack achieves"
    compared_with: ClassVar[str] = "all central epsilons that this local randomizer can have"

    local_epsilon: float = real(
        "What each report keeps by itself, with delta 0; from 0 to 100.", low=0.0, high=LARGEST
    )

    def __attrs_post_init__(self) -> None:
        described = self.setting.randomizer
        if described.kind == "channel" and described.epsilon > self.local_epsilon * (1.0 + 1e-9):
            raise ParameterError(
                "randomizer: channel",
                f"its local epsilon is {described.epsilon:.10g}, above local_epsilon = "
                f"{self.local_epsilon:g}",
                "state at least that",
            )

    @cached_property
    def setting(self) -> Setting:
        """The honest users, their randomizer and delta; of a channel its own local epsilon."""
        users, randomizer = honest_users(self.users, self.honest), randomizer_of(self.randomizer)
        local = randomizer.epsilon if randomizer.kind == "channel" else self.local_epsilon
        return Setting(users, local, self.delta, randomizer)

    @property
    def case(self) -> TheoremSetting:
        """Setting of the closed forms."""
        return case_of(self.setting)

    def why_no_mechanism(self) -> str:
        """Return why the result is not a mechanism, and its use."""
        return (
            "its result is the guarantee of shuffling a mechanism that users already run: build that one for "
            "shuffled reports with --shuffled, or a shuffle-local-budget model"
        )

    def objective(self, variables: Variables) -> float:
        """Return the central epsilon."""
        return float(variables["central_epsilon"])

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by which part the delta of an attack exceeds delta; above 0 the epsilon is refuted."""
        attacked_delta, _ = attacked(self.setting, self.objective(variables))
        return {"attacked": max(0.0, attacked_delta / self.delta - 1.0)}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return whether delta is proven at this epsilon, and how far the epsilon is from an attacked one."""
        return central_privacy(self.setting, self.objective(solution.variables)), attack_certificate(solution)


def outcome(problem: ShuffleAmplification, epsilon: float, grade: str, solver: str, **notes: Any) -> Outcome:
    """Return a central epsilon with the attacked one as its bound; ``optimal`` where they nearly meet."""
    bound, text = attacked_epsilon(problem.setting)
    return settled(epsilon, bound, text, grade, solver, **notes)


def settled(epsilon: float, bound: float, attack: str, grade: str, solver: str, **notes: Any) -> Outcome:
    """Return a central epsilon with a lower bound that an attack shows."""
    close = bound <= epsilon and epsilon - bound <= ATTACK_WITHIN * epsilon
    return Outcome(
        status="optimal" if close else "feasible",
        variables={"central_epsilon": epsilon},
        bound=bound,
        bound_source=f"an exact attack: {attack}",
        solver=solver,
        notes={"grade": grade, **notes},
    )


def search_method(
    name: str,
    summary: str,
    grade: str,
    curve: Callable[[Setting], Curve],
    why_not: Callable[[ShuffleAmplification], str | None],
) -> Method:
    """Return the method that searches the least epsilon of a proven bound of delta."""

    def run(problem: ShuffleAmplification) -> Outcome:
        setting = problem.setting
        epsilon = 0.0
        if setting.local_epsilon > 0.0:
            epsilon = least_epsilon(curve(setting), setting.delta, setting.local_epsilon)
        return outcome(problem, epsilon, grade, "bisection of a proven bound")

    run.__doc__ = f"Return the least central epsilon: {summary}."
    return Method(name, ShuffleAmplification, "numeric", summary, run, why_not)


def theorem_method(theorem: Theorem, summary: str) -> Method:
    """Return the method that evaluates a theorem."""

    def run(problem: ShuffleAmplification) -> Outcome:
        central = theorem.central(problem.case, problem.local_epsilon)
        assert not isinstance(central, str)  # why_not was asked
        helps = central < problem.local_epsilon
        result = outcome(problem, central, theorem.grade, "closed form", amplifies=helps)
        return Outcome(
            "feasible", result.variables, result.bound, result.bound_source, "closed form", "", result.notes
        )

    def why_not(problem: ShuffleAmplification) -> str | None:
        if problem.local_epsilon == 0.0:
            return "its range is local epsilon > 0"
        central = theorem.central(problem.case, problem.local_epsilon)
        return central if isinstance(central, str) else None

    run.__doc__ = f"Return the central epsilon of {theorem.grade}."
    return Method(theorem.name, ShuffleAmplification, theorem.kind, summary, run, why_not)
