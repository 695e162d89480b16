"""All protocols: random small ones against brute force, forged files, repeatable seeds, blocks of users."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from mechdesign.collect import load_mechanism
from mechdesign.core.errors import DataError, MechDesignError
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.shuffle import Cnt2M, CntBN, CntRR, HistDump, HistKR, RSumRR
from mechdesign.families.shuffle.promise import Promise
from tests.support.protocols import (
    PROTOCOLS,
    dummy_client,
    made,
    one_presence_client,
    response_client,
    unary_client,
    worst_divergence,
)

PROMISE = Promise(300, 1.0, 1e-4)
INSTANCES = 240


def instance(rng: np.random.Generator):
    """Return a random small protocol, the law of its clients and the number of values."""
    users, epsilon = int(rng.integers(2, 6)), float(rng.uniform(0.02, 1.5))
    promise, part = Promise(users, epsilon, 0.5), Fraction(int(rng.integers(1, 32)), 64)
    weight, size = int(part * TOTAL), int(rng.integers(2, 4))
    kind, trials = int(rng.integers(6)), int(rng.integers(1, 3))
    if kind == 0:
        return CntRR(promise, "exact", weight), response_client(2, part), 2
    if kind == 1:
        return Cnt2M(promise, "exact", weight), one_presence_client(part), 2
    if kind == 2:
        return CntBN(promise, "exact", trials, weight), dummy_client(2, trials, part), 2
    if kind == 3:
        other = part / 2 if size == 3 else part
        return HistKR(promise, "exact", size, other=int(other * TOTAL)), response_client(size, other), size
    if kind == 4:
        protocol = HistDump(promise, "exact", size, trials=trials, dummy=weight)
        return protocol, dummy_client(size, trials, part), size
    return RSumRR(promise, "exact", trials, flip=weight), unary_client(trials, part), trials + 1


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


def sent_by_all(protocol):
    """Return the messages of the shuffler when half of the users hold each of two values."""
    return protocol.shuffle(protocol.encode(np.arange(300) % 2, rng=7), rng=8)


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_a_protocol_runs_in_parts_saves_and_loads(kind, tmp_path):
    protocol = made(kind, PROMISE)
    encoded, shuffled = protocol.encode(np.arange(300) % 2, rng=7), sent_by_all(protocol)
    if kind != "murs":  # its shuffler adds messages
        assert sorted(map(tuple, encoded.tolist())) == list(map(tuple, shuffled.tolist()))
    first, second, again = protocol.counter(), protocol.counter(), protocol.counter()
    first.update(shuffled[:77])
    second.update(shuffled[77:])
    again.load(first.as_json())
    second.merge(again)
    assert second.estimate().as_json() == protocol.analyze(shuffled).as_json()
    protocol.save(tmp_path / "p.json")
    loaded = load_mechanism(tmp_path / "p.json")
    assert loaded.content() == protocol.content()
    assert loaded.encode(np.arange(300) % 2, rng=7).tolist() == encoded.tolist()
    assert all(certificate.holds for certificate in loaded.certificates())


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_messages_that_users_cannot_have_sent_are_refused(kind):
    protocol = made(kind, PROMISE)
    messages = sent_by_all(protocol)
    outside = messages.copy()
    outside[5, -1] = protocol.noise.alphabets[-1]
    with pytest.raises(DataError, match=r"row 6: \d+ is outside the alphabet"):
        protocol.analyze(outside)
    with pytest.raises(DataError, match=r"expected \d+ column"):
        protocol.analyze(np.zeros((4, messages.shape[1] + 1), dtype=int))
    most = protocol._message_range[1]
    with pytest.raises(DataError, match="give those of all users"):
        protocol.analyze(np.concatenate([messages] * (1 + most // len(messages))))
    if kind != "cnt-2m":  # where nobody may have sent anything
        with pytest.raises(DataError, match="give those of all users"):
            protocol.analyze(messages[:200])
    with pytest.raises(DataError, match="belongs to a different mechanism"):
        protocol.counter().merge(made(kind, Promise(299, 1.0, 1e-4)).counter())
