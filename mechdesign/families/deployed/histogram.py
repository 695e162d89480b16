"""The problem ``deployed-histogram``: the least noise of clients for summed one-hot vectors, for all data.

Each client flips the bits of its one-hot vector with probability p = 1/(e^eps0 + 1); only the sum is seen.
The delta of that sum is bounded from both sides, whatever the other clients hold.

If a user's one moves from one coordinate to another, two counts change. Of the other n - 1 users c hold a
coordinate; their noisy ones R there are c - Bin(c, p) + Bin(n-1-c, p). With the user's own bit the count has
P(s) = (1-p) R(s-1) + p R(s), without it Q(s) = p R(s-1) + (1-p) R(s). R is a sum of independent bits, so
R(s-1)/R(s) increases in s, the best set of outcomes is an upper tail, and with T(s) = Pr[R > s]

    H_E(P || Q) = max over s of  ((1-p) - E p) R(s) - (E - 1) T(s),   0 from E = (1-p)/p on.

Upper bound. For c in a block [c1, c2] count only the noise of c1 ones and n-1-c2 zeros: the noise of the rest
is independent, and adding it is post-processing. So h(E), the largest over all blocks, bounds H_E for every
c, and by the mirror image also H_E(Q || P). A curve that bounds H_E for every E is a dominating pair, and
pairs compose (Zhu, Dong and Wang 2022): delta(eps) <= sum over i of A_i h(e^eps / E_i), with A_i the masses
of the curve through the values of h on a grid of E. A chord of a convex function is above it.

Lower bound. Others who all hold the user's coordinate: two counts of flips, Bin(n, p) each, against one user
less and a bit that is flipped with 1 - p.

The methods are the least noise that is proven, and the stated noise. ``quantities`` compares both with the
noise that an attack refutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.mass import UNIT, binomial_window
from mechdesign.collect import Mechanism
from mechdesign.core.certificate import Certificate
from mechdesign.core.fields import frozen_problem, real, whole
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.problem import Method, Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution

Doubles = NDArray[np.float64]

BLOCKS = 256
"""Blocks of the number of others who hold a coordinate; a block loses its part of the noise."""

STEP = 0.02
"""The width of the grid of ln E, about."""

TAIL = 1e-24
"""About what windows leave out; the true size is bounded and counted."""

NEAR = 1e-9
"""More than the relative error of a ratio of probabilities."""


def flipped_delta(users: int, local_epsilon: float, epsilon: float, at_ends: bool = False) -> float:
    """Return an upper bound of delta of the summed vectors of ``users`` users, for all data.

    With ``at_ends`` it is only for data in which about all others or about none hold a coordinate.

    Examples
    --------
    >>> flipped_delta(1000, 3.0, 1.0) < 1e-6
    True
    """
    steps = max(1, math.ceil(epsilon / STEP))
    width = epsilon / steps
    count = math.ceil(local_epsilon / width) + 1
    grid = np.exp(width * np.arange(count + 1))
    curve = _curve(users, local_epsilon, grid, at_ends)
    ratios = np.concatenate([1.0 / grid[:0:-1], grid])
    heights = np.concatenate([1.0 - 1.0 / grid[:0:-1] + curve[:0:-1] / grid[:0:-1], curve])
    slopes = np.diff(heights) / np.diff(ratios)
    masses = np.maximum(np.diff(np.concatenate([[-1.0], slopes, [0.0]])), 0.0) * ratios
    # of entry i the loss is (i - count) steps, so that e^eps / E_i is entry 2 count + steps - i
    partner = 2 * count + steps - np.arange(len(ratios))
    facing = np.where(partner < len(ratios), heights[np.minimum(partner, len(ratios) - 1)], 0.0)
    # a height errs by 2 units, a mass by 16 over the width of a step; E_i by a unit, and slopes are below 1
    rounding = UNIT * (16.0 * float(facing.sum()) / width + 16.0 * float(ratios[-1]))
    return min(1.0, float((masses * facing).sum()) * (1.0 + 1e-9) + rounding)


def _curve(users: int, local_epsilon: float, grid: Doubles, at_ends: bool) -> Doubles:
    """Return upper bounds of H_E for each E of the grid and every number of others with the coordinate."""
    others = users - 1
    size = -(-others // BLOCKS) if others else 1
    curve = np.zeros(len(grid))
    for start in range(0, others + 1, max(size, others - others % size) if at_ends else size):
        last = min(start + size - 1, others)
        curve = np.maximum(curve, _block(start, others - last, local_epsilon, grid))
    return curve


def _block(ones: int, zeros: int, local_epsilon: float, grid: Doubles) -> Doubles:
    """Return upper bounds of H_E where only these others add noise."""
    odds = math.exp(-local_epsilon)
    flip = odds / (1.0 + odds)
    first, second = binomial_window(ones, odds, TAIL), binomial_window(zeros, odds, TAIL)
    law = np.convolve(first.probability[::-1], second.probability)
    rounded = (len(law) + 8) * 4.0 * UNIT
    left_out = first.below + first.above + second.below + second.above
    upper, lower = first.upper * second.upper * (1.0 + rounded), first.lower * second.lower * (1.0 - rounded)
    high = law * upper + left_out
    tails = np.append(np.cumsum(law[::-1])[::-1][1:], 0.0) * lower
    gain = np.maximum((1.0 - flip) - grid * flip, 0.0) * (1.0 + 8.0 * UNIT)
    some, values = gain > 0.0, np.zeros(len(grid))
    values[some] = _largest(law, high, tails, gain[some], grid[some] - 1.0, lower / upper)
    return np.minimum(np.maximum(values, 0.0) * (1.0 + 8.0 * UNIT) + gain * left_out, 1.0)


def _largest(
    law: Doubles, high: Doubles, tails: Doubles, gain: Doubles, loss: Doubles, part: float
) -> Doubles:
    """Return max over s of gain high(s) - loss tails(s), for each gain and loss.

    It rises up to the last s with R(s-1)/R(s) below 1 + part loss / gain: laws of sums of bits are
    log-concave, and so are those on windows. All s are looked at that rounding may confuse with it.
    """
    ratios, turns = law[:-1] / law[1:], 1.0 + part * loss / gain
    place, last = (np.searchsorted(ratios, turns * (1.0 + near)) for near in (-NEAR, NEAR))
    values = gain * high[place] - loss * tails[place]
    while (place < last).any():
        place = np.minimum(place + 1, last)
        values = np.maximum(values, gain * high[place] - loss * tails[place])
    return values


def attacked_delta(users: int, local_epsilon: float, epsilon: float) -> float:
    """Return a lower bound of delta: the others all hold the coordinate that the user has or has not.

    Examples
    --------
    >>> attacked_delta(1000, 3.0, 0.1) <= flipped_delta(1000, 3.0, 0.1)
    True
    """
    odds, factor = math.exp(-local_epsilon), math.exp(epsilon)
    flip = odds / (1.0 + odds)
    with_user, without = binomial_window(users, odds, TAIL), binomial_window(users - 1, odds, TAIL)
    low, high = min(with_user.first, without.first), max(with_user.last, without.last + 1)
    top, rest = np.zeros(high - low + 1), np.zeros(high - low + 1)
    top[with_user.first - low : with_user.last - low + 1] = with_user.probability * with_user.lower
    start, count = without.first - low, len(without.probability)
    rest[start + 1 : start + 1 + count] += (1.0 - flip) * without.probability
    rest[start : start + count] += flip * without.probability
    rest = rest * (without.upper * (1.0 + 8.0 * UNIT)) + without.below + without.above
    excess, lost = np.outer(top, top), np.outer(rest, rest)  # in place: they are large
    excess *= 1.0 - 8.0 * UNIT
    lost *= factor * (1.0 + 8.0 * UNIT)
    excess -= lost
    return float(np.maximum(excess, 0.0, out=excess).sum()) * (1.0 - 4.0 * excess.size * UNIT)


LEAST, MOST = 0.01, 12.0
"""Local epsilon: below, counts are noise; above, rounding shows next to delta."""

REAL = "for real numbers, by a dominating pair over all data of the others"


@lru_cache(maxsize=1024)
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
    unstated: ClassVar[str] = (
        "its only variable is found where a proven delta, a sum over binomials, meets the promise"
    )
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
        proven = self.proven_delta(local)
        figures = {"epsilon": self.epsilon, "delta": self.delta, "proven_delta": proven}
        figures["attacked_delta"] = self.attacked_delta(local)
        witness = {"others": "all hold what the user holds, or all what the user does not hold"}
        promise = Guarantee(self.epsilon, self.delta, "central", covers="the aggregate")
        privacy = Certificate.of_privacy(Proof(promise, None, proven, exact=False), figures, witness, REAL)
        return privacy, self.optimality(solution)

    def why_no_mechanism(self) -> str:
        """Return why the result is not a mechanism, and its use."""
        return (
            "it states the noise of clients of a secure aggregation, which runs elsewhere: for a trusted "
            "shuffler build a shuffle-histogram model"
        )


STEPS = 30
"""Bisections of the attack, which is cheap."""

FINE = 0.002
"""How near the proven local epsilon is to the largest one that the proof takes."""

SOURCE = "an attack on data where all others hold the same"


def all_data(problem: DeployedHistogram) -> Outcome:
    """Return the largest local epsilon that is proven for all data; the bound is from an attack."""
    refuted = _least_refuted(problem)
    if refuted is not None and refuted <= LEAST:
        return Outcome(status="infeasible", solver="bisection", message="too few users; give more users")
    top = MOST if refuted is None else refuted
    users, epsilon = problem.users, problem.epsilon
    low = _largest_within(lambda local: flipped_delta(users, local, epsilon, True), problem.delta, top)
    if low is not None and problem.proven_delta(low) > problem.delta:  # the ends are not the worst
        low = _largest_within(problem.proven_delta, problem.delta, top)
    if low is None:
        return Outcome(status="infeasible", solver="bisection", message="too few users; give more users")
    return Outcome(
        status="feasible" if refuted is None else "optimal",
        variables={"local_epsilon": low},
        bound=problem.deviation(top),
        bound_source=SOURCE if refuted is not None else f"the largest local epsilon, {MOST:g}",
        solver="bisection",
    )


def _largest_within(delta_of: Callable[[float], float], delta: float, top: float) -> float | None:
    """Return a local epsilon next to the largest one below ``top`` that keeps delta; None where none does."""
    low, high, near = LEAST, top, 0.98 * top
    if delta_of(low) > delta:
        return None
    if delta_of(near) <= delta:
        low = near
    while high - low > FINE:
        middle = (low + high) / 2.0
        low, high = (middle, high) if delta_of(middle) <= delta else (low, middle)
    return low


def _least_refuted(problem: DeployedHistogram) -> float | None:
    """Return about the least local epsilon that an attack refutes; None where it refutes none."""
    if problem.attacked_delta(MOST) <= problem.delta:
        return None
    low, high = LEAST, MOST
    for _ in range(STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if problem.attacked_delta(middle) > problem.delta else (middle, high)
    return high


def stated_noise(problem: DeployedHistogram) -> Outcome:
    """Return the stated local epsilon."""
    refuted = _least_refuted(problem)
    return Outcome(
        status="feasible",
        variables={"local_epsilon": problem.stated_local_epsilon},
        bound=problem.deviation(MOST if refuted is None else refuted),
        bound_source=SOURCE,
        solver="stated",
    )


def not_stated(problem: DeployedHistogram) -> str | None:
    """Return why there is nothing deployed, or None."""
    return None if problem.stated_local_epsilon is not None else "no local epsilon is stated"


METHODS = (
    Method("all-data", DeployedHistogram, "numeric",
           "a dominating pair over all data of the others; a bound by attack", all_data),
    Method("as-deployed", DeployedHistogram, "heuristic",
           "the local epsilon that a system states", stated_noise, not_stated),
)  # fmt: skip


def quantities(problem: DeployedHistogram, solution: Solution[Any]) -> dict[str, Any]:
    """Return the proven and the attacked delta of a solution, and its variance over that of the bound.

    ``times_the_bound`` is the ratio of the variance to that of noise which an attack refutes.
    """
    local = float(solution.variables["local_epsilon"])
    numbers = {
        "proven_delta": problem.proven_delta(local),
        "attacked_delta": problem.attacked_delta(local),
        "keeps_delta": problem.proven_delta(local) <= problem.delta,
    }
    if solution.bound:
        numbers["times_the_bound"] = (solution.value / solution.bound) ** 2
    return numbers
