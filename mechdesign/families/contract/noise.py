"""What a bought epsilon is worth: the variance of one report by epsilon, and the client that makes it.

Variances are on the interval [-1, 1], for the worst value in it. The three built-in ones are convex and
strictly decreasing in epsilon (proofs in docs/families/contract.md):

    laplace     8 / eps^2
    duchi       coth(eps/2)^2                     = ((e^eps + 1) / (e^eps - 1))^2
    piecewise   1 / (3 sinh(eps/4)^2)             = 4 e^(eps/2) / (3 (e^(eps/2) - 1)^2)

``loss`` is the variance in units of Laplace's: V(eps) / 8, which is 1/eps^2 for Laplace, so that the error
of an average has the same constant whatever the noise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.kernel import rng_alone
from mechdesign.core.errors import MethodError, ParameterError, counted, suggestion
from mechdesign.core.validation import finite_array
from mechdesign.exact.numbers import plain, text_of
from mechdesign.exact.randomness import TOTAL, Rng, bit_source, numpy_generator

if TYPE_CHECKING:
    from mechdesign.collect.base import CollectingMechanism

Array = NDArray[np.float64]
Client = Callable[[Array, Array, Rng], Array]

UNIT_VARIANCE = 8.0
"""Laplace's variance on [-1, 1] at epsilon = 1: the unit of ``loss``."""


LEAST, MOST = 1e-60, 1e60
"""Numbers of a table of variances lie between these."""

FULL = 100.0
"""Beyond this epsilon Duchi's variance is 1 and piecewise's 0, to within 1e-21: no more is sold."""


@dataclass(frozen=True)
class NumberNoise:
    """A way to randomize one number, seen by a designer.

    Parameters
    ----------
    name : str
    variance : callable
        V(epsilon) on [-1, 1], convex and decreasing; infinite at 0.
    slope : callable
        -V'(epsilon) >= 0.
    at_slope : callable
        The least epsilon with -V'(epsilon) <= s: where a user whose epsilon costs s per unit stops buying.
    client : callable or None
        ``client(values, epsilon, rng)``: unbiased reports of values in [-1, 1], one epsilon a value.
    lowest, highest : float
        No epsilon below the first can be had, and none above the second is worth more.
    """

    name: str
    variance: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    at_slope: Callable[[Array], Array]
    client: Client | None = None
    lowest: float = 0.0
    highest: float = np.inf

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep a named noise one object, also in other processes: methods ask whether it is that one."""
        if NOISES.get(self.name) is self:
            return noise_of, (self.name,)
        return NumberNoise, tuple(getattr(self, item.name) for item in fields(self))

    def loss(self, epsilon: Array) -> Array:
        """Return V(epsilon) / 8; 1/epsilon^2 for Laplace noise."""
        return self.variance(epsilon) / UNIT_VARIANCE

    def epsilon_at(self, price: Array) -> Array:
        """Return the epsilon that minimises loss(epsilon) + price * epsilon."""
        return self.at_slope(UNIT_VARIANCE * price)

    @rng_alone
    def randomize(self, values: Any, epsilon: Any, rng: Rng = None) -> Array:
        """Return unbiased epsilon-private reports of values in [-1, 1]."""
        if self.client is None:
            raise MethodError(
                f"noise '{self.name}'", "is a table of variances without a client", "randomize with your own"
            )
        numbers = finite_array("values", values, 1)
        if (abs(numbers) > 1.0).any():
            where = int(np.argmax(abs(numbers) > 1.0))
            raise ParameterError(
                "values", f"entry {where} ({numbers[where]:g}) is outside [-1, 1]", "clip or rescale"
            )
        levels = _levels(epsilon, len(numbers))
        if rng is not None and not isinstance(rng, np.random.Generator):
            rng = numpy_generator(rng, f"{self.name} {hashlib.sha256(levels.tobytes()).hexdigest()}")
        return self.client(numbers, levels, rng)


def _levels(epsilon: Any, count: int) -> Array:
    """Return one epsilon > 0 for each value."""
    single = plain(epsilon) is not None
    levels = finite_array("epsilon", [epsilon] if single else epsilon, 1)
    if len(levels) != count and not single:
        raise ParameterError(
            "epsilon", f"{counted(len(levels), 'entry')} for {count} values", "give one each, or one for all"
        )
    if (levels <= 0).any():
        raise ParameterError("epsilon", f"entry {int(np.argmax(levels <= 0))} is not above 0")
    return np.broadcast_to(levels, count)


def _uniform(count: int, rng: Rng) -> Array:
    """Return numbers strictly between 0 and 1 (2**53 of them, equally likely)."""
    return ((bit_source(rng).integers(count) >> 9) + 0.5) / (TOTAL >> 9)


def _two_uniforms(count: int, rng: Rng) -> tuple[Array, Array]:
    draws = _uniform(2 * count, rng)
    return draws[:count], draws[count:]


def laplace_client(values: Array, epsilon: Array, rng: Rng) -> Array:
    """Add Laplace noise of scale 2 / epsilon."""
    uniform = _uniform(len(values), rng) - 0.5
    return values - np.copysign(np.log1p(-2.0 * abs(uniform)), uniform) * 2.0 / epsilon


def duchi_client(values: Array, epsilon: Array, rng: Rng) -> Array:
    """Report plus or minus coth(epsilon/2), unbiased."""
    size = 1.0 / np.tanh(epsilon / 2.0)
    return np.where(_uniform(len(values), rng) < 0.5 * (1.0 + values / size), size, -size)


def piecewise_client(values: Array, epsilon: Array, rng: Rng) -> Array:
    """Report within [l(v), r(v)] with high density, else anywhere in [-C, C] (the piecewise mechanism)."""
    root = np.exp(epsilon / 2.0)
    reach = (root + 1.0) / (root - 1.0)
    left = (reach + 1.0) / 2.0 * values - (reach - 1.0) / 2.0
    width = reach - 1.0
    chosen, place = _two_uniforms(len(values), rng)
    inside = left + place * width
    outside = place * (reach + 1.0) - reach
    outside = np.where(outside < left, outside, outside + width)
    return np.where(chosen < root / (root + 1.0), inside, outside)


def _excess_of_cotangent(slope: Array) -> Array:
    """Return u = t - 1 > 0 with t (t^2 - 1) = slope, that is u (u + 1) (u + 2) = slope, by Newton's method.

    The cubic is convex and increasing for u > 0, so the iterates from the right of the root decrease to it.
    """
    root = np.minimum(slope / 2.0, np.cbrt(slope))
    for _ in range(60):
        step = (root * (root + 1.0) * (root + 2.0) - slope) / (3.0 * root * root + 6.0 * root + 2.0)
        root = root - step
        if not (step > root * 2.0**-52).any():
            break
    return root


def _half_angle(slope: Array) -> Array:
    """Return x with coth(x) (coth(x)^2 - 1) = slope."""
    excess = _excess_of_cotangent(slope)
    return 0.5 * np.log1p(2.0 / excess)


def _coth_slope(half: Array) -> Array:
    slope: Array = np.exp(-2.0 * _log_sinh(half)) / np.tanh(half)
    return slope


def _log_sinh(half: Array) -> Array:
    return np.asarray(half + np.log(-np.expm1(-2.0 * half)) - np.log(2.0))


# Functions with names, not lambdas: problems travel to other processes with the noise that they hold.


def _laplace_variance(epsilon: Array) -> Array:
    return 8.0 / (epsilon * epsilon)


def _laplace_slope(epsilon: Array) -> Array:
    return 16.0 / (epsilon * epsilon * epsilon)


def _laplace_at_slope(slope: Array) -> Array:
    return np.asarray(np.cbrt(16.0 / slope))


def _duchi_variance(epsilon: Array) -> Array:
    return np.asarray(1.0 / np.tanh(epsilon / 2.0) ** 2)


def _duchi_slope(epsilon: Array) -> Array:
    return _coth_slope(epsilon / 2.0)


def _duchi_at_slope(slope: Array) -> Array:
    return 2.0 * _half_angle(slope)


def _piecewise_variance(epsilon: Array) -> Array:
    return np.asarray(np.exp(-2.0 * _log_sinh(epsilon / 4.0)) / 3.0)


def _piecewise_slope(epsilon: Array) -> Array:
    return _coth_slope(epsilon / 4.0) / 6.0


def _piecewise_at_slope(slope: Array) -> Array:
    return 4.0 * _half_angle(6.0 * slope)


LAPLACE = NumberNoise("laplace", _laplace_variance, _laplace_slope, _laplace_at_slope, laplace_client)
DUCHI = NumberNoise("duchi", _duchi_variance, _duchi_slope, _duchi_at_slope, duchi_client, highest=FULL)
PIECEWISE = NumberNoise(
    "piecewise", _piecewise_variance, _piecewise_slope, _piecewise_at_slope, piecewise_client, highest=FULL
)

NOISES: dict[str, NumberNoise] = {noise.name: noise for noise in (LAPLACE, DUCHI, PIECEWISE)}
"""Every named noise."""


@dataclass(frozen=True, eq=False)
class _Lines:
    """Straight lines between nodes whose values fall; infinite before the first, constant after the last."""

    nodes: Array
    values: Array
    slopes: Array

    def variance(self, levels: Array) -> Array:
        inside = np.interp(levels, self.nodes, self.values)
        return np.where(levels < self.nodes[0], np.inf, inside)

    def slope(self, levels: Array) -> Array:
        place = np.searchsorted(self.nodes, levels, side="right") - 1
        return np.asarray(np.append(self.slopes, 0.0)[np.clip(place, 0, len(self.slopes))])

    def at_slope(self, prices: Array) -> Array:
        return np.asarray(self.nodes[np.searchsorted(-self.slopes, -np.asarray(prices), side="left")])


def tabulated(epsilon: Any, variance: Any) -> NumberNoise:
    """Return a noise from a table: straight lines between the nodes, constant after the last.

    Between two nodes the line is reached or beaten by the mechanism itself when its variance is convex.

    Parameters
    ----------
    epsilon : (m,) numbers
        Increasing, > 0. Nothing below the first is sold.
    variance : (m,) numbers
        Decreasing and convex, on [-1, 1].

    Raises
    ------
    ParameterError
        Where the table is not increasing, not decreasing or not convex, naming the entry.

    Examples
    --------
    >>> noise = tabulated([1.0, 2.0, 4.0], [8.0, 2.0, 0.5])
    >>> noise.variance(np.array([1.5, 3.0])), noise.at_slope(np.array([5.0, 0.5]))
    (array([5.  , 1.25]), array([2., 4.]))
    """
    nodes, values = finite_array("noise.epsilon", epsilon, 1), finite_array("noise.variance", variance, 1)
    if len(nodes) != len(values) or len(nodes) < 2:
        raise ParameterError(
            "noise.variance",
            f"has {counted(len(values), 'entry')} for {counted(len(nodes), 'epsilon')}",
            "give one each, at least two",
        )
    if nodes[0] <= 0 or (np.diff(nodes) <= 0).any():
        where = int(np.argmax(np.diff(nodes, prepend=0.0) <= 0))
        raise ParameterError(
            "noise.epsilon", f"entry {where} ({nodes[where]:g}) does not increase", "sort the table, above 0"
        )
    if values.min() < LEAST or values.max() > MOST or nodes[0] < LEAST or nodes[-1] > MOST:
        raise ParameterError("noise", f"a number of the table is outside [{LEAST:g}, {MOST:g}]", "omit it")
    slopes = -np.diff(values) / np.diff(nodes)
    if (slopes <= 0).any():
        where = int(np.argmax(slopes <= 0)) + 1
        raise ParameterError(
            "noise.variance",
            f"entry {where} ({values[where]:g}) does not decrease",
            "a larger epsilon must buy less noise",
        )
    if (np.diff(slopes) > 0).any():
        where = int(np.argmax(np.diff(slopes) > 0)) + 1
        raise ParameterError(
            "noise.variance",
            f"is not convex at entry {where} (epsilon {nodes[where]:g})",
            "drop that entry or give its convex hull",
        )
    lines = _Lines(nodes, values, slopes)
    return NumberNoise(
        "table", lines.variance, lines.slope, lines.at_slope, None, float(nodes[0]), float(nodes[-1])
    )


def randomizer(name: str, epsilon: float, low: float, high: float) -> CollectingMechanism[Any]:
    """Return the mechanism for one number at one epsilon, with client, server, file and its own certificates.

    Raises
    ------
    MethodError
        For a table of variances, which has no client.

    Examples
    --------
    >>> certificate = randomizer("duchi", 1.5, 0.0, 10.0).certificates()[0]
    >>> certificate.property, certificate.holds, certificate.exact
    ('privacy', True, True)
    """
    from mechdesign.collect.base import mechanism_type

    if name not in NOISES:
        raise MethodError(
            f"noise '{name}'", "is a table of variances without a client", "randomize with your own"
        )
    build: Callable[..., CollectingMechanism[Any]] | None = mechanism_type(name)  # type: ignore[assignment]
    assert build is not None  # a noise has the name of the type of its mechanism
    return build(epsilon, low, high)


def noise_of(value: Any) -> NumberNoise:
    """Return the noise that a name or a table ``{epsilon = [...], variance = [...]}`` stands for.

    Raises
    ------
    ParameterError
        With the known names.
    """
    if isinstance(value, NumberNoise):
        return value
    if isinstance(value, Mapping):
        if set(value) != {"epsilon", "variance"}:
            raise ParameterError(
                "noise", f"a table has the keys epsilon and variance, got {', '.join(map(str, value))}"
            )
        return tabulated(value["epsilon"], value["variance"])
    if not isinstance(value, str) or value not in NOISES:
        raise ParameterError(
            "noise",
            f"{text_of(value)} is not a choice",
            f"{suggestion(str(value), NOISES)} (or give a table of epsilon and variance)",
        )
    return NOISES[value]


CONE_FORMS = {
    "laplace": ("inverse-square", 1.0),
    "duchi": ("coth-square", 8.0),
    "piecewise": ("inverse-sinh", 8.0),
}
"""Which named function of the solver layer is loss(epsilon) times which unit, for each noise."""
