"""Every type of mechanism: save, load, audit, refuse what was changed, merge."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect import FrequencyMechanism, Mechanism, load_mechanism
from mechdesign.collect.base import mechanism_types
from mechdesign.core.errors import MechDesignError
from mechdesign.exact.randomness import TOTAL
from tests.support.mechanism_files import opened

PROBLEM = md.RandomizedResponse(prior=[0.4, 0.35, 0.25], epsilon=1.5, labels=["a", "b", "c"])
SAMPLES: dict[str, Callable[[], list[Mechanism]]] = {
    "finite-channel": lambda: [
        md.solve(PROBLEM, "lp").mechanism(),
        md.solve(
            md.RandomizedResponse(prior=[0.4, 0.6], epsilon=1.0, delta=0.1, notion="entry-wise"), "lp"
        ).mechanism(),
        md.solve(md.RandomizedResponse(prior=[0.4, 0.3, 0.3], epsilon=1.0, distance="line")).mechanism(),
    ],
    "kary-response": lambda: [
        md.solve(PROBLEM).mechanism(),
        md.solve(md.RandomizedResponse(prior=[0.7, 0.2, 0.1], epsilon=0.5, delta=0.2)).mechanism(),
    ],
}


def test_every_type_has_samples():
    """Of the mechanisms that report categories; those for means have tests of their own."""
    kinds = {name for name, kind in mechanism_types().items() if issubclass(kind, FrequencyMechanism)}
    assert kinds <= set(SAMPLES), "add a sample of the new type here"


@pytest.fixture
def mechanism(request) -> Mechanism:
    make, number = request.param
    return make()[number]


def pytest_generate_tests(metafunc):
    if "mechanism" in metafunc.fixturenames:
        sets = [(make, number) for make in SAMPLES.values() for number in range(len(make()))]
        names = [f"{kind}-{number}" for kind, make in SAMPLES.items() for number in range(len(make()))]
        metafunc.parametrize("mechanism", sets, ids=names, indirect=True)


def test_certificates_hold_and_privacy_is_exact(mechanism):
    certificates = mechanism.certificates()
    assert certificates
    assert all(certificate.holds for certificate in certificates)
    assert next(item for item in certificates if item.property == "privacy").exact


def test_the_file_is_plain_json_and_gives_back_the_same(mechanism, tmp_path):
    path = tmp_path / "m.json"
    mechanism.save(path)
    document = json.loads(path.read_text())
    assert document["type"] == mechanism.type
    again = load_mechanism(path)
    assert again.content() == mechanism.content()
    assert again.fingerprint == mechanism.fingerprint
    assert [str(item) for item in again.certificates()] == [str(item) for item in mechanism.certificates()]


def leaves(value, path=()):
    """Yield the path of every number and text of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not isinstance(value, (dict, list)):
        yield path, value
    for key, item in items:
        yield from leaves(item, (*path, key))


def test_every_single_change_of_its_content_is_refused(mechanism, tmp_path):
    """Each number is changed by one unit or a little, each text by a letter, one at a time."""
    path = tmp_path / "m.json"
    mechanism.save(path)
    original = opened(path)
    for keys, value in leaves(original["content"]):
        if isinstance(value, str):
            other = value + "x"
        elif isinstance(value, int):
            other = value + 1 if value < TOTAL else value - 1
        else:
            other = 0.123 if value is None else value + 0.001
        document = json.loads(json.dumps(original))
        place = document["content"]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = other
        path.write_text(json.dumps(document))
        with pytest.raises(MechDesignError) as caught:
            load_mechanism(path)
        assert str(path) in str(caught.value), keys
        assert "rebuild it" in str(caught.value), keys


def test_a_seed_repeats_and_reports_are_possible(mechanism):
    answers = np.array(mechanism.labels.shown() * 20)
    reports = mechanism.randomize(answers, rng=3)
    assert reports.tolist() == mechanism.randomize(answers, rng=3).tolist()
    counter = mechanism.aggregator()
    counter.update(reports)
    assert counter.users == len(answers)
    assert mechanism.randomize([]).tolist() == []


def test_merging_is_counting_together(mechanism):
    assert isinstance(mechanism, FrequencyMechanism)
    reports = mechanism.randomize(np.array(mechanism.labels.shown() * 30), rng=1)
    whole, first, second = (mechanism.aggregator() for _ in range(3))
    whole.update(reports)
    first.update(reports[:31])
    second.update(reports[31:])
    first.merge(second)
    assert first.counts.tolist() == whole.counts.tolist()
    assert whole.estimate().value.sum() == pytest.approx(1.0)
