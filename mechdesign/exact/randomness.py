"""Where random bits come from: keyed by the operating system for deployment, numpy for simulations."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.core.text import counted
from mechdesign.exact.keystream import random_words
from mechdesign.exact.numbers import plain, shown

BITS = 62
"""Probabilities of finite mechanisms are integers out of ``2**BITS``."""

TOTAL = 1 << BITS

_OWN_STREAM = 0x6D656368

Rng: TypeAlias = "int | np.random.Generator | None"
"""A text, because reading the name would import numpy's generators, which most commands do not need."""


class BitSource(Protocol):
    """A source of uniform integers."""

    def integers(self, count: int) -> NDArray[np.int64]:
        """Return ``count`` independent uniform integers in [0, 2**62)."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of 64 independent random bits."""


VARIABLE = "MECHDESIGN_RANDOM"
"""The environment's word for where bits come from: ``chacha20``, the default, or ``system``."""


class KeyedSource:
    """ChaCha20 under keys of the operating system, one per request; the default of every randomizer.

    As strong as the system's own calls, and ten times as quick: see :mod:`mechdesign.exact.keystream`.

    Examples
    --------
    >>> bool((KeyedSource().integers(10_000) < 2**62).all())
    True
    """

    def integers(self, count: int) -> NDArray[np.int64]:
        """Return ``count`` independent uniform integers in [0, 2**62)."""
        drawn = self.words(count)
        place = drawn if drawn.flags.writeable else None
        return np.right_shift(drawn, np.uint64(64 - BITS), out=place).view(np.int64)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of 64 independent random bits."""
        return random_words(count)


class SystemSource:
    """The operating system's own calls and nothing else; with ``MECHDESIGN_RANDOM=system`` the default."""

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


class ByteSource:
    """A stream of random bytes, read as every client reads it: this is the specification, byte for byte.

    A word is 8 bytes, the first one the lowest ("little endian"). A uniform integer below 2**62 is a word
    without its two lowest bits: ``word >> 2``. Nothing else is ever read from the stream; what is drawn
    from words and integers is stated in ``docs/reference/mechanism_file.md``.

    Parameters
    ----------
    take : callable
        ``take(count)`` returns the next ``count`` bytes.

    Raises
    ------
    DataError
        When the stream returns another number of bytes.

    Examples
    --------
    >>> import io
    >>> source = ByteSource(io.BytesIO(bytes(range(16))).read)
    >>> [hex(int(number)) for number in source.words(1)], [hex(int(number)) for number in source.integers(1)]
    (['0x706050403020100'], ['0x3c3834302c28242'])
    """

    def __init__(self, take: Callable[[int], bytes]) -> None:
        self.take = take

    def integers(self, count: int) -> NDArray[np.int64]:
        """Return ``count`` independent uniform integers in [0, 2**62)."""
        return (self.words(count) >> np.uint64(64 - BITS)).view(np.int64)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of 64 independent random bits."""
        taken = self.take(8 * count)
        if len(taken) != 8 * count:
            raise DataError(
                "source",
                f"returned {counted(len(taken), 'byte')}, not {8 * count}",
                "give a stream without an end",
            )
        return np.frombuffer(taken, dtype="<u8").astype(np.uint64)


def bit_source(rng: Rng = None) -> BitSource:
    """Return the source that ``rng`` names: None a cryptographic one, an int or a Generator numpy's.

    None is ChaCha20 under keys of the operating system, or with ``MECHDESIGN_RANDOM=system`` the operating
    system's own calls.

    Raises
    ------
    ParameterError
        When ``rng`` is neither None, a non-negative int nor a numpy Generator, or for another word in
        ``MECHDESIGN_RANDOM``.

    Examples
    --------
    >>> int(bit_source(0).integers(3).max()) < 2**62
    True
    """
    if rng is None:
        return _cryptographic()
    return NumpySource(numpy_generator(rng))


def _cryptographic() -> BitSource:
    named = os.environ.get(VARIABLE, "") or "chacha20"
    if named not in ("chacha20", "system"):
        raise ParameterError(VARIABLE, f"expected chacha20 or system, got {shown(named)}", "unset it")
    return SystemSource() if named == "system" else KeyedSource()


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
    from hashlib import sha256  # takes time to import, and only simulations have seeds

    words = np.frombuffer(sha256(stream.encode()).digest(), dtype="<u4")
    # Not default_rng(seed): a caller who draws the answers from that must get independent noise.
    return np.random.default_rng([_OWN_STREAM, *words.tolist(), seed])
