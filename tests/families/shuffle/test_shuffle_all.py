"""All protocols: random small ones against brute force, forged files, repeatable seeds, blocks of users."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from mechdesign.collect import load_mechanism
from mechdesign.core.errors import MechDesignError
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.shuffle import Cnt2M, CntBN, CntRR, HistDump, HistKR, RSumRR
from mechdesign.families.shuffle.promise import Promise
from tests.support.protocols import PROTOCOLS, law_of, made, worst_divergence

PROMISE = Promise(300, 1.0, 1e-4)
INSTANCES = 240


def thinned(trials: int, chance: Fraction):
    """Yield how many trials succeed, with their chances."""
    for count in range(trials + 1):
        yield count, comb(trials, count) * chance**count * (1 - chance) ** (trials - count)


def dummies(size: int, trials: int, chance: Fraction):
    return lambda value: law_of(
        (
            ((value, *more), share / size**count)
            for count, share in thinned(trials, chance)
            for more in product(range(size), repeat=count)
        ),
        size,
    )


def response(size: int, other: Fraction):
    return lambda value: law_of(
        (((symbol,), 1 - (size - 1) * other if symbol == value else other) for symbol in range(size)), size
    )


def presence(silent: Fraction):
    return lambda bit: law_of([((0,) * (bit + 1), 1 - silent), ((0,) * bit, silent)], 1)


def unary(steps: int, flip: Fraction):
    return lambda ones: law_of(
        (
            ((1,) * (kept + raised) + (0,) * (steps - kept - raised), share * other)
            for kept, share in thinned(ones, 1 - flip)
            for raised, other in thinned(steps - ones, flip)
        ),
        2,
    )


def instance(rng: np.random.Generator):
    """Return a random small protocol, the law of its clients and the number of values."""
    users, epsilon = int(rng.integers(2, 6)), float(rng.uniform(0.02, 1.5))
    promise, part = Promise(users, epsilon, 0.5), Fraction(int(rng.integers(1, 32)), 64)
    weight, size = int(part * TOTAL), int(rng.integers(2, 4))
    kind, trials = int(rng.integers(6)), int(rng.integers(1, 3))
    if kind == 0:
        return CntRR(promise, "exact", weight), response(2, part), 2
    if kind == 1:
        return Cnt2M(promise, "exact", weight), presence(part), 2
    if kind == 2:
        return CntBN(promise, "exact", trials, weight), dummies(2, trials, part), 2
    if kind == 3:
        other = part / 2 if size == 3 else part
        return HistKR(promise, "exact", size, other=int(other * TOTAL)), response(size, other), size
    if kind == 4:
        protocol = HistDump(promise, "exact", size, trials=trials, dummy=weight)
        return protocol, dummies(size, trials, part), size
    return RSumRR(promise, "exact", trials, flip=weight), unary(trials, part), trials + 1


@pytest.mark.parametrize("seed", range(8))
def test_random_small_protocols_are_as_private_as_certified(seed):
    rng = np.random.default_rng([20, seed])
    tight = 0.0
    for _ in range(INSTANCES // 8):
        protocol, client, values = instance(rng)
        worst = worst_divergence(client, values, protocol.promise.users, protocol.promise.epsilon)
        assert worst <= Fraction(protocol.least_delta), protocol
        if protocol.least_delta > 1e-12:
            tight = max(tight, float(worst) / protocol.least_delta)
    assert tight > 0.9  # some of the bounds are attained


def leaves(value, path=()):
    """Yield the path of every number and text of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not isinstance(value, (dict, list)):
        yield path, value
    for key, item in items:
        yield from leaves(item, (*path, key))


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_every_single_change_of_its_content_is_refused(kind, tmp_path):
    protocol, path = made(kind, PROMISE), tmp_path / "p.json"
    protocol.save(path)
    original = json.loads(path.read_text())
    for keys, value in leaves(original["content"]):
        for other in (value + 1, -value, True, "x", 1e300) if isinstance(value, (int, float)) else ("x", 0.5):
            document = json.loads(json.dumps(original))
            place = document["content"]
            for key in keys[:-1]:
                place = place[key]
            place[keys[-1]] = other
            path.write_text(json.dumps(document))
            with pytest.raises(MechDesignError, match="rebuild it"):
                load_mechanism(path)


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_blocks_of_users_leave_no_trace_and_seeds_repeat(kind):
    protocol = made(kind, PROMISE)
    values = np.arange(300) % 2
    messages = protocol.encode(values, rng=4)
    assert messages.dtype == np.int64
    assert messages.tolist() == protocol.encode(values, rng=4).tolist()
    assert messages.tolist() != protocol.encode(values, rng=5).tolist()
    system = [protocol.encode(values) for _ in range(2)]  # of the operating system's generator
    assert system[0].tolist() != system[1].tolist() or kind == "cnt-2m"
    assert protocol.encode(values[:0]).shape == (0, len(protocol.columns))
    low, high = 300 * protocol.noise.least_messages, 300 * protocol.most_messages
    assert low <= len(messages) <= high


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_the_forecast_is_the_error_of_the_worst_data(kind):
    protocol = made(kind, PROMISE)
    forecast = protocol.forecast()
    assert forecast.users == 300
    assert forecast.largest >= protocol.rmse > 0.0
