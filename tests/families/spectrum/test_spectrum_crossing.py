"""Crossed allocations keep every limit, are repeatable, and are better than the same moves of annealing."""

import time

import numpy as np

import mechdesign as md
from mechdesign.families.spectrum import local_search
from mechdesign.families.spectrum.channel import scattered_users
from mechdesign.families.spectrum.interval_bound import Crowd, RowTable, Used
from mechdesign.families.spectrum.local_search import Greedy, annealed, crossed


def crowded(count=60, side=34.5):
    users = scattered_users(side, count, 1, radius=5.0, privacy=0.5, seed=1)
    return md.SpectrumChannel(price=0.1, privacy_cost=2.0, secondary=users)


def test_crossing_is_better_than_as_many_moves_of_annealing(monkeypatch):
    problem = crowded()
    channel = problem.channel
    start = Greedy(channel).best(moves=0)
    monkeypatch.setattr(local_search, "STEPS_OF_PARENTS", 500)
    monkeypatch.setattr(local_search, "CROSSINGS", 60)
    monkeypatch.setattr(local_search, "REPAIRS", 50)
    found, again = crossed(channel, start), crossed(channel, start)
    assert (found.radii == again.radii).all()
    assert found.value == channel.utility(found.radii, 0.0)
    longer = [annealed(channel, start, 7 * 500 + 60 * 50, seed=seed).value for seed in (5, 6)]
    assert found.value > max(start.value, np.mean(longer))
    residuals = problem.residuals({"radii": found.radii, "privacy": 0.0})
    assert max(residuals.values()) <= 1e-12 * float(channel.radius.max())
    assert crossed(channel, start, until=time.monotonic()).value == start.value  # no time at all


def test_costs_of_the_table_are_those_of_its_rows():
    rng = np.random.default_rng(3)
    crowd = Crowd(crowded(20, 16.0).channel)
    ends = np.linspace(0.0, 5.0, 5)
    users = np.repeat(np.arange(20), 4)
    low, high = np.tile(ends[:-1], 20), np.tile(ends[1:], 20)
    values = rng.uniform(0.0, 0.6, size=80)
    found = Used(crowd, users, low, high, values).broken(time.monotonic() + 60.0)
    assert [total for total, _ in found] == sorted((total for total, _ in found), reverse=True)
    rows, paid = [row for _, row in found], crowd.paid(users, high)
    for total, row in found:
        assert values @ crowd.entries(row, users, low, paid) >= total - 1e-9
    table = RowTable(21)
    table.add(rows[::2])
    table.add(rows[1::2])
    prices = rng.uniform(-0.1, 1.0, size=len(rows))
    expected = sum(
        max(price, 0.0) * crowd.entries(row, users, low, paid)
        for price, row in zip(prices, rows[::2] + rows[1::2], strict=True)
    )
    assert np.allclose(table.costs(prices, users, low, paid), expected, rtol=1e-12)
    assert {row.slope.any() for row in rows} == {True, False}
    one = [crowd.entries(row, users[9:10], low[9:10], paid[9:10])[0] for row in rows[::2] + rows[1::2]]
    assert np.allclose(table.entries(int(users[9]), low[9], paid[9]), one)
