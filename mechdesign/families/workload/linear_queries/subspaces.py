"""Base sets for the cube: unions of few cosets of a linear code whose checks are asked for.

A set of types that depends on h parities of the bits alone has all of its spectrum on the 2^h characters that
these parities span. Where all of them are asked for, nothing of a report is spent on what nobody asks. With a
share of 1/2^h of the types near 1/(E + 1) such sets come close to the trace bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mechdesign.families.workload.value import Sets

TRIED = 24
"""Generators that are compared for each step of a span."""

Spans = NDArray[np.int64]


def spans(asked: NDArray[np.bool_], dimension: int, count: int, rng: np.random.Generator) -> Spans:
    """Return generators of random spans of characters, most of them asked for; shape (count, dimension).

    Parameters
    ----------
    asked : (n,) array of bool
        Which characters are asked for; n is a power of 2.
    dimension, count : int
    rng : numpy Generator

    Examples
    --------
    >>> found = spans(np.array([0, 1, 1, 0, 1, 0, 0, 0], dtype=bool), 1, 20, np.random.default_rng(0))
    >>> sorted(set(found[:, 0].tolist()))
    [1, 2, 4]
    """
    characters = np.flatnonzero(asked)
    generators = np.zeros((count, dimension), dtype=np.int64)
    spanned = np.zeros((count, 1), dtype=np.int64)
    rows = np.arange(count)
    for step in range(dimension):
        tried = rng.choice(characters, (count, TRIED if step else 1))
        moved = tried[:, :, None] ^ spanned[:, None, :]
        worth = asked[moved].sum(axis=2).astype(np.float64) + 0.5 * rng.random(tried.shape)
        worth[(moved == 0).any(axis=2)] = -1.0  # in the span already
        generators[:, step] = tried[rows, worth.argmax(axis=1)]
        spanned = np.hstack([spanned, spanned ^ generators[:, step, None]])
    return generators


def cosets(size: int, generators: Spans, number: int, rng: np.random.Generator) -> Sets:
    """Return sets of types: the union of this many cosets for each row of generators, drawn at random.

    Examples
    --------
    >>> cosets(8, np.array([[1, 2]]), 1, np.random.default_rng(0)).sum(axis=1).tolist()
    [2]
    """
    count, dimension = generators.shape
    checks = np.zeros((count, size), dtype=np.int64)
    types = np.arange(size)
    for step in range(dimension):
        checks += _parities(generators[:, step, None] & types) << step
    chosen = rng.permuted(np.tile(np.arange(1 << dimension), (count, 1)), axis=1)[:, :number]
    found: Sets = (checks[:, None, :] == chosen[:, :, None]).any(axis=1)
    return found


def _parities(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    found = numbers.copy()
    for shift in (16, 8, 4, 2, 1):
        found ^= found >> shift
    return found & 1


def code_sets(asked: NDArray[np.bool_], share: float, count: int, rng: np.random.Generator) -> Sets:
    """Return base sets of about this share of the types, shape (at most 4 count, n).

    Parameters
    ----------
    asked : (n,) array of bool
    share : float
        1/(E + 1).
    count : int
        Sets of each kind: one coset of the two nearest codes, and three cosets of the nearest one.
    rng : numpy Generator
    """
    size = len(asked)
    bits = size.bit_length() - 1
    found = []
    for number in (1, 3):
        exact = np.log2(number / share)
        for dimension in sorted({int(np.floor(exact)), int(np.ceil(exact))}):
            if number < (1 << dimension) and dimension < bits and asked.any():
                found.append(cosets(size, spans(asked, dimension, count, rng), number, rng))
    return np.unique(np.vstack(found), axis=0) if found else np.zeros((0, size), dtype=bool)
