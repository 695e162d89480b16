"""Random bits at the speed of memory: ChaCha20, keyed by the operating system again for every request.

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
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    made = None if count < SMALL else cipher()
    if made is None:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
    words = np.empty(count + SLACK // 8, dtype=np.uint64)
    room, zeros = words.data.cast("B"), _zeros()
    for start in range(0, 8 * count, LARGEST):
        size = min(LARGEST, 8 * count - start)
        made(os.urandom(KEY)).update_into(zeros[:size], room[start : start + size + SLACK])
    return words[:count]
