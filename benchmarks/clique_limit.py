"""Spectrum: what the rows of `cuts` cannot prove, by a fractional allocation that breaks none of them.

The weighted radii in ``results/spectrum_cliques.csv`` were found by a linear program; how does not matter.
What is checked is that no set of radii in pairwise conflict weighs more than a limit, by a search that
leaves nothing out. Theorem 5 (docs/families/spectrum.md) then says what no such program can prove.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import mechdesign as md
from mechdesign.families.spectrum.channel import scattered_users
from mechdesign.families.spectrum.channel_program import Channel
from mechdesign.families.spectrum.clique_bound import rest_of

TITLE = "Spectrum: a bound that says what clique and ramp rows cannot prove"

POINTS = Path(__file__).parent / "results" / "spectrum_cliques.csv"
UNIT = 10**6
"""Weights in the file are in parts of this."""

FOUND, BEST = 311.04, 312.57
"""The revenue that `cuts` finds within a minute, and that of the best allocation known for this map."""


def run(quick: bool) -> None:
    """Check the points of 200 users in 63 by 63 and print the limit; quick: the first sixty users alone."""
    users = scattered_users(63.0, 200, 1, radius=5.0, privacy=0.5, seed=1)
    channel = md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=users).channel
    owners, radii, weights = read_points(POINTS)
    if quick:
        first = owners < 60
        owners, radii, weights = owners[first], radii[first], weights[first]
    least = least_bound(channel, owners, radii, weights)
    print(f"{len(radii)} radii of {len(set(owners.tolist()))} users with weights")
    print(f"no clique or ramp rows, on whatever intervals, prove less than {least:.4f}")
    if not quick:
        print(f"that is {least / BEST - 1.0:.2%} above {BEST}, the best allocation known,")
        print(f"and {least / FOUND - 1.0:.2%} above {FOUND}, which `cuts` finds within a minute")


def read_points(path: Path) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return users, radii and weights, in parts of ``UNIT``."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = [
            (int(row["user"]), float(row["radius"]), int(row["weight"])) for row in csv.DictReader(stream)
        ]
    owners, radii, weights = zip(*rows, strict=True)
    return np.array(owners), np.array(radii), np.array(weights)


def least_bound(
    channel: Channel, users: NDArray[np.int64], radii: NDArray[np.float64], weights: NDArray[np.int64]
) -> float:
    """Return the revenue of weighted radii, divided by the largest weight of any in pairwise conflict."""
    if not (radii > 0.0).all() or not (radii <= np.minimum(channel.radius, channel.reach)[users]).all():
        raise ValueError("a radius is out of its user's range")
    conflict = in_conflict(channel.margins, users, radii)
    near = [sum(1 << int(place) for place in np.flatnonzero(row)) for row in conflict]
    heaviest = heaviest_clique(weights.tolist(), near)
    paid = channel.factor[users] * radii * (channel.privacy[users] + radii) ** 2
    return math.fsum((paid * weights).tolist()) / heaviest


def in_conflict(
    margins: NDArray[np.float64], users: NDArray[np.int64], radii: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return which pairs of radii cannot be had together, in exact numbers: of one user, or R + r > m."""
    apart = margins[np.ix_(users, users)]
    most = -rest_of(-apart, np.broadcast_to(-radii, apart.shape))  # the largest double with R + r <= m
    found = (radii[:, None] > most) | (users[:, None] == users)
    np.fill_diagonal(found, False)
    return found


def heaviest_clique(weights: Sequence[int], near: Sequence[int]) -> int:
    """Return the weight of the heaviest clique of a graph, by branch and bound.

    Parameters
    ----------
    weights : sequence of int
        Positive, of each vertex.
    near : sequence of int
        The neighbours of each vertex as bits.

    Notes
    -----
    A clique has at most one vertex of an independent set. If weights are split over such sets, no clique
    weighs more than the sets together; vertices are branched on only while that is above the best.
    """
    best = max(weights)

    def grow(candidates: int, weight: int) -> None:
        nonlocal best
        best = max(best, weight)
        for bound, vertex in reversed(_bounded(candidates, weight, weights, near, best)):
            if bound <= best:
                return
            grow(candidates & near[vertex], weight + weights[vertex])
            candidates ^= 1 << vertex

    for vertex, weight in enumerate(weights):
        grow(near[vertex] & ((1 << vertex) - 1), weight)
    return best


def _bounded(
    candidates: int, bound: int, weights: Sequence[int], near: Sequence[int], enough: int
) -> list[tuple[int, int]]:
    """Return vertices with a bound of all cliques of them and those before, where it is above ``enough``."""
    left = {vertex: weights[vertex] for vertex in _bits(candidates)}
    found = []
    while candidates:
        members, pool = [], candidates
        while pool:
            bit = pool & -pool
            members.append(bit.bit_length() - 1)
            pool &= ~(near[members[-1]] | bit)
        part = min(left[vertex] for vertex in members)
        bound += part
        for vertex in members:
            left[vertex] -= part
            if not left[vertex]:
                candidates ^= 1 << vertex
                if bound > enough:
                    found.append((bound, vertex))
    return found


def _bits(number: int) -> Iterator[int]:
    while number:
        bit = number & -number
        yield bit.bit_length() - 1
        number ^= bit
