"""Best covers against all sets, at every scale of the weights, and however good the known cover is."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from mechdesign.solvers import covering
from mechdesign.solvers.covering import TooManyStepsError, least_cover, relaxed, sharpened


def drawn(rng, users=9, tasks=3, top=40):
    able = rng.random((users, tasks)) < 0.5
    able[np.arange(users), rng.integers(0, tasks, users)] = True
    needs = np.minimum(rng.integers(0, 4, tasks), able.sum(axis=0)).tolist()
    return rng.integers(1, top, users).tolist(), able, needs


def covers(able, needs):
    taken = np.array(list(product((False, True), repeat=len(able))))
    for chosen in taken[(taken.astype(int) @ able >= needs).all(axis=1)]:
        yield tuple(np.flatnonzero(chosen).tolist())


@pytest.mark.parametrize("scale", [1, 7, 10**9 + 7, 2**200 + 1])
@pytest.mark.parametrize("piece", [covering.PIECE, 3])
def test_it_finds_the_least_of_all_covers(monkeypatch, scale, piece):
    """In one piece, and by branching on nearly every user."""
    monkeypatch.setattr(covering, "PIECE", piece)
    rng = np.random.default_rng(scale % 1000)
    improved = 0
    for _ in range(12 if piece > 3 else 1):
        weights, able, needs = drawn(rng)
        weights = [weight * scale + int(rng.integers(0, 3)) for weight in weights]
        sets = list(covers(able, needs))
        best = min(sum(weights[user] for user in one) for one in sets)
        for known in (sets[0], sets[-1], sets[len(sets) // 2]):
            found = least_cover(weights, able, needs, known, 10**6)
            assert found.users in sets
            assert found.weight == sum(weights[user] for user in found.users) == best
            improved += sum(weights[user] for user in known) > best
    assert improved > (10 if piece > 3 else 0)


def test_weights_that_differ_by_more_than_a_double_can_tell():
    able = np.ones((4, 1), dtype=np.bool_)
    weights = [10**40 + 2, 10**40 + 1, 10**40, 1]
    assert least_cover(weights, able, [2], [0, 1], 1000).users == (2, 3)
    assert least_cover([w + 10**60 for w in weights], able, [1], [0], 1000).users == (3,)


def test_multipliers_and_their_sharpening_bound_all_covers():
    rng = np.random.default_rng(4)
    tight = 0
    for _ in range(20):
        weights, able, needs = drawn(rng)
        tasks = [np.flatnonzero(row).tolist() for row in able]
        bounds = []
        for prices in ([0] * 3, relaxed(weights, able, needs)[0]):
            for kept in (prices, sharpened(prices, weights, tasks, needs)):
                assert min(kept) >= 0
                reduced = [
                    w - sum(kept[task] for task in mine) for w, mine in zip(weights, tasks, strict=True)
                ]
                bounds.append(np.dot(kept, needs) + sum(min(0, amount) for amount in reduced))
        best = min(sum(weights[user] for user in one) for one in covers(able, needs))
        assert bounds[0] <= bounds[1] <= best
        assert bounds[2] <= bounds[3] <= best
        tight += bounds[3] >= best - 3
    assert tight > 10


def test_a_linear_program_that_fails_costs_time_and_not_truth(monkeypatch):
    rng = np.random.default_rng(9)
    cases = [drawn(rng) for _ in range(5)]
    proven = [least_cover(*case, range(9), 10**6).weight for case in cases]
    monkeypatch.setattr(covering, "solve_linear", lambda program: SimpleNamespace(status="failed"))
    assert [least_cover(*case, range(9), 10**6).weight for case in cases] == proven
    monkeypatch.setattr(covering, "sharpened", lambda prices, *others: [0] * len(prices))
    assert [least_cover(*case, range(9), 10**6).weight for case in cases] == proven


def test_the_steps_are_limited():
    rng = np.random.default_rng(6)
    weights, able, needs = drawn(rng, 30, 3, 4)
    with pytest.raises(TooManyStepsError):
        least_cover(weights, able, [4, 4, 4], range(30), 5)
    assert needs
