"""Every type of mechanism: files, copies, blocks and merged servers.

One small instance of each saved type. A type that is left out of a test is declared, with the reason; what
is declared and not true fails as well.
"""

from __future__ import annotations

import json
import pickle
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mechdesign
from mechdesign.collect import load_mechanism
from mechdesign.collect.base import CollectingMechanism, Mechanism, mechanism_types
from mechdesign.core.errors import MechDesignError
from mechdesign.families.shuffle import Protocol
from mechdesign.families.survey import SurveyMechanism
from tests.meta.test_shown import MECHANISMS
from tests.support.mechanism_files import opened

KINDS = sorted(MECHANISMS)
USERS = 1000
"""Users of a survey."""

DECIDES = "decides about bids; nothing is randomized"
PLACES = "reports places; nobody counts them"
NO_SERVER = {
    "online-auction": DECIDES,
    "contract-menu": "the buyers' average is computed at once, from reports with what each was paid for",
    "direct-mechanism": "decides about reported types",
    "screening-menu": "sells quantities",
    "batch-shuffler": "passes messages on",
    "planar-laplace": PLACES,
    "planar-lattice": PLACES,
    "spectrum-cloak": "registers tiles, which are kept and not counted",
    "spectrum-database": "answers questions; nothing is counted",
    "spectrum-user": PLACES,
}
"""Types without a server whose counts can be merged, and why."""

BY_CALL = {
    *("hadamard-response", "local-hashing", "projective-geometry", "subset-selection", "unary-encoding"),
    *("marginal-release", "marginal-rival", "joint-response", "set-response", "grid-mean"),
    *("discrete-piecewise", "weekly-response", "set-selection", "set-hashing", "key-value-selection"),
    "prefix-hashing",
    *("attribute-sampling", "duchi", "harmony", "shuffled", "survey"),
    *("aut", "cnt-rr", "cnt-2m", "cnt-bn", "cnt-sgm", "distinct-parity", "hist-dump", "hist-flip", "hist-mm"),
    *("hist-rr", "murs", "prhr", "pucm", "put", "range-tree", "rsum-dsg", "rsum-kr", "rsum-pure", "rsum-rm"),
    *("rsum-rr", "solh", "uniformity-dump"),
}
"""Types whose client takes several numbers a user from a generator, column by column for all users of a
call, or one number for several users: two calls with one generator give other reports than one call. A table
is cut into blocks of a fixed size, so that this is nowhere seen."""


@cache
def made(kind: str) -> Mechanism:
    return MECHANISMS[kind][0]()


def values_for(mechanism: Any, users: int = USERS) -> Any:
    """Return what users may hold: of every kind of answer that the codec takes, in turn."""
    if isinstance(mechanism, Protocol):
        return np.arange(users) % 2
    if isinstance(mechanism, SurveyMechanism):
        labels = [question.labels for question in mechanism.questions]
        return np.array([[each[one % 2] for each in labels] for one in range(users)])
    return np.asarray(getattr(mechanism, "local", mechanism).codec.examples(users))


def client_of(mechanism: Any) -> Any:
    return mechanism.encode if isinstance(mechanism, Protocol) else mechanism.randomize


def server_of(mechanism: Any) -> Any:
    return mechanism.counter() if isinstance(mechanism, Protocol) else mechanism.aggregator()


def reports_of(mechanism: Any, seed: int = 3) -> Any:
    """Return the reports of all users, with the fakes of a shuffler that adds some."""
    reports = client_of(mechanism)(values_for(mechanism), rng=seed)
    if isinstance(mechanism, Protocol):
        return mechanism.with_fakes(reports, np.random.default_rng(seed))
    return reports


COUNTED = [kind for kind in KINDS if kind not in NO_SERVER]
PROTOCOLS = [kind for kind in KINDS if issubclass(mechanism_types()[kind], Protocol)]


def test_what_is_declared_is_of_known_types():
    assert set(KINDS) == set(mechanism_types())
    assert set(KINDS) >= BY_CALL
    for kind in KINDS:
        counts = isinstance(made(kind), CollectingMechanism | Protocol)
        assert counts == (kind not in NO_SERVER), kind


def test_every_class_with_a_type_is_found_wherever_it_is():
    """A new file of a folder need not be imported by anything, and is here with an instance all the same."""
    texts = (path.read_text(encoding="utf-8") for path in Path(mechdesign.__file__).parent.rglob("*.py"))
    words = {word for text in texts for word in re.findall(r'type: ClassVar\[str\] = "([a-z0-9-]+)"', text)}
    assert words == set(mechanism_types()) == set(KINDS), "give MECHANISMS in tests/meta/test_shown.py one"


@pytest.mark.everywhere
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_and_a_copy_are_the_same_mechanism(kind, tmp_path):
    """The same content, audited again with the same certificates, and the same reports for a seed."""
    mechanism, path = made(kind), tmp_path / "m.json"
    mechanism.save(path)
    document = opened(path)
    assert document["type"] == kind
    certificates = [str(item) for item in mechanism.certificates()]
    assert certificates
    for other in (load_mechanism(path), pickle.loads(pickle.dumps(mechanism))):
        assert type(other) is type(mechanism)
        assert other.content() == mechanism.content() == document["content"]
        assert other.fingerprint == mechanism.fingerprint
        assert [str(item) for item in other.certificates()] == certificates
        assert all(item.holds for item in other.certificates())
        assert str(other.audit()) == str(mechanism.audit())
        if kind in COUNTED:
            assert reports_of(other).tolist() == reports_of(mechanism).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_with_another_content_is_refused(kind, tmp_path):
    """The content is that of a number more or less, its digest is the old one."""
    path = tmp_path / "m.json"
    made(kind).save(path)
    document = json.loads(path.read_text())
    document["content"] = {**document["content"], "epsilon": 17.25}
    path.write_text(json.dumps(document))
    with pytest.raises(MechDesignError, match="rebuild it"):
        load_mechanism(path)


def shown(estimate: Any) -> str:
    """Return all that an estimate says; to the last digit where it is written to files."""
    if not hasattr(estimate, "as_json"):
        return str(estimate)
    return json.dumps(estimate.as_json(), sort_keys=True, default=lambda value: value.tolist())


@pytest.mark.parametrize("kind", COUNTED)
def test_a_server_in_blocks_and_merged_ones_say_the_same_as_one_at_once(kind):
    mechanism = made(kind)
    reports = reports_of(mechanism)
    whole, blocks, empty = (server_of(mechanism) for _ in range(3))
    whole.update(reports)
    parts = []
    for block in np.array_split(reports, [7, len(reports) // 3, len(reports) // 3]):
        blocks.update(block)
        parts.append(server_of(mechanism))
        parts[-1].update(block)
    for part in reversed(parts):
        empty.merge(part)
    assert blocks.as_json() == whole.as_json() == empty.as_json()
    assert shown(blocks.estimate()) == shown(whole.estimate()) == shown(empty.estimate())
    assert parts[0].as_json() != whole.as_json()


@pytest.mark.parametrize("kind", [kind for kind in COUNTED if kind not in PROTOCOLS])
def test_a_server_that_was_written_down_goes_on(kind):
    """Not of protocols: the shuffled messages of all are a table, and their counter is of one process."""
    mechanism = made(kind)
    first, second = np.array_split(reports_of(mechanism), 2)
    whole, half = server_of(mechanism), server_of(mechanism)
    half.update(first)
    again_read = type(half).from_json(half.mechanism, json.loads(json.dumps(half.as_json())))
    for server in (whole, again_read):
        server.update(second)
    whole.update(first)
    assert again_read.as_json() == whole.as_json()
    assert shown(again_read.estimate()) == shown(whole.estimate())


@pytest.mark.everywhere
@pytest.mark.parametrize("kind", COUNTED)
def test_a_client_in_two_calls_gives_what_one_call_gives(kind):
    """Or is declared; in any case a seed repeats, another one differs, and no users have no reports."""
    mechanism = made(kind)
    client, values = client_of(mechanism), values_for(mechanism)
    rng = np.random.default_rng(5)
    parts = np.concatenate([client(values[:317], rng=rng), client(values[317:], rng=rng)])
    whole = client(values, rng=np.random.default_rng(5))
    same = parts.shape == whole.shape and parts.tolist() == whole.tolist()
    assert same == (kind not in BY_CALL)
    assert client(values, rng=1).tolist() == client(values, rng=1).tolist() != client(values, rng=2).tolist()
    assert len(client(values[:0], rng=1)) == 0
