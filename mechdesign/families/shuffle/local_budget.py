"""The problem ``shuffle-local-budget``: how little noise each report needs before it is shuffled.

Its methods return a local epsilon next to one that is attacked. From the local epsilon follows what users
run: k-ary response with it, or the channel, and the central promise. The first method that applies is the
default. ``exact`` is for few users, every data set in rational arithmetic, inverted by bisection; ``binary``
for binary randomized response over all data of the others, in ranges of them; ``convolution`` on a lattice
states whether a channel is enough, or how much noise is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.core.fields import checked, frozen_problem
from mechdesign.core.problem import Method, Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.families.shuffle.amplification import (
    BY_CONVOLUTION,
    BY_ENUMERATION,
    PROVEN_HERE,
    Attack,
    Shuffling,
    attack_certificate,
    central_privacy,
    epsilon_of,
    search_method,
)
from mechdesign.families.shuffle.enumeration import enumeration, exact_delta, why_not_exact
from mechdesign.families.shuffle.judge import (
    Curve,
    Setting,
    attacked,
    binary,
    blanket,
    guessed,
    lattice,
    local_bracket,
    refuted_local,
    why_no_lattice,
    why_not_binary,
)
from mechdesign.families.shuffle.promise import Promise, honest_users
from mechdesign.families.shuffle.randomizers import LARGEST, KnownRandomizer, randomizer_of
from mechdesign.families.shuffle.shuffled_reports import Shuffled
from mechdesign.primitives import FiniteChannel, KaryChannel, KaryResponse, PrivacyTarget

MOST_SIZE = 1 << 20
"""k-ary response with more values is not built."""

REDUCTIONS = (0.0, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""Parts of the local epsilon that are given up until the central promise is proven for what runs."""

ANY = (
    "'any' does not define what users run: give randomizer = {name = \"k-ary\", size = k} or a channel, or "
    "build a mechanism of your own for shuffled reports with --shuffled"
)


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
class ShuffleLocalBudget(Shuffling[Shuffled], Problem[Shuffled]):
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
    epsilon_name: ClassVar[str] = "local_epsilon"
    unstated: ClassVar[str] = (
        "it is the largest local epsilon whose proven central one fits: a root, not a choice"
    )
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

    def attack(self) -> Attack:
        return _refuted(self.setting, self.central_epsilon)

    def search(self, curve: Callable[[Setting], Curve], precision: float = 1e-7) -> float:
        return self.bracket(lambda setting: curve(setting)(self.central_epsilon), precision)[0]

    def bracket(self, bound: Callable[[Setting], float], precision: float = 1e-7) -> tuple[float, float]:
        """Return a local epsilon at which a bound of delta is small enough and one next to it, if any."""
        guess = guessed(self.setting, self.central_epsilon)

        def curve(local: float) -> float:
            return bound(self.setting_with(local))

        return local_bracket(curve, self.delta, self.central_epsilon, guess, precision)

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
        randomizer = self.setting.randomizer
        if randomizer.kind == "any":
            return ANY
        if randomizer.kind == "k-ary" and randomizer.size > MOST_SIZE:
            return f"k-ary response on more than {MOST_SIZE} values is not built; merge values"
        return None

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


def why_not_channel(problem: ShuffleLocalBudget) -> str | None:
    """Return why the method does not apply (a channel has its local epsilon), or None."""
    if problem.setting.randomizer.kind == "channel":
        return "a channel has its local epsilon: see convolution"
    return None


STEPS = 30
"""About how many local epsilons are looked at, each with an enumeration of its own."""

PRECISION = 1e-5
"""To which part of it the largest local epsilon is found; always from below."""


def binary_local(problem: ShuffleLocalBudget) -> Outcome:
    """Return the largest local epsilon for which delta is proven in every range of the data."""
    central, delta = problem.central_epsilon, problem.delta
    epsilon, beyond = problem.bracket(lambda setting: binary(setting).at_ends(central), PRECISION)
    if binary(problem.setting_with(epsilon)).until(central, delta) > delta:
        epsilon, beyond = problem.bracket(lambda setting: binary(setting).until(central, delta), PRECISION)
    if epsilon < beyond and blanket(problem.setting_with(beyond))(central) <= delta:
        epsilon = problem.search(blanket, PRECISION)  # the blanket loses less than the ranges do
    return problem.outcome(epsilon, PROVEN_HERE, "bisection")


def exact_local(problem: ShuffleLocalBudget) -> Outcome:
    """Return the largest local epsilon that holds for all data, and one next to it that fails for some."""

    def bound(setting: Setting) -> float:
        return exact_delta(setting, problem.central_epsilon)

    if problem.setting.randomizer.kind == "channel":
        message = "this channel has delta = {:.4g}; take one with more noise"
        return of_channel(problem, bound, message, BY_ENUMERATION, "exact")
    epsilon, beyond = problem.bracket(bound)
    variables = {"local_epsilon": epsilon}
    if beyond <= epsilon:  # everything is enough
        source = "the largest local epsilon that is considered"
        return Outcome("optimal", variables, epsilon, source, BY_ENUMERATION)
    data, fails = _worst_data(problem, beyond)
    return Outcome(
        "optimal" if fails else "feasible",
        variables,
        beyond if fails else None,
        f"the exact divergence when the others have {data}" if fails else "",
        BY_ENUMERATION,
        notes={"grade": "exact"},
    )


def _worst_data(problem: ShuffleLocalBudget, local: float) -> tuple[str, bool]:
    """Return the worst data for a local epsilon, and whether it has more than delta, rounded down."""
    laws = enumeration(problem.setting_with(local), False)
    largest, place = laws.delta(problem.central_epsilon)
    return ", ".join(map(str, laws.laws[place][0])), largest > Fraction(problem.delta)


def of_channel(
    problem: ShuffleLocalBudget, bound: Callable[[Setting], float], message: str, solver: str, grade: str
) -> Outcome:
    """Return the local epsilon of a channel if its bound of delta is small enough, else the message."""
    local = problem.setting.randomizer.epsilon
    delta = bound(problem.setting_with(local))
    if local > problem.central_epsilon and delta > problem.delta:
        return Outcome("infeasible", message=message.format(delta))
    source = "the channel has this local epsilon"
    return Outcome("optimal", {"local_epsilon": local}, local, source, solver, notes={"grade": grade})


def why_not_exact_local(problem: ShuffleLocalBudget) -> str | None:
    """Return why the method does not apply, or None."""
    return why_not_exact(problem.setting, 1 if problem.setting.randomizer.kind == "channel" else STEPS)


def convolution_local(problem: ShuffleLocalBudget) -> Outcome:
    """Return the local epsilon of a channel if it is enough; of others the largest that is."""
    if problem.setting.randomizer.kind != "channel":
        return problem.outcome(problem.search(lattice), BY_CONVOLUTION, "bisection of a proven bound")
    message = "for this channel only delta = {:.4g} is proven; take one with more noise"
    central = problem.central_epsilon
    return of_channel(
        problem, lambda setting: lattice(setting)(central), message, "convolution", BY_CONVOLUTION
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
    search_method(ShuffleLocalBudget, "blanket",
                  "privacy blanket in binomial sums, rounded up; for any randomizer that of its worst pair",
                  PROVEN_HERE, blanket, why_not_channel),
    Method("convolution", ShuffleLocalBudget, "numeric",
           "privacy blanket by convolution of positive terms, rounded up",
           convolution_local, why_no_convolution),
)  # fmt: skip
