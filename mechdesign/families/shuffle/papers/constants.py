"""The constants of the papers: for each noise how much of it they prescribe, and where their theorems hold.

Whether that is enough, or far too much, is decided by the divergence that is computed for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress

import numpy as np

from mechdesign.core.errors import ParameterError
from mechdesign.core.values import changed
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.shuffle.digits import PARTS, DigitResponses
from mechdesign.families.shuffle.dummies import MOST_TRIALS, Coins, Dummies
from mechdesign.families.shuffle.flips import (
    MOST_BITS,
    MOST_FAKES,
    MOST_FLIP,
    BitFlips,
    FakeVectors,
    UnaryFlips,
    VectorFlips,
    least_flip_weight,
    require_own_messages,
    require_vectors,
)
from mechdesign.families.shuffle.noise import Allowed, Noise
from mechdesign.families.shuffle.presence import EachPresence, OnePresence
from mechdesign.families.shuffle.promise import OutOfReachError, Promise
from mechdesign.families.shuffle.responses import (
    SHARE,
    FakeResponses,
    HashedResponses,
    Responses,
    SumResponses,
    least_other,
    most_buckets,
    most_other,
)
from mechdesign.families.shuffle.sketch import MOST_ENTRIES, Codewords, SketchRows, require_codewords


def require_epsilon(promise: Promise, most: float = 1.0) -> None:
    """Raise OutOfReachError for an epsilon beyond that of a theorem."""
    if promise.epsilon > most:
        raise OutOfReachError(f"its theorem is for epsilon up to {most:g}", remedy="give a smaller one")


def require_users(least: int) -> OutOfReachError:
    """Return the error for users that are too few for a theorem."""
    return OutOfReachError(f"requires at least {least} users", remedy="give this many")


def require_trials(
    trials: int, allowed: Allowed, limit: int, rows: int = 1, way: str = "allow them, or give more users"
) -> None:
    """Raise OutOfReachError when a theorem wants more dummies of a user than are allowed."""
    most = limit if allowed.max_messages is None else min(limit, allowed.max_messages // rows - 1)
    if trials > most:
        raise OutOfReachError(f"its theorem requires {rows * (trials + 1)} messages per user", remedy=way)


def spread_of_coins(epsilon: float) -> float:
    """Return ((e^epsilon + 1) / (e^epsilon - 1))^2."""
    exponential = math.exp(epsilon)
    return ((exponential + 1.0) / (exponential - 1.0)) ** 2


def dummies(promise: Promise, size: int, allowed: Allowed) -> Dummies:
    """Return 14 d ln(2/delta) / epsilon^2 + 1 dummies in all."""
    require_epsilon(promise)
    total = 14.0 * size * math.log(2.0 / promise.delta) / promise.epsilon**2 + 1.0
    trials = math.ceil(total / promise.honest_users)
    require_trials(trials, allowed, Dummies.limit)
    return Dummies(promise, size, trials, TOTAL)


def coins(promise: Promise, size: int, allowed: Allowed) -> Coins:
    """Return the coins of the survey's theorem 6 for half of delta.

    The other half is the chance that too few coins are added: Chernoff's bound says how many it takes.
    """
    needed = 20.0 * spread_of_coins(promise.epsilon) * math.log(4.0 / promise.delta)
    slack = math.log(2.0 / promise.delta)
    mean = needed + slack + math.sqrt(slack * slack + 2.0 * slack * needed)
    trials = math.ceil(mean / promise.honest_users)
    require_trials(trials, allowed, Coins.limit)
    return Coins(promise, size, trials, math.ceil(mean / (trials * promise.honest_users) * TOTAL))


def bit_flips(promise: Promise, size: int, allowed: Allowed) -> BitFlips:
    """Return the noise of the survey's eq. (11)."""
    log, users = math.log(4.0 / promise.delta), promise.honest_users
    if promise.epsilon >= math.sqrt(192.0 * log / users):
        share = 64.0 * log / (users * promise.epsilon**2)
    else:
        share = 1.0 - promise.epsilon * math.sqrt(users) / math.sqrt(432.0 * log)
    flip = max(least_flip_weight(allowed.local_cap), math.ceil(share / 2.0 * TOTAL))
    return BitFlips(promise, size, min(MOST_FLIP, flip))


def unary_flips(promise: Promise, size: int, allowed: Allowed) -> UnaryFlips:
    """Return the constants of :func:`bit_flips` for each bit; with size 0 of epsilon sqrt(n) steps.

    Each of r bits has epsilon/r and delta/r by basic composition, or epsilon/sqrt(8 r ln(2/delta)) and
    delta/(2 r) by advanced composition, whichever flips less.
    """
    steps = size - 1
    if not size:
        steps = max(1, math.ceil(promise.epsilon * math.sqrt(promise.users)))
        steps = min(steps, MOST_BITS, allowed.max_messages or steps)
    advanced = promise.epsilon / math.sqrt(8.0 * steps * math.log(2.0 / promise.delta))
    flips = []
    for epsilon, divisor in ((promise.epsilon / steps, steps), (advanced, 2 * steps)):
        with suppress(ParameterError):  # a part that is too small for a promise of its own
            bit = changed(promise, epsilon=min(epsilon, promise.epsilon), delta=promise.delta / divisor)
            flips.append(bit_flips(bit, 2, Allowed()).flip)
    if not flips:
        raise OutOfReachError(f"epsilon is too small for {steps} bits", remedy="give a smaller precision")
    return UnaryFlips(promise, steps + 1, min(flips))


def vector_flips(promise: Promise, size: int, allowed: Allowed) -> VectorFlips:
    """Return the constants of :func:`bit_flips`, half of epsilon and delta for each of two bits."""
    require_own_messages(size, allowed)
    try:
        half = changed(promise, epsilon=promise.epsilon / 2.0, delta=promise.delta / 2.0)
    except ParameterError as error:
        raise OutOfReachError(
            f"half of epsilon or delta is too small ({error})", remedy="give a larger one"
        ) from None
    return VectorFlips(promise, size, bit_flips(half, 2, Allowed()).flip)


def fake_vectors(promise: Promise, size: int, allowed: Allowed) -> FakeVectors:
    """Return the paper's k and q (1 - q)."""
    require_vectors(size)
    noise = spread_of_coins(promise.epsilon) * math.log(4.0 / promise.delta)
    fakes = max(1, math.ceil(132.0 / (5.0 * promise.honest_users) * noise))
    require_trials(fakes, allowed, MOST_FAKES)
    product = 33.0 / (5.0 * promise.honest_users * fakes) * noise
    flip = (1.0 - math.sqrt(max(0.0, 1.0 - 4.0 * product))) / 2.0
    return FakeVectors(promise, size, min(MOST_FLIP, math.ceil(flip * TOTAL)), fakes)


def response_share(promise: Promise, size: int) -> float:
    """Return lambda of the survey's eq. (8), the probability of a uniform response.

    Raises
    ------
    OutOfReachError
        Outside the theorem's conditions epsilon <= 1 and lambda <= 1, saying what would do.
    """
    require_epsilon(promise)
    log, others = math.log(2.0 / promise.delta), promise.honest_users - 1
    needed = size * max(14.0 * log / promise.epsilon**2, 27.0 / promise.epsilon)
    if needed >= others:
        raise require_users(math.ceil((needed + 2.0) / promise.honest))
    return needed / others


def responses(promise: Promise, size: int, allowed: Allowed) -> Responses:
    """Return the noise of the survey's eq. (8)."""
    share = response_share(promise, size)
    other = max(least_other(allowed.local_cap, size), math.ceil(share * TOTAL / size))
    if other > most_other(size):
        raise OutOfReachError("local_cap is too small for weights of 62 digits", remedy="give a larger one")
    return Responses(promise, size, other)


def sum_responses(promise: Promise, size: int, allowed: Allowed) -> SumResponses:
    """Return the noise of the survey's eq. (8), and with size 0 its precision, a cube root."""
    if not size:
        log = math.log(2.0 / promise.delta)
        steps = np.cbrt(3.0 * promise.honest_users * promise.epsilon**2 / (28.0 * log))
        size = max(1, round(steps)) + 1
    share = response_share(promise, size)
    return SumResponses(promise, size, min(most_other(size), math.ceil(share * TOTAL / size)))


def digit_responses(promise: Promise, size: int, allowed: Allowed) -> DigitResponses:
    """Return three levels, a third of epsilon and delta each.

    With m levels level j has min(ceil(a^(3^j)), most) values, a = ((3^m - 1) n epsilon^2 / m^3)^b with
    b = 3^(-m - 1), and each other one has the chance max(14 ln(2 m/delta) / e^2, 27 / e) / (n - 1), e =
    epsilon/m.
    """
    m = 3
    if size:
        raise OutOfReachError("its levels follow from its constants", remedy="omit the precision")
    if allowed.max_messages is not None and allowed.max_messages < m:
        raise OutOfReachError(f"it needs {m} messages per user", remedy="allow as many")
    n, each = promise.honest_users, promise.epsilon / m
    chance = max(14.0 * math.log(2.0 * m / promise.delta) / each, 27.0) / each / (n - 1)
    base = ((3.0**m - 1.0) * n * promise.epsilon**2 / m**3) ** (3.0 ** (-m - 1))
    most = math.floor(1.0 / chance) - 1
    if most < 2:
        raise OutOfReachError(f"its theorem requires more than {n} honest users", remedy="give more users")
    levels = [min(most, max(2, math.ceil(base ** (3.0**level)))) for level in range(1, m + 1)]
    others = [math.ceil(chance * TOTAL)] * m
    parts = [PARTS - (m - 1) * (PARTS // m), *[PARTS // m] * (m - 1)]
    return DigitResponses(promise, math.prod(levels) + 1, levels, others, parts)


def hashed_responses(promise: Promise, size: int, allowed: Allowed) -> HashedResponses:
    """Return M = epsilon^2 (n - 1) / (14 ln(2/delta)) and (M + 2) / 3 buckets."""
    require_epsilon(promise)
    log, others = math.log(2.0 / promise.delta), promise.honest_users - 1
    mass = min(promise.epsilon**2 * others / (14.0 * log), promise.epsilon * others / 27.0)
    if mass <= 3.0:
        raise require_users(math.ceil((3.0 * others / max(mass, 1e-9) + 3.0) / promise.honest))
    buckets = min(most_buckets(size), max(2, round((mass + 2.0) / 3.0)))
    other = max(least_other(allowed.local_cap, buckets), math.ceil(TOTAL / mass))
    return HashedResponses(promise, size, buckets, other)


def fake_responses(promise: Promise, size: int, allowed: Allowed) -> FakeResponses:
    """Return the noise with (n - 1)/s + fakes/d' = 14 ln(2/delta) / epsilon^2.

    s = e^local + d' - 1 for d' buckets, of least error for a rare category.
    """
    require_epsilon(promise)
    fakes, most = -(-promise.users // SHARE), most_buckets(size)
    needed = 14.0 * math.log(2.0 / promise.delta) / promise.epsilon**2
    buckets = np.arange(2, most + 1, dtype=np.float64)
    lacking = np.maximum(needed - fakes / buckets, 1e-12 * needed)
    inverse = lacking / max(1, promise.honest_users - 1)
    gap = 1.0 - buckets * inverse  # p - 1/d', up to its factor 1 - 1/d'
    error = np.where(gap > 0.0, 1.0 / (buckets - 1.0) / np.where(gap > 0.0, gap, 1.0) ** 2, np.inf)
    best = int(error.argmin())
    if not math.isfinite(error[best]):
        raise OutOfReachError(
            f"its theorem requires more than {promise.honest_users} honest users", remedy="give more users"
        )
    bucket_count = int(buckets[best])
    other = max(math.ceil(inverse[best] * TOTAL), least_other(allowed.local_cap, bucket_count))
    if other > most_other(bucket_count):
        raise OutOfReachError("no response is as private as that", remedy="give a larger local_cap")
    return FakeResponses(promise, size, bucket_count, other, fakes)


def silent_users(promise: Promise, factor: float, part: float, most: float) -> int:
    """Return the weight of p = 1 - factor ln(part / delta) / (epsilon^2 n), for epsilon up to ``most``."""
    noise = factor * math.log(part / promise.delta) / promise.epsilon**2
    require_epsilon(promise, most)
    if promise.honest_users < 2.0 * noise:
        raise require_users(math.ceil(2.0 * noise / promise.honest))
    return math.ceil(noise / promise.honest_users * TOTAL)


def one_presence(promise: Promise, size: int, allowed: Allowed) -> OnePresence:
    """Return 50 ln(2/delta) / epsilon^2 silent users."""
    return OnePresence(promise, size, silent_users(promise, 50.0, 2.0, 1.0))


def each_presence(promise: Promise, size: int, allowed: Allowed) -> EachPresence:
    """Return 200 ln(4/delta) / epsilon^2 silent users for each category."""
    return EachPresence(promise, size, silent_users(promise, 200.0, 4.0, 2.0))


def sketch_rows(promise: Promise, size: int, allowed: Allowed) -> SketchRows:
    """Return 90 t^2 ln(2 t/delta) / (n epsilon^2) dummies of a user in a cell, t rows."""
    shaped = SketchRows.shaped(promise, size, 1, 1)
    rows = shaped.rows
    noise = 90.0 * rows**2 * math.log(2.0 * rows / promise.delta) / promise.epsilon**2
    share = noise / promise.honest_users
    if share >= 1.0:
        raise require_users(math.floor((noise + (promise.honest < 1.0)) / promise.honest) + 1)
    trials = math.ceil(share * shaped.buckets)
    require_trials(trials, allowed, MOST_TRIALS, rows, "allow them")
    cell = min(shaped.full, math.ceil(share / trials * 2.0**62))
    return SketchRows.shaped(promise, size, trials, cell)


def codewords(promise: Promise, size: int, allowed: Allowed) -> Codewords:
    """Return 36 ln(1/delta) / epsilon^2 dummies of each user and log2(users) entries."""
    require_codewords(size)
    trials = math.ceil(
        36.0 * math.log(1.0 / promise.delta) / promise.epsilon**2 * promise.users / promise.honest_users
    )
    require_trials(trials, allowed, MOST_TRIALS, 1, "allow them")
    return Codewords(promise, size, trials, TOTAL, min(MOST_ENTRIES, (promise.users - 1).bit_length()))


CONSTANTS: Mapping[type[Noise], Callable[[Promise, int, Allowed], Noise]] = {
    Dummies: dummies,
    Coins: coins,
    BitFlips: bit_flips,
    UnaryFlips: unary_flips,
    VectorFlips: vector_flips,
    FakeVectors: fake_vectors,
    Responses: responses,
    SumResponses: sum_responses,
    DigitResponses: digit_responses,
    HashedResponses: hashed_responses,
    FakeResponses: fake_responses,
    OnePresence: one_presence,
    EachPresence: each_presence,
    SketchRows: sketch_rows,
    Codewords: codewords,
}
"""By its class: from a promise, the values and the limits of users to the noise of the paper."""
