"""Where random bits come from: the operating system for deployment, numpy for simulations."""

from __future__ import annotations

import hashlib
import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError
from mechdesign.core.numbers import plain, shown

BITS = 62
"""Probabilities of finite mechanisms are integers out of ``2**BITS``."""

TOTAL = 1 << BITS

_OWN_STREAM = 0x6D656368

Rng = int | np.random.Generator | None


class BitSource(Protocol):
    """A source of uniform integers."""

    def integers(self, count: int) -> NDArray[np.int64]:
        """Return ``count`` independent uniform integers in [0, 2**62)."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of 64 independent random bits."""


class SystemSource:
    """The operating system's cryptographic generator; the default of every randomizer."""

    def integers(self, count: int) -> NDArray[np.int64]:
        """Return ``count`` independent uniform integers in [0, 2**62)."""
        return (self.words(count) >> np.uint64(64 - BITS)).view(np.int64)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of 64 independent random bits."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


class NumpySource:
    """A numpy generator: repeatable, for simulations and tests only, never for deployment."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    def integers(self, count: int) -> NDArray[np.int64]:
        """Return ``count`` independent uniform integers in [0, 2**62)."""
        return self.generator.integers(0, TOTAL, size=count, dtype=np.int64)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of 64 independent random bits."""
        return self.generator.integers(0, (1 << 64) - 1, size=count, dtype=np.uint64, endpoint=True)


def bit_source(rng: Rng = None) -> BitSource:
    """Return the source that ``rng`` names: None the system's, an int or a Generator numpy's.

    Raises
    ------
    ParameterError
        When ``rng`` is neither None, a non-negative int nor a numpy Generator.

    Examples
    --------
    >>> int(bit_source(0).integers(3).max()) < 2**62
    True
    """
    if rng is None:
        return SystemSource()
    return NumpySource(numpy_generator(rng))


def numpy_generator(rng: Rng, stream: str = "") -> np.random.Generator:
    """Return a numpy generator for simulations; None gives one seeded by the system.

    Parameters
    ----------
    rng : None, int or numpy Generator
    stream : str
        Whose random numbers they are: one seed gives independent numbers to each name.

    Raises
    ------
    ParameterError
        When ``rng`` is neither None, a non-negative int nor a numpy Generator.

    Examples
    --------
    >>> here, there = numpy_generator(5, "duchi"), numpy_generator(5, "laplace")
    >>> here.integers(1 << 40) == there.integers(1 << 40)
    np.False_
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng()
    seed = plain(rng)
    if not isinstance(seed, int) or seed < 0:
        raise ParameterError(
            "rng", f"{shown(rng)} is not a seed", "give None, an integer >= 0 or a numpy Generator"
        )
    words = np.frombuffer(hashlib.sha256(stream.encode()).digest(), dtype="<u4")
    # Not default_rng(seed): a caller who draws the answers from that must get independent noise.
    return np.random.default_rng([_OWN_STREAM, *words.tolist(), seed])
