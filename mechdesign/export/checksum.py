"""A checksum of a client's tables that every language computes in a few lines: against damage only."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

PRIME = (1 << 31) - 1
BASE = 257
BLOCK = 256


def checksum(tables: Any) -> int:
    """Return the sum of all bytes b of plain values, s -> (257 s + b) mod 2^31 - 1 from 0 on.

    Objects are read in the order of their keys, which are not read themselves; numbers are doubles of 8
    bytes, the lowest first; texts are UTF-8; true is a byte 1, false 0, and null 2.

    Examples
    --------
    >>> checksum({"b": "a", "a": [True, None]}) == (1 * 257 + 2) * 257 + ord("a")
    True
    """
    data = b"".join(_bytes(tables))
    padded = data.rjust(-(-len(data) // BLOCK) * BLOCK, b"\0")
    powers = np.array([pow(BASE, BLOCK - 1 - place, PRIME) for place in range(BLOCK)], dtype=np.int64)
    blocks = np.frombuffer(padded, dtype=np.uint8).reshape(-1, BLOCK).astype(np.int64) @ powers
    result, step = 0, pow(BASE, BLOCK, PRIME)
    for block in blocks.tolist():
        result = (result * step + block) % PRIME
    return result


def _bytes(value: Any) -> Iterator[bytes]:
    if isinstance(value, dict):
        for key in sorted(value):
            yield from _bytes(value[key])
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _bytes(each)
    elif isinstance(value, str):
        yield value.encode()
    elif value is None or isinstance(value, bool):
        yield b"\2" if value is None else bytes([value])
    else:
        yield struct.pack("<d", value)
