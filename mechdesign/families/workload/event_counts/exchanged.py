"""The best weights of sets of states that stand for all their images under exchanges of slots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from mechdesign.families.workload.event_counts.exchanges import Exchanges
from mechdesign.families.workload.linear_queries.problem import RIDGE
from mechdesign.families.workload.value import Array, Sets, columns_of
from mechdesign.solvers.interior import Minimised, ProgramState, minimised


@dataclass(frozen=True, eq=False)
class ExchangedUsers:
    """What the program and the prices need to know of the users.

    Attributes
    ----------
    exchanges : Exchanges
    shares : (n,) array
    power : float
        E = e^epsilon.
    """

    exchanges: Exchanges
    shares: Array
    power: float

    @cached_property
    def ones(self) -> Array:
        """The states all alike, in coordinates of the kinds."""
        return self.exchanges.plain @ np.ones(len(self.shares))

    @cached_property
    def centered(self) -> tuple[Array, Array]:
        """The events of a slot less their mean, in coordinates: the sum over slots, and the rest."""
        total, rest = self.exchanges.counted
        mean = float((self.exchanges.plain @ self.shares) @ total)
        return total - mean * self.ones, rest

    def columns(self, sets: Sets) -> Array:
        """Return the patterns z with pi.z = 1."""
        columns = columns_of(sets, self.power)
        found: Array = columns / (columns @ self.shares)[:, None]
        return found


@dataclass(frozen=True, eq=False)
class _Block:
    """A block of the moment matrix: that of each set, the Gram matrix, and how often it counts."""

    moments: Array
    gram: Array
    times: float


class ExchangedMaster:
    """The program min tr(G M(w)^-1), sum w z = 1, with M and z averaged over all images.

    Parameters
    ----------
    users : ExchangedUsers
    sets : (K, n) array of bool
    """

    def __init__(self, users: ExchangedUsers, sets: Sets) -> None:
        slots = users.exchanges.states.slots
        columns = users.columns(sets)
        plain = columns @ users.exchanges.plain.T
        total, rest = users.centered
        grams = np.outer(total, total) / slots, np.outer(rest, rest)
        trace = float(np.trace(grams[0])) + (slots - 1.0) * float(np.trace(grams[1]))
        level = RIDGE * trace / len(users.shares)  # as for linear queries: all states can be told
        moments = np.einsum("ka,kb->kab", plain, plain), slotwise_moments(users.exchanges, columns)
        self.blocks = [
            _Block(moment, gram + level * np.eye(len(gram)), times)
            for moment, gram, times in zip(moments, grams, (1.0, slots - 1.0), strict=True)
        ]
        self.left, self.right = plain.T, users.ones

    def state(self, weights: Array) -> ProgramState | None:
        """Return value, slopes and curvature at these weights; None where M is singular."""
        value, slopes, inverses, turned = 0.0, np.zeros(len(weights)), [], []
        for block in self.blocks:
            try:
                factor = np.linalg.cholesky(np.einsum("k,kab->ab", weights, block.moments))
            except np.linalg.LinAlgError:
                return None
            root = np.linalg.solve(factor, np.eye(len(factor)))
            levels, turn = np.linalg.eigh(root @ block.gram @ root.T)
            inverse = root.T @ root
            value += block.times * float(np.sum(block.gram * inverse))
            slopes -= block.times * np.einsum("kab,ab->k", block.moments, inverse @ block.gram @ inverse)
            inverses.append(inverse)
            turned.append((block, root.T @ turn, levels))
        return ProgramState(value, slopes, partial(_factor, turned), inverses)

    def solve(self, accuracy: float) -> Minimised:
        """Return the best weights, the multipliers of the sums, and the inverses of both blocks."""
        return minimised(self, len(self.left[0]), accuracy)


def slotwise_moments(exchanges: Exchanges, columns: Array) -> Array:
    """Return the blocks of mean moment matrices that are about single slots, one for each column."""
    held = np.einsum("asn,kn->kas", exchanges.slotwise, columns)
    found: Array = np.einsum("kas,kbs->kab", held, held) / (exchanges.states.slots - 1.0)
    return found


def _factor(turned: list[tuple[_Block, Array, Array]]) -> Array:
    """Return F with F'F the Hessian, as in :mod:`mechdesign.families.workload.master`."""
    factors = []
    for block, turn, levels in turned:
        first, last = np.triu_indices(len(levels))
        scale = np.sqrt(block.times * np.maximum(levels[first] + levels[last], 0.0))
        scale *= np.where(first == last, 1.0, math.sqrt(2.0))
        moved = np.einsum("ai,kab,bj->kij", turn, block.moments, turn, optimize=True)
        factors.append((moved[:, first, last] * scale).T)
    return np.vstack(factors)
