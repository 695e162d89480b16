"""The problem ``shuffle-local-budget``: how little noise each report needs before it is shuffled.

Its methods return a local epsilon next to one that is attacked. From the local epsilon follows what users
run: k-ary response with it, or the channel, and the central promise.

The methods of ``shuffle-local-budget``: the first one that applies is the default.

Those with an algorithm of their own: ``exact`` for few users, every data set in rational arithmetic, inverted
by bisection; ``binary`` for binary randomized response over all data of the others, in ranges of them;
``convolution`` on a lattice: whether a channel is enough, or how much noise is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from mechdesign.collect import FiniteChannel, KaryChannel, KaryResponse, PrivacyTarget
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.core.fields import checked, frozen_problem
from mechdesign.core.problem import Method, Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.families.shuffle import theorems
from mechdesign.families.shuffle.amplification import (
    ATTACK_WITHIN,
    Shuffling,
    attack_certificate,
    central_privacy,
    epsilon_of,
    honest_users,
)
from mechdesign.families.shuffle.enumeration import enumeration, exact_delta, why_not_exact
from mechdesign.families.shuffle.judge import (
    Curve,
    Setting,
    attacked,
    binary,
    blanket,
    case_of,
    clones,
    guessed,
    lattice,
    local_bracket,
    refuted_local,
    why_no_lattice,
    why_not_binary,
)
from mechdesign.families.shuffle.promise import Promise
from mechdesign.families.shuffle.shuffled_reports import Shuffled
from mechdesign.families.shuffle.theorems import (
    LARGEST,
    KnownRandomizer,
    Theorem,
    TheoremSetting,
    randomizer_of,
)

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


PROVEN_HERE = "proven here; rounding and omitted tails are added"
BY_CONVOLUTION = "Balle et al. (2019), lemma 5.3, evaluated here with all tails"
SOLVER = "enumeration in rational arithmetic"

STEPS = 30
"""About how many local epsilons are looked at, each with an enumeration of its own."""

PRECISION = 1e-5
"""To which part of it the largest local epsilon is found; always from below."""


def binary_local(problem: ShuffleLocalBudget) -> Outcome:
    """Return the largest local epsilon for which delta is proven in every range of the data."""
    central, delta = problem.central_epsilon, problem.delta

    def ranges(local: float) -> float:
        return binary(problem.setting_with(local)).until(central, delta)

    def plain(local: float) -> float:
        return blanket(problem.setting_with(local))(central)

    guess = guessed(problem.setting, central)
    epsilon, beyond = local_bracket(ranges, delta, central, guess, PRECISION)
    if epsilon < beyond and plain(beyond) <= delta:  # the blanket loses less than the ranges do
        epsilon, _ = local_bracket(plain, delta, central, guess, PRECISION)
    return outcome(problem, epsilon, PROVEN_HERE, "bisection")


def exact_local(problem: ShuffleLocalBudget) -> Outcome:
    """Return the largest local epsilon that holds for all data, and one next to it that fails for some."""
    central, delta = problem.central_epsilon, problem.delta
    if problem.setting.randomizer.kind == "channel":
        return _of_channel(problem)

    def divergence(local: float) -> float:
        return exact_delta(problem.setting_with(local), central)

    epsilon, beyond = local_bracket(divergence, delta, central, guessed(problem.setting, central))
    variables = {"local_epsilon": epsilon}
    if beyond <= epsilon:  # everything is enough
        return Outcome("optimal", variables, epsilon, "the largest local epsilon that is considered", SOLVER)
    data, fails = _worst_data(problem, beyond)
    return Outcome(
        "optimal" if fails else "feasible",
        variables,
        beyond if fails else None,
        f"the exact divergence when the others have {data}" if fails else "",
        SOLVER,
        notes={"grade": "exact"},
    )


def _worst_data(problem: ShuffleLocalBudget, local: float) -> tuple[str, bool]:
    """Return the worst data for a local epsilon, and whether it has more than delta, rounded down."""
    laws = enumeration(problem.setting_with(local), False)
    largest, place = laws.delta(problem.central_epsilon)
    return ", ".join(map(str, laws.laws[place][0])), largest > Fraction(problem.delta)


def _of_channel(problem: ShuffleLocalBudget) -> Outcome:
    local = problem.setting.randomizer.epsilon
    delta = exact_delta(problem.setting_with(local), problem.central_epsilon)
    if local > problem.central_epsilon and delta > problem.delta:
        message = f"this channel has delta = {delta:.4g}; take one with more noise"
        return Outcome("infeasible", message=message)
    source = "the channel has this local epsilon"
    return Outcome("optimal", {"local_epsilon": local}, local, source, SOLVER, notes={"grade": "exact"})


def why_not_exact_local(problem: ShuffleLocalBudget) -> str | None:
    """Return why the method does not apply, or None."""
    return why_not_exact(problem.setting, 1 if problem.setting.randomizer.kind == "channel" else STEPS)


def convolution_local(problem: ShuffleLocalBudget) -> Outcome:
    """Return the local epsilon of a channel if it is enough; of others the largest that is."""
    randomizer = problem.setting.randomizer
    if randomizer.kind != "channel":
        return searched_epsilon(problem, lattice, BY_CONVOLUTION)
    local = randomizer.epsilon
    delta = lattice(problem.setting_with(local))(problem.central_epsilon)
    if local > problem.central_epsilon and delta > problem.delta:
        message = f"for this channel only delta = {delta:.4g} is proven; take one with more noise"
        return Outcome("infeasible", message=message)
    source = "the channel has this local epsilon"
    return Outcome(
        "optimal", {"local_epsilon": local}, local, source, "convolution", notes={"grade": BY_CONVOLUTION}
    )


def why_no_convolution(problem: ShuffleLocalBudget) -> str | None:
    """Return why the method does not apply, or None."""
    setting = problem.setting
    if setting.randomizer.kind != "channel":
        return None
    return why_no_lattice(replace(setting, local_epsilon=setting.randomizer.epsilon))


METHODS = (
    Method("exact", ShuffleLocalBudget, "numeric",
           "every data set of few users in rational arithmetic, by bisection",
           exact_local, why_not_exact_local),
    Method("binary", ShuffleLocalBudget, "numeric",
           "all data of binary randomized response, in ranges of them, rounded up",
           binary_local, lambda problem: why_not_binary(problem.setting)),
    search_method("blanket",
                  "privacy blanket in binomial sums, rounded up; for any randomizer that of its worst pair",
                  PROVEN_HERE, blanket, why_not_channel),
    Method("convolution", ShuffleLocalBudget, "numeric",
           "privacy blanket by convolution of positive terms, rounded up",
           convolution_local, why_no_convolution),
    search_method("clones", "numeric clones for any randomizer, rounded up",
                  "Feldman, McMillan and Talwar (2021), theorem 3.2, evaluated here with all tails",
                  clones, why_not_channel),
    theorem_method(theorems.THEOREM_4, "theorem 4 of the survey, for k-ary response, inverted"),
    theorem_method(theorems.THEOREM_3, "theorem 3 of the survey, for binary randomized response, inverted"),
    theorem_method(theorems.CLONES, "closed form of the clones, for any randomizer, inverted"),
    theorem_method(theorems.RELAXED_3, "eq. (7) of the survey, a relaxation of theorem 3, inverted"),
    theorem_method(theorems.THEOREM_1,
                   "theorem 1 of the survey, for any randomizer and interaction, inverted"),
    theorem_method(theorems.BENNETT, "privacy blanket with Bennett's inequality, inverted"),
    theorem_method(theorems.HOEFFDING, "privacy blanket with Hoeffding's inequality, inverted"),
    # These two are not proven here.
    theorem_method(theorems.STRONGER_KARY,
                   "closed form of the stronger clones for k-ary response, from the literature, inverted"),
    theorem_method(theorems.STRONGER_CLONES,
                   "closed form of the stronger clones, from the literature, inverted"),
)  # fmt: skip
