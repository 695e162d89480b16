"""The closed forms of the literature, their ranges and their inverses; which are proven stands with each.

A theorem gives a central epsilon for a local one, ``forward``, or says in a text why it does not apply;
``local`` gives the largest local epsilon for a central one. n is the number of honest users. Theorems are
compared with, and never a default: bounds that are computed come before them.

Two of them bound the blanket's excess by concentration. With a blanket of mass g, m ~ Bin(n, g) reports drawn
from it and L = (dR_x - e dR_x') / d omega of each,

    delta(eps) <= 1/(n g)  E ( L_1 + ... + L_m )_+ ,   E L = 1 - e = -a.

Hoeffding: if L has the range b, Pr[sum > t] <= exp(-2 (t + m a)^2 / (m b^2)), whose integral over t > 0 is
at most b^2/(4 a) exp(-2 m a^2/b^2). Bennett: if L <= b and E L^2 <= c, Pr[sum > t] <= exp(-m c/b^2 phi(u)),
u = (a + t/m) b/c, phi(u) = (1 + u) ln(1 + u) - u, and as phi is convex the integral is at most
b / ln(1 + a b/c) times the value at t = 0. Both are powers of m, whose mean is (1 - g + g x)^n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mechdesign.core.problem import Kind, Method, Outcome
from mechdesign.core.values import changed
from mechdesign.families.shuffle.amplification import Shuffling, search_method
from mechdesign.families.shuffle.judge import KEPT, Curve, Setting
from mechdesign.families.shuffle.local_budget import ShuffleLocalBudget, why_not_channel
from mechdesign.families.shuffle.promise import bisection
from mechdesign.families.shuffle.randomizers import LARGEST
from mechdesign.families.shuffle.sum_divergence import Divergence, Law

Answer = float | str


@dataclass(frozen=True)
class TheoremSetting:
    """Setting of a theorem.

    Attributes
    ----------
    users : int
        n: the honest ones.
    delta : float
    size : int
        k of k-ary response; 0 for any randomizer.
    """

    users: int
    delta: float
    size: int

    @classmethod
    def of(cls, setting: Setting) -> TheoremSetting:
        """Return the setting of the closed forms."""
        randomizer = setting.randomizer
        return cls(setting.users, setting.delta, randomizer.size if randomizer.kind == "k-ary" else 0)


@dataclass(frozen=True)
class Theorem:
    """A closed form.

    Attributes
    ----------
    name : str
    kind : {"analytic", "heuristic", "published"}
        ``analytic`` where it is proven, ``heuristic`` where it is cited only, ``published`` where wrong.
    grade : str
        Where it comes from, and whether it is proven.
    covers : callable
        ``covers(case)`` is None, or why the theorem is not about this case at all.
    forward : callable
        ``forward(case, local_epsilon)``: the central epsilon, or why not.
    """

    name: str
    kind: Kind
    grade: str
    covers: Callable[[TheoremSetting], str | None]
    forward: Callable[[TheoremSetting, float], Answer]

    def central(self, case: TheoremSetting, local_epsilon: float) -> Answer:
        """Return the central epsilon, or why the theorem does not give one."""
        reason = self.covers(case)
        return reason if reason is not None else self.forward(case, local_epsilon)

    def local(self, case: TheoremSetting, central_epsilon: float) -> Answer:
        """Return the largest local epsilon whose central one is not larger, or why there is none.

        The central epsilon of a theorem increases with the local one, so bisection finds the last double for
        which the theorem says enough.
        """
        reason = self.covers(case)
        if reason is not None:
            return reason

        def enough(local: float) -> bool:
            central = self.forward(case, local)
            return not isinstance(central, str) and central <= central_epsilon

        low = 1e-9
        if not enough(low):
            central = self.forward(case, low)
            if isinstance(central, str):
                return central
            return f"even a tiny local epsilon has the central epsilon {central:.4g} there"
        return bisection(lambda local: not enough(local), low, LARGEST)[0]


def _always(case: TheoremSetting) -> str | None:
    return None


def _binary(case: TheoremSetting) -> str | None:
    return None if case.size == 2 else "it is for binary randomized response: k-ary of size 2"


def _needs_kary(case: TheoremSetting) -> str | None:
    return None if case.size >= 2 else "it is for k-ary response"


def _theorem_1(case: TheoremSetting, local: float) -> Answer:
    if case.users <= 1000:
        return f"its range is more than 1000 honest users, not {case.users}"
    if case.delta >= 0.01:
        return f"its range is delta < 0.01, not {case.delta:g}"
    if local >= 0.5:
        return f"its range is local epsilon < 0.5, not {local:g}"
    return 12.0 * local * math.sqrt(math.log(1.0 / case.delta) / case.users)


def _theorem_3(case: TheoremSetting, local: float) -> Answer:
    share = 2.0 / (math.exp(local) + 1.0)
    least = 14.0 * math.log(4.0 / case.delta) / case.users
    if share < least:
        return (
            f"its range is lambda = 2 / (e^epsilon + 1) >= 14 ln(4/delta) / n = {least:.4g}, not {share:.4g}"
        )
    sure = share - math.sqrt(2.0 * share * math.log(2.0 / case.delta) / case.users)
    return math.sqrt(32.0 * math.log(4.0 / case.delta) / (case.users * sure)) * (1.0 - sure)


def _relaxed_3(case: TheoremSetting, local: float) -> Answer:
    logarithm = math.log(4.0 / case.delta)
    largest = math.log(case.users / (14.0 * logarithm))
    if local > largest:
        return f"its range is local epsilon <= ln(n / (14 ln(4/delta))) = {largest:.4g}, not {local:g}"
    return math.sqrt(64.0 * math.exp(local) * logarithm / case.users)


def _theorem_4(case: TheoremSetting, local: float) -> Answer:
    if case.users < 2:
        return "its range is two honest users or more"
    inverse = (math.expm1(local) + case.size) / (case.users - 1)
    central = max(math.sqrt(14.0 * math.log(2.0 / case.delta) * inverse), 27.0 * inverse)
    if central > 1.0:
        return f"its range is a central epsilon of at most 1, not {central:.4g}"
    return central


def _clones(case: TheoremSetting, local: float) -> Answer:
    largest = math.log(case.users / (16.0 * math.log(2.0 / case.delta)))
    if local > largest:
        return f"its range is local epsilon <= ln(n / (16 ln(2/delta))) = {largest:.4g}, not {local:g}"
    grown = math.exp(local) / case.users
    return math.log1p(
        math.tanh(local / 2.0) * (8.0 * math.sqrt(grown * math.log(4.0 / case.delta)) + 8.0 * grown)
    )


def _stronger_clones(case: TheoremSetting, local: float) -> Answer:
    ceiling = case.users / (8.0 * math.log(2.0 / case.delta))
    if math.exp(local) > ceiling - 1.0:
        largest = math.log(ceiling - 1.0) if ceiling > 1.0 else -math.inf
        return f"its range is local epsilon <= ln(n / (8 ln(2/delta)) - 1) = {largest:.4g}, not {local:g}"
    logarithm = math.log(4.0 / case.delta)
    root = math.sqrt(2.0 * logarithm / ((math.exp(local) + 1.0) * case.users))
    return math.log1p(math.expm1(local) * (4.0 * root + 4.0 / case.users))


def _stronger_kary(case: TheoremSetting, local: float) -> Answer:
    ceiling = case.users / (8.0 * math.log(2.0 / case.delta))
    if math.exp(local) > ceiling - 1.0:
        largest = math.log(ceiling - 1.0) if ceiling > 1.0 else -math.inf
        return f"its range is local epsilon <= ln(n / (8 ln(2/delta)) - 1) = {largest:.4g}, not {local:g}"
    excess, k = math.expm1(local), case.size
    root = math.sqrt(2.0 * (k + 1.0) * math.log(4.0 / case.delta) / ((excess + k) * k * case.users))
    return math.log1p(excess * (4.0 * root + 4.0 * (k + 1.0) / (k * case.users)))


THEOREM_1 = Theorem(
    "theorem-1",
    "analytic",
    "Erlingsson et al. (2019), theorem 7; theorem 1 of the survey; proven there, for interaction as well",
    _always,
    _theorem_1,
)
THEOREM_3 = Theorem(
    "theorem-3",
    "analytic",
    "Cheu et al. (2019), theorem 4.1 with the exact lambda; theorem 3 of the survey, eq. (6)",
    _binary,
    _theorem_3,
)
RELAXED_3 = Theorem(
    "theorem-3-relaxed",
    "analytic",
    "eq. (7) of the survey: theorem 3 with lambda >= e^-epsilon",
    _binary,
    _relaxed_3,
)
THEOREM_4 = Theorem(
    "theorem-4",
    "analytic",
    "Balle et al. (2019), theorem 3.1; theorem 4 of the survey, eq. (8) and (9)",
    _needs_kary,
    _theorem_4,
)
CLONES = Theorem(
    "clones-closed-form",
    "analytic",
    "Feldman, McMillan and Talwar (2021), theorem 3.1",
    _always,
    _clones,
)
STRONGER_CLONES = Theorem(
    "stronger-clones-closed-form",
    "heuristic",
    "Feldman, McMillan and Talwar (2023), closed form; from the literature, not proven here",
    _always,
    _stronger_clones,
)
STRONGER_KARY = Theorem(
    "stronger-clones-kary",
    "heuristic",
    "Feldman, McMillan and Talwar (2023), closed form for k-ary response, with the range of that for any "
    "randomizer; from the literature, not proven here",
    _needs_kary,
    _stronger_kary,
)


HALVINGS = 60

Delta = Callable[[TheoremSetting, float, float], float]
"""From case, local and central epsilon to a bound of delta."""


def blanket_mass(case: TheoremSetting, local: float) -> float:
    """Return g: of k-ary response, or what every randomizer has at least, e^-eps0."""
    if case.size >= 2:
        return case.size / (math.expm1(local) + case.size)
    return math.exp(-local)


def hoeffding(case: TheoremSetting, local: float, epsilon: float) -> float:
    """Return the bound of delta.

    The range of L is (1 - g) k (e + 1) for k-ary response. For any randomizer dR_x/d omega lies between g'
    and g' E for the mass g' <= 1 of its largest blanket, so that (E - 1)(e + 1) is enough; a part of the
    blanket of mass 1/E has the same omega.

    Examples
    --------
    >>> case = TheoremSetting(10_000, 1e-6, 0)
    >>> hoeffding(case, 1.0, 0.5) < 1e-6 < hoeffding(case, 1.0, 0.1)
    True
    """
    a, grown = math.expm1(epsilon), math.exp(epsilon)
    mass = blanket_mass(case, local)
    spread = (1.0 - mass) * case.size if case.size >= 2 else math.expm1(local)
    width = spread * (grown + 1.0)
    rate = -math.expm1(-2.0 * a * a / (width * width))
    return width * width / (4.0 * a) * _power(case.users, mass * rate) / (mass * case.users)


def bennett(case: TheoremSetting, local: float, epsilon: float) -> float:
    """Return the bound of delta.

    For k-ary response L = g (1 - e) + (1 - g) k (1 or -e or 0), each of the first two with chance 1/k. For
    any randomizer L <= E - e and E L^2 <= E (1 + e^2) - 2 e/E, as both densities lie between 1/E and E.

    Examples
    --------
    >>> case = TheoremSetting(10_000, 1e-6, 10)
    >>> bennett(case, 1.0, 0.5) < hoeffding(case, 1.0, 0.5)
    True
    """
    a, grown = math.expm1(epsilon), math.exp(epsilon)
    mass = blanket_mass(case, local)
    if case.size >= 2:
        free = 1.0 - mass
        largest = free * case.size - mass * a
        square = mass * (2.0 - mass) * a * a + free * free * case.size * (grown * grown + 1.0)
    else:
        largest = math.exp(local) - grown
        square = math.exp(local) * (grown * grown + 1.0) - 2.0 * grown * math.exp(-local)
    if largest <= 0.0:
        return 0.0
    ratio = a * largest / square
    phi = (1.0 + ratio) * math.log1p(ratio) - ratio
    rate = -math.expm1(-square / (largest * largest) * phi)
    return largest / math.log1p(ratio) * _power(case.users, mass * rate) / (mass * case.users)


def _power(users: int, part: float) -> float:
    """Return (1 - part)^users."""
    return math.exp(users * math.log1p(-part)) if part < 1.0 else 0.0


def inverted(delta: Delta) -> Callable[[TheoremSetting, float], Answer]:
    """Return the function that finds a central epsilon at which the bound of delta is small enough."""

    def forward(case: TheoremSetting, local: float) -> Answer:
        _, high = bisection(lambda x: delta(case, local, x) <= case.delta, 0.0, local, rounds=HALVINGS)
        if high == local:
            return f"it proves no epsilon below the local one, {local:g}, for this few users"
        return high

    return forward


HOEFFDING = Theorem(
    "blanket-hoeffding",
    "analytic",
    "Balle et al. (2019), section 5: the blanket with Hoeffding's inequality",
    _always,
    inverted(hoeffding),
)
BENNETT = Theorem(
    "blanket-bennett",
    "analytic",
    "Balle et al. (2019), section 5: the blanket with Bennett's inequality",
    _always,
    inverted(bennett),
)


# Methods of both problems

EXACT_CLONES = "Feldman, McMillan and Talwar (2021), theorem 3.2, evaluated here with all tails"


def clones_law(local_epsilon: float) -> Law:
    """Return the distribution of the clones of Feldman, McMillan and Talwar (2021), theorem 3.2."""
    grown = math.exp(local_epsilon)
    return Law(local_epsilon, 1.0 / math.expm1(local_epsilon), scale=2.0 * grown / (grown + 1.0))


@lru_cache(maxsize=KEPT)
def clones(setting: Setting) -> Curve:
    """Return the proven bound by clones, for any randomizer."""
    return Divergence(setting.users, clones_law(setting.looked_at), setting.delta)


def stated_epsilon(problem: Shuffling[Any]) -> float:
    """Return the parameter of a problem: the local epsilon or the central one, whichever is no variable."""
    inverse = problem.epsilon_name == "local_epsilon"
    return float(getattr(problem, "central_epsilon" if inverse else "local_epsilon"))


def answer_of(theorem: Theorem, problem: Shuffling[Any]) -> Answer:
    """Return the epsilon that a theorem gives for a problem, or why it does not give one."""
    case, epsilon = TheoremSetting.of(problem.setting), stated_epsilon(problem)
    if isinstance(problem, ShuffleLocalBudget):
        return why_not_channel(problem) or theorem.local(case, epsilon)
    return "its range is local epsilon > 0" if epsilon == 0.0 else theorem.central(case, epsilon)


def theorem_method(problem: type[Shuffling[Any]], theorem: Theorem, summary: str) -> Method:
    """Return the method that evaluates a theorem, or inverts it."""

    def run(instance: Shuffling[Any]) -> Outcome:
        epsilon = answer_of(theorem, instance)
        assert not isinstance(epsilon, str)  # why_not was asked
        stated = stated_epsilon(instance)
        helps = epsilon < stated if problem.sense == "min" else epsilon > stated
        outcome = instance.outcome(epsilon, theorem.grade, "closed form", amplifies=helps)
        return changed(outcome, status="feasible")

    def why_not(instance: Shuffling[Any]) -> str | None:
        epsilon = answer_of(theorem, instance)
        return epsilon if isinstance(epsilon, str) else None

    best = "central" if problem.sense == "min" else "largest local"
    run.__doc__ = f"Return the {best} epsilon of {theorem.grade}."
    return Method(theorem.name, problem, theorem.kind, summary, run, why_not)


SUMMARIES = (
    (THEOREM_4, "theorem 4 of the survey, for k-ary response"),
    (THEOREM_3, "theorem 3 of the survey, for binary randomized response"),
    (CLONES, "closed form of the clones, for any randomizer"),
    (RELAXED_3, "eq. (7) of the survey, a relaxation of theorem 3"),
    (THEOREM_1, "theorem 1 of the survey, for any randomizer and interaction"),
    (BENNETT, "privacy blanket with Bennett's inequality"),
    (HOEFFDING, "privacy blanket with Hoeffding's inequality"),
    # These two are not proven here.
    (STRONGER_KARY, "closed form of the stronger clones for k-ary response, from the literature"),
    (STRONGER_CLONES, "closed form of the stronger clones, from the literature"),
)
"""The theorems in the order of their methods."""


def theorem_methods(
    problem: type[Shuffling[Any]], why_no_clones: Callable[[Any], str | None]
) -> tuple[Method, ...]:
    """Return the clones as computed, then each theorem: evaluated, or inverted for a local epsilon."""
    summary = "numeric clones for any randomizer, rounded up"
    inverted = "" if problem.sense == "min" else ", inverted"
    return (
        search_method(problem, "clones", summary, EXACT_CLONES, clones, why_no_clones),
        *(theorem_method(problem, theorem, f"{text}{inverted}") for theorem, text in SUMMARIES),
    )
