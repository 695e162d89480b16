"""The problem ``shuffle-amplification``, and what it shares with ``shuffle-local-budget``.

A certificate states the least delta that is proven at a central epsilon, whoever computed the epsilon, and
how far it is from one that an attack refutes. The first method that applies is the default; the closed forms
of the literature are in ``papers/theorems.py``.

``blanket`` and ``convolution`` share no code. For any randomizer the blanket is that of the pair of inputs,
e^-eps0 times the larger of their two laws; no pair does worse than binary randomized response
(docs/families/shuffle.md, theorem A).

``exact`` is for few users, ``binary`` for binary randomized response over all data of the others, in ranges.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from mechdesign.collect import Mechanism
from mechdesign.core.certificate import Certificate, optimality as closeness
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import checked, frozen_problem, real, whole
from mechdesign.core.problem import Method, Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import in_range, number
from mechdesign.families.shuffle.enumeration import exact_attack, exact_delta, exact_epsilon, why_not_exact
from mechdesign.families.shuffle.judge import (
    Curve,
    Setting,
    attacked,
    attacked_epsilon,
    binary,
    blanket,
    lattice,
    least_epsilon,
    why_no_lattice,
    why_not_binary,
)
from mechdesign.families.shuffle.promise import honest_users
from mechdesign.families.shuffle.randomizers import LARGEST, frozen_parameter, randomizer_of
from mechdesign.families.shuffle.sum_divergence import MOST_USERS

MechanismT = TypeVar("MechanismT", bound=Mechanism)

MOST = 10**15
"""The most users."""


def delta_of(field: str, value: Any) -> float:
    """Return delta in (0, 1); 0 is refused, as shuffling amplifies nothing then."""
    if number(field, value) == 0.0:
        raise ParameterError(
            field, "is 0", "shuffled reports have no smaller epsilon than local ones then, give a delta > 0"
        )
    return in_range(field, value, 0.0, 1.0, low_open=True, high_open=True)


def epsilon_of(field: str, value: Any) -> float:
    """Return an epsilon in [0, 100]."""
    return in_range(field, value, 0.0, LARGEST)


ATTACK_WITHIN = 0.01
"""An epsilon is called optimal when an attack comes within this part of it."""

PROVEN_HERE = "proven here; rounding and omitted tails are added"
BY_CONVOLUTION = "Balle et al. (2019), lemma 5.3, evaluated here with all tails"
BY_ENUMERATION = "enumeration in rational arithmetic"

Attack = tuple[float, str]
"""An epsilon that an attack refutes, or 0 or infinity, and the attack in words."""


@frozen_problem()
class Shuffling(Problem[MechanismT]):
    """Base of the problems of shuffled reports of one randomizer: an epsilon next to one that is attacked."""

    optimal_within: ClassVar[float] = ATTACK_WITHIN
    epsilon_name: ClassVar[str]
    """The variable."""

    users: int = whole("Number of users who report, at least 2.", low=2, high=MOST)
    delta: float = checked(
        "From above 0 to below 1.",
        delta_of,
        limits={"exclusiveMinimum": 0, "exclusiveMaximum": 1},
        form="float",
    )
    randomizer: str | Mapping[str, Any] = checked(
        "What is known of the randomizer, the same for all: nothing but its epsilon; ``{name = "
        '"k-ary", size = k}``, randomized response on k values; or ``{name = "channel", channel = '
        "[[...], ...]}``, a row of probabilities of reports for each input. It has its own "
        "local epsilon.",
        lambda _, randomizer: frozen_parameter(randomizer),
        form='"any" or mapping',
        default="any",
    )
    honest: float = real(
        "The least fraction of users who follow the protocol, in (0, 1]; all others may help the attacker.",
        low=0.0,
        high=1.0,
        low_open=True,
        default=1.0,
    )

    @property
    @abstractmethod
    def setting(self) -> Setting:
        """The honest users, their randomizer and delta."""

    @abstractmethod
    def attack(self) -> Attack:
        """Return the epsilon next to the proven ones that attacks refute."""

    @abstractmethod
    def search(self, curve: Callable[[Setting], Curve]) -> float:
        """Return the best epsilon at which a bound of delta is small enough."""

    def objective(self, variables: Variables) -> float:
        return float(variables[self.epsilon_name])

    def outcome(
        self, epsilon: float, grade: str, solver: str, attack: Attack | None = None, **notes: Any
    ) -> Outcome:
        """Return an epsilon with an attacked one as its bound; ``optimal`` where they nearly meet."""
        bound, text = self.attack() if attack is None else attack
        gap = epsilon - bound if self.sense == "min" else bound - epsilon
        return Outcome(
            status="optimal" if 0.0 <= gap <= ATTACK_WITHIN * epsilon else "feasible",
            variables={self.epsilon_name: epsilon},
            bound=bound if math.isfinite(bound) else None,
            bound_source=f"an exact attack: {text}",
            solver=solver,
            notes={"grade": grade, **notes},
        )


BOUNDS: tuple[tuple[Callable[[Setting], str | None], Callable[[Setting], Curve]], ...] = (
    (lambda setting: None, blanket),
    (why_not_binary, binary),
    (why_no_lattice, lattice),
    (why_not_exact, lambda setting: lambda epsilon: exact_delta(setting, epsilon)),
)
"""Bounds of delta that are proven, the quickest first: why not, and the bound."""


def proven_delta(setting: Setting, epsilon: float) -> float:
    """Return a proven bound of delta: the first one that is small enough, or the smallest."""
    if epsilon >= setting.local_epsilon:
        return 0.0
    best = 1.0
    for why_not, curve in BOUNDS:
        if best > setting.delta and why_not(setting) is None:
            best = min(best, curve(setting)(epsilon))
    return best


def central_privacy(setting: Setting, epsilon: float) -> Certificate:
    """Return whether delta is proven at a central epsilon, whoever found it; and the delta of an attack."""
    bound = proven_delta(setting, epsilon)
    reached, text = attacked(setting, epsilon)
    return Certificate(
        "central_privacy",
        bound <= setting.delta,
        False,
        {"proven_delta": bound, "attacked_delta": reached, "delta": setting.delta, "users": setting.users},
        {"attack": text} if reached > setting.delta else {},
        limits_of(setting, epsilon),
    )


def limits_of(setting: Setting, epsilon: float) -> str:
    """Return what is not computed at a setting, so that its epsilon is larger than need be; else nothing."""
    if 0.0 < setting.local_epsilon <= epsilon:
        return "not amplified: no smaller epsilon is proven for this delta and number of users"
    if setting.users > MOST_USERS:
        return f"proven for {MOST_USERS} users, which more users keep as well; attacks are not computed"
    return ""


def attack_certificate(solution: Solution[Any]) -> Certificate:
    """Return whether an exact attack leaves less than a hundredth of the epsilon open."""
    part = solution.gap / solution.value if solution.value > 0 else solution.gap
    figures = {"gap": solution.gap, "relative_gap": part}
    unknown, within = "no attack is known", ATTACK_WITHIN
    return closeness(solution, part, 1.0, within=within, figures=figures, unproven=figures, unknown=unknown)


@frozen_problem()
class ShuffleAmplification(Shuffling[Mechanism]):
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
    epsilon_name: ClassVar[str] = "central_epsilon"
    trivial: ClassVar[float | None] = 0.0
    unstated: ClassVar[str] = "it is the least epsilon at which a proven delta fits: a root, not a choice"
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

    def attack(self) -> Attack:
        return attacked_epsilon(self.setting)

    def search(self, curve: Callable[[Setting], Curve]) -> float:
        setting = self.setting
        if setting.local_epsilon == 0.0:
            return 0.0
        return least_epsilon(curve(setting), setting.delta, setting.local_epsilon)

    def why_no_mechanism(self) -> str:
        """Return why the result is not a mechanism, and its use."""
        return (
            "its result is the guarantee of shuffling a mechanism that users already run: build that one for "
            "shuffled reports with --shuffled, or a shuffle-local-budget model"
        )

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by which part the delta of an attack exceeds delta; above 0 the epsilon is refuted."""
        attacked_delta, _ = attacked(self.setting, self.objective(variables))
        return {"attacked": max(0.0, attacked_delta / self.delta - 1.0)}

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return whether delta is proven at this epsilon, and how far the epsilon is from an attacked one."""
        return central_privacy(self.setting, self.objective(solution.variables)), attack_certificate(solution)


def search_method(
    problem: type[Shuffling[Any]],
    name: str,
    summary: str,
    grade: str,
    curve: Callable[[Setting], Curve],
    why_not: Callable[[Any], str | None],
) -> Method:
    """Return the method that searches the best epsilon of a proven bound of delta."""

    def run(instance: Shuffling[Any]) -> Outcome:
        return instance.outcome(instance.search(curve), grade, "bisection of a proven bound")

    run.__doc__ = (
        f"Return the {'least' if problem.sense == 'min' else 'largest'} {problem.value_name}: {summary}."
    )
    return Method(name, problem, "numeric", summary, run, why_not)


def binary_central(problem: ShuffleAmplification) -> Outcome:
    """Return the least central epsilon for which delta is proven in every range of the data."""
    setting = problem.setting
    epsilon = 0.0
    if problem.local_epsilon > 0.0:
        # Near the least and the largest local epsilons the blanket loses less than the ranges do.
        plain = least_epsilon(blanket(setting), setting.delta, setting.local_epsilon)
        epsilon = min(plain, binary(setting).least(setting.delta, plain))
    return problem.outcome(epsilon, PROVEN_HERE, "bisection")


def exact_central(problem: ShuffleAmplification) -> Outcome:
    """Return the least central epsilon that holds for all data, and one next to it that fails for some."""
    setting = problem.setting
    epsilon = exact_epsilon(setting)
    return problem.outcome(epsilon, "exact", BY_ENUMERATION, exact_attack(setting, epsilon))


def why_no_blanket(problem: ShuffleAmplification) -> str | None:
    """Return why the blanket of all randomizers does not apply (a channel has its own), or None."""
    if problem.setting.randomizer.kind == "channel" and why_no_lattice(problem.setting) is None:
        return "a channel has a blanket of its own: see convolution"
    return None


METHODS = (
    Method("exact", ShuffleAmplification, "numeric", "every data set of few users in rational arithmetic",
           exact_central, lambda problem: why_not_exact(problem.setting)),
    Method("binary", ShuffleAmplification, "numeric",
           "all data of binary randomized response, in ranges of them, rounded up",
           binary_central, lambda problem: why_not_binary(problem.setting)),
    search_method(ShuffleAmplification, "blanket",
                  "privacy blanket in binomial sums, rounded up; for any randomizer that of its worst pair",
                  PROVEN_HERE, blanket, why_no_blanket),
    search_method(ShuffleAmplification, "convolution",
                  "privacy blanket of a finite channel by convolution of positive terms, rounded up",
                  BY_CONVOLUTION, lattice, lambda problem: why_no_lattice(problem.setting)),
)  # fmt: skip
