"""Counters of messages: sums that messages cannot have are refused, and nothing wraps around."""

from __future__ import annotations

import json

import pytest

from mechdesign.core.errors import DataError
from mechdesign.exact.draws import below
from mechdesign.families.joint import JointResponse
from mechdesign.families.shuffle.promise import Promise
from tests.support.protocols import PROTOCOLS, made


@pytest.fixture(params=PROTOCOLS)
def protocol(request):
    return made(request.param, Promise(300, 1.0, 1e-4))


def counted(protocol):
    """Return what a counter wrote of the messages of all users, as it comes back from a file."""
    values = protocol._read_values([0] * protocol.promise.users)
    counter = protocol.counter()
    counter.update(protocol.encode(values, rng=1))
    return json.loads(json.dumps(counter.as_json()))


def test_what_was_counted_is_loaded_and_nothing_else(protocol):
    document = counted(protocol)
    fresh = protocol.counter()
    fresh.load(document)
    assert fresh.as_json() == document
    for forged in (-5, -1, 10**6 * (document["messages"] + 1), 1 << 61, 1 << 64):
        if protocol._ring is not None and 0 <= forged < protocol._ring:
            continue  # any number of a ring is the sum of some shares
        for place in (0, len(document["sums"]) - 1):
            sums = [*document["sums"]]
            sums[place] = forged
            with pytest.raises(DataError, match="counter: "):
                protocol.counter().load({**document, "sums": sums})


def test_more_messages_than_users_send_are_refused(protocol):
    document, counter = counted(protocol), protocol.counter()
    most = protocol._message_range[1]
    for _ in range(most // max(1, document["messages"])):
        counter.load(document)
    before = counter.as_json()
    with pytest.raises(DataError):
        counter.load(document)
    assert counter.as_json() == before  # nothing was added
    for messages in (-1, most + 1, 1 << 62, 0.5):
        with pytest.raises(DataError):
            protocol.counter().load({**document, "messages": messages})


def test_sums_of_sixty_one_bits_do_not_wrap(protocol):
    """Four of them used to become a small number."""
    document, counter = counted(protocol), protocol.counter()
    if protocol._ring is not None:
        return
    for _ in range(4):
        with pytest.raises(DataError):
            counter.load({**document, "sums": [1 << 61] * len(document["sums"])})
    assert counter.as_json()["sums"] == [0] * len(document["sums"])


def test_each_operation_that_takes_a_seed_has_a_stream_of_its_own():
    """The shuffler's fake messages used to be the first numbers that the users had drawn."""
    protocol = made("murs", Promise(300, 1.0, 1e-4))
    encoding, shuffling = (protocol.source(7, purpose).integers(200) for purpose in ("", "shuffle"))
    assert not set(encoding.tolist()) & set(shuffling.tolist())
    messages = protocol.encode([0] * 300, rng=7)
    fakes = protocol.with_fakes(messages, 7)[300:]
    source = protocol.source(7, "shuffle")
    assert fakes[:, 0].tolist() == below(protocol.noise.family.seeds, protocol.noise.fakes, source).tolist()
    joint = JointResponse.of([2, 3], 8.0, redraw=0.5, keep=0.75, add=0.25)
    bits = [joint.source(7, purpose).integers(50).tolist() for purpose in ("", "remember", "reports")]
    assert len({number for part in bits for number in part}) == 150
    sent = joint.remember([[1, 2]] * 400, rng=7).bits
    code = joint.attributes.encode([[1, 2]] * 400)
    assert (sent == joint._draw_permanent(code, joint.source(7, "remember"))).all()
    assert not (sent == joint._draw_permanent(code, joint.source(7))).all()
