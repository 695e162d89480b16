"""Random bits, integer weights, and the bounds of e^epsilon that weights are compared with.

Bits are those of ChaCha20 keyed by the operating system, or of numpy for simulations.

The operating system's generator is asked for a key of 256 bits, the key is expanded by ChaCha20 to as many
bits as one request needs, at most ``LARGEST`` bytes, and is dropped. The next request gets another key.

Why this is as good as the operating system's own calls
    Linux answers ``getrandom`` in the same way: a secret of 256 bits is expanded by ChaCha20 for one request,
    and the key that did so is erased. An attacker who distinguishes these bits from uniform ones can
    distinguish the system's keys, or the output of ChaCha20 under a random key of 256 bits, from uniform
    bits. No attack on either is known. A key is expanded to 2^14 blocks at most, of the 2^32 that the
    cipher's counter can number.

Why there is no state to protect
    Nothing is kept between two requests. Two threads, or a process and its fork, never share a key, so
    neither repeats the bits of the other. What is in memory later does not reveal the bits that were drawn
    before, nor those that will be drawn.

The cipher comes from the package ``cryptography``, which uses OpenSSL's. It takes the same time for all keys,
on every processor. Small requests go to the system's call itself, which is quicker for them.

Bounds are rational numbers from correctly rounded decimals: the standard library's ``decimal`` rounds ``exp``
and ``ln`` half-even, so the true value lies strictly between the two decimals next to the result.
"""

from __future__ import annotations

import math
import os
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import CertificateError, ParameterError
from mechdesign.core.validation import as_written, float_up as float_up, privacy_epsilon
from mechdesign.core.values import decimal_context
from mechdesign.exact.numbers import plain, plain_int, rational, text_of, wholes

SMALL = 512
"""Words from which on a key is worth its while: below, the system's own call takes as long."""

LARGEST = 1 << 20
"""Bytes that one key is expanded to at most."""

KEY, NONCE = 32, bytes(16)
"""Bytes of a key; the counter and the nonce, which may be the same for all keys as no key is used twice."""

SLACK = 128
"""Bytes beyond the end of an array that the package asks for."""


@cache
def _zeros() -> memoryview:
    return memoryview(bytes(LARGEST))


@cache
def cipher() -> Any:
    """Return a function from a key to an encryptor of ChaCha20; None where the package cannot be had.

    It is missing where ``cryptography`` is not installed, and where OpenSSL is confined to other ciphers.
    """
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
    except ImportError:
        return None

    def encryptor(key: bytes) -> Any:
        return Cipher(algorithms.ChaCha20(key, NONCE), None).encryptor()

    try:
        encryptor(bytes(KEY))
    except UnsupportedAlgorithm:
        return None
    return encryptor


def random_words(count: int) -> NDArray[np.uint64]:
    """Return words of 64 independent random bits.

    Parameters
    ----------
    count : int
        How many. Below ``SMALL``, or without the cipher, they come from the system's call.

    Returns
    -------
    (count,) uint64 array

    Examples
    --------
    >>> random_words(3).shape, random_words(100_000).dtype
    ((3,), dtype('uint64'))
    """
    stream = None if count < SMALL else cipher()
    if stream is None:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
    words = np.empty(count + SLACK // 8, dtype=np.uint64)
    room, zeros = words.data.cast("B"), _zeros()
    for start in range(0, 8 * count, LARGEST):
        size = min(LARGEST, 8 * count - start)
        stream(os.urandom(KEY)).update_into(zeros[:size], room[start : start + size + SLACK])
    return words[:count]


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

    As strong as the system's own calls, and ten times as quick: see :mod:`mechdesign.exact.randomness`.

    Examples
    --------
    >>> bool((KeyedSource().integers(10_000) < 2**62).all())
    True
    """

    def integers(self, count: int) -> NDArray[np.int64]:
        """Return ``count`` independent uniform integers in [0, 2**62)."""
        draws = self.words(count)
        place = draws if draws.flags.writeable else None
        return np.right_shift(draws, np.uint64(64 - BITS), out=place).view(np.int64)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of 64 independent random bits."""
        return random_words(count)


class SystemSource(KeyedSource):
    """The operating system's own calls and nothing else; with ``MECHDESIGN_RANDOM=system`` the default."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of 64 independent random bits."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


class NumpySource(KeyedSource):
    """A numpy generator: repeatable, for simulations and tests only, never for deployment."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.generator = generator

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` words of 64 bits: those of the generator's ``integers``, which takes longer."""
        bits = self.generator.bit_generator
        if type(bits).__name__ in ("PCG64", "PCG64DXSM", "Philox", "SFC64"):  # a raw number of theirs is one
            return np.asarray(bits.random_raw(count), dtype=np.uint64)
        return self.generator.integers(0, (1 << 64) - 1, size=count, dtype=np.uint64, endpoint=True)


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
        raise ParameterError(VARIABLE, f"expected chacha20 or system, got {text_of(named)}", "unset it")
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
            "rng", f"{text_of(rng)} is not a seed", "give None, an integer >= 0 or a numpy Generator"
        )
    from hashlib import sha256  # takes time to import, and only simulations have seeds

    words = np.frombuffer(sha256(stream.encode()).digest(), dtype="<u4")
    # Not default_rng(seed): a caller who draws the answers from that must get independent noise.
    return np.random.default_rng([_OWN_STREAM, *words.tolist(), seed])


Weights = NDArray[np.int64]


def weight_matrix(weights: Any) -> Weights:
    """Return a non-empty matrix of integers in [0, 2**62] as a frozen int64 array, or refuse it."""
    try:
        matrix = wholes("channel", weights, 2)
    except ParameterError as error:
        raise error.as_a(CertificateError) from None
    if matrix.size == 0:
        raise CertificateError("channel", "expected a non-empty matrix of 64-bit integers")
    if int(matrix.min()) < 0:
        row, column = np.argwhere(matrix < 0)[0]
        raise CertificateError("channel", f"the weight of report {column} in row {row} is negative")
    if int(matrix.max()) > TOTAL:
        row, column = np.argwhere(matrix > TOTAL)[0]
        raise CertificateError("channel", f"the weight of report {column} in row {row} exceeds 2**62")
    return matrix


def require_channel(weights: Any) -> Weights:
    """Return the matrix as a frozen channel of 62-bit weights, or raise CertificateError naming the row."""
    matrix = weight_matrix(weights)
    # Rows are added as two 31-bit halves: no sum of fewer than 2**32 of them can overflow.
    low, high = (matrix & 0x7FFFFFFF).sum(axis=1), (matrix >> 31).sum(axis=1)
    for row, (low_sum, high_sum) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        total = (high_sum << 31) + low_sum
        if total != TOTAL:
            raise CertificateError("channel", f"row {row} sums to {total}, not 2**62 = {TOTAL}")
    return matrix


def weight(field: str, value: Any, low: int = 1, high: int = TOTAL - 1) -> int:
    """Return a weight out of 2**62 as a plain integer, or raise CertificateError."""
    try:
        read = plain_int(field, value)
    except ParameterError as error:
        raise error.as_a(CertificateError) from None
    if not low <= read <= high:
        raise CertificateError(field, f"{read} is not from {low} to {high}")
    return read


DIGITS = 50
"""Significant digits of every bound."""

TINY = Fraction(1, 10**47)
"""Above the relative error of every bound and logarithm here."""

LARGEST_EXPONENT = 1000
"""Larger exponents are replaced by this one, which is still a lower bound; 62-bit weights cannot tell."""


def exp_lower(exponent: Fraction | float) -> Fraction:
    """Return a rational number from 1 up to e^exponent, closer than 48 significant digits; 1 for exponent 0.

    Parameters
    ----------
    exponent : Fraction or float
        Taken exactly: a float stands for the dyadic rational that it is. At least 0; above 1000 the
        bound is that of 1000.

    Examples
    --------
    >>> bound = exp_lower(0.5)
    >>> bound < Fraction(16487212707001281469, 10**19) and float(bound)
    1.6487212707001282
    """
    return _exp_lower(*_checked(exponent))


def exp_written(epsilon: float) -> Fraction:
    """Return a lower bound of e^epsilon for the least number that the double epsilon may stand for.

    What is built with it keeps the decimal, or the short quotient, that was written, and not only the double
    next to it: see :func:`mechdesign.core.validation.as_written`.

    Examples
    --------
    >>> exp_written(0.1) == exp_lower(Fraction(1, 10)) < exp_lower(0.1)
    True
    """
    return exp_lower(as_written(privacy_epsilon(epsilon)))


@lru_cache(maxsize=65536)  # of plain integers: no key can say that it equals another
def _exp_lower(numerator: int, denominator: int) -> Fraction:
    if numerator == 0:
        return Fraction(1)
    if numerator > LARGEST_EXPONENT * denominator:
        numerator, denominator = LARGEST_EXPONENT, 1
    context = decimal_context(DIGITS, ROUND_FLOOR)
    below = context.divide(Decimal(numerator), Decimal(denominator))
    return max(Fraction(1), Fraction(context.next_minus(context.exp(below))))


def exp_upper(exponent: Fraction | float) -> Fraction:
    """Return a rational number above e^exponent, closer than 48 significant digits; 1 for exponent 0.

    Examples
    --------
    >>> exp_lower(1.0) < exp_upper(1.0)
    True
    """
    return _exp_upper(*_checked(exponent))


@lru_cache(maxsize=65536)
def _exp_upper(numerator: int, denominator: int) -> Fraction:
    if numerator > LARGEST_EXPONENT * denominator:
        raise ParameterError(
            "epsilon", f"is beyond {LARGEST_EXPONENT}, no upper bound is computed", "give a smaller one"
        )
    if numerator == 0:
        return Fraction(1)
    context = decimal_context(DIGITS, ROUND_CEILING)
    above = context.divide(Decimal(numerator), Decimal(denominator))
    return Fraction(context.next_plus(context.exp(above)))


def log_ratio(numerator: int, denominator: int) -> Decimal:
    """Return an upper bound of ln(numerator / denominator) to 48 digits; infinite for denominator 0.

    Examples
    --------
    >>> print(round(log_ratio(2, 1), 20))
    0.69314718055994530942
    """
    top, bottom = plain_int("numerator", numerator), plain_int("denominator", denominator)
    if bottom == 0:
        return Decimal("inf") if top > 0 else Decimal(0)
    if top == bottom:
        return Decimal(0)
    context = decimal_context(DIGITS, ROUND_CEILING)
    ratio = context.divide(Decimal(top), Decimal(bottom))
    return context.next_plus(context.ln(ratio))


def true_bound(true: Decimal, epsilon: Fraction | float, proven: bool) -> Fraction | None:
    """Return a bound of a true epsilon that agrees with the verdict on the ratio; None for an infinite one.

    The logarithm is rounded up and the bound of e^epsilon down, by less than one part in 10^47: where a ratio
    is as near as that to e^epsilon, the logarithm could contradict what the ratio proves.

    Parameters
    ----------
    true : Decimal
        The logarithm of the ratio, rounded up.
    epsilon : Fraction or float
        The promise.
    proven : bool
        Whether the ratio is within the lower bound of e^epsilon.

    Examples
    --------
    >>> true_bound(Decimal("1.1"), 1.0, True), true_bound(Decimal("0.9"), 1.0, True)
    (Fraction(1, 1), Fraction(9, 10))
    """
    if true.is_infinite():
        return None
    bound, promise = Fraction(true), Fraction(epsilon)
    if proven:
        return min(bound, promise)
    return bound if bound > promise else promise * (1 + TINY) + TINY


def float_down(value: Fraction) -> float:
    """Return the largest double that is not above the value, which must be within their range."""
    result = float(value)
    return result if Fraction(result) <= value else math.nextafter(result, -math.inf)


def _checked(exponent: Fraction | float) -> tuple[int, int]:
    """Return numerator and denominator of a finite exponent >= 0."""
    exact = rational("epsilon", exponent)
    if exact < 0:
        raise ParameterError("epsilon", f"{text_of(exponent)} is negative", "give a number >= 0")
    return exact.numerator, exact.denominator
