"""From a local epsilon to what users run: k-ary response with it, or the channel, and the central promise."""

from __future__ import annotations

import numpy as np

from mechdesign.collect import FiniteChannel, KaryChannel, KaryResponse, PrivacyTarget
from mechdesign.collect.promise import Promise
from mechdesign.collect.shuffled import Shuffled
from mechdesign.core.errors import CertificateError
from mechdesign.families.shuffle.randomizers import KnownRandomizer

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
