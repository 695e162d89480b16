"""Closed forms by concentration: the blanket's excess bounded as by Hoeffding and by Bennett.

With a blanket of mass g, m ~ Bin(n, g) reports drawn from it and L = (dR_x - e dR_x') / d omega of each,

    delta(eps) <= 1/(n g)  E ( L_1 + ... + L_m )_+ ,   E L = 1 - e = -a.

Hoeffding: if L has the range b, Pr[sum > t] <= exp(-2 (t + m a)^2 / (m b^2)), whose integral over t > 0 is
at most b^2/(4 a) exp(-2 m a^2/b^2). Bennett: if L <= b and E L^2 <= c, Pr[sum > t] <= exp(-m c/b^2 phi(u)),
u = (a + t/m) b/c, phi(u) = (1 + u) ln(1 + u) - u, and as phi is convex the integral is at most
b / ln(1 + a b/c) times the value at t = 0. Both are powers of m, whose mean is (1 - g + g x)^n.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from mechdesign.families.shuffle.theorems import Answer, Theorem, TheoremSetting

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
        low, high = 0.0, local
        for _ in range(HALVINGS):
            middle = low + (high - low) / 2.0
            if not low < middle < high:
                break
            low, high = (low, middle) if delta(case, local, middle) <= case.delta else (middle, high)
        if high == local:
            return f"it proves no epsilon below the local one, {local:g}, for this few users"
        return high

    return forward


def _always(case: TheoremSetting) -> str | None:
    return None


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
