"""Counts of many machines: merged in any order they give the estimate of all reports at once."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect import Aggregator
from mechdesign.core.errors import DataError
from mechdesign.core.values import encode
from mechdesign.data.intake import Coded
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.oracles import LocalHashing
from mechdesign.families.mean import Duchi, Harmony

PROBLEM = md.RandomizedResponse(prior=[0.4, 0.35, 0.25], epsilon=2.0, labels=["a", "b", "c"])


@pytest.fixture(params=["closed-form", "lp"])
def mechanism(request):
    return md.solve(PROBLEM, request.param).mechanism()


def test_merged_counts_equal_those_of_all_reports(mechanism):
    reports = mechanism.randomize(np.array(["a", "b", "c", "a"] * 500), rng=1)
    parts = []
    for part in np.array_split(reports, 7):
        counter = mechanism.aggregator()
        for chunk in np.array_split(part, 3):
            counter.update(chunk)
        parts.append(counter)
    total = mechanism.aggregator()
    for counter in parts[::-1]:
        total.merge(counter)
    assert total.users == 2000
    whole = mechanism.estimate(reports)
    assert total.estimate().value.tolist() == whole.value.tolist()
    assert total.estimate().standard_error.tolist() == whole.standard_error.tolist()
    assert total.estimate(population=True).population


def test_codes_of_few_values_count_like_the_values(mechanism):
    """In any order, also where two codes stand for one value or one for none that is known."""
    rng = np.random.default_rng(2)
    values = np.array(["c", "a", "b", "a", "unknown"], dtype=object)
    codes = rng.choice(4, 300, p=[0.1, 0.2, 0.3, 0.4])
    counter, unused, plain = (mechanism.aggregator() for _ in range(3))
    for part in np.array_split(codes, 3):
        counter.update(Coded(values[:4], part))
    unused.update(Coded(values, codes))
    plain.update(values[codes])
    expected = [int((values[codes] == name).sum()) for name in "abc"]
    assert [each.counts.tolist() for each in (counter, unused, plain)] == [expected] * 3
    with pytest.raises(DataError, match="row 4: unknown category 'unknown'"):
        counter.update(Coded(values, np.array([0, 1, 2, 4])))
    assert counter.counts.tolist() == expected


def test_counts_travel_as_json(mechanism):
    counter = mechanism.aggregator()
    counter.update(["a", "c", "c"])
    document = json.loads(json.dumps(encode(counter)))
    assert Aggregator.from_json(mechanism, document).counts.tolist() == [1, 0, 2]
    for counts in ([1, 0], [1, 0, -2]):
        with pytest.raises(DataError, match="damaged"):
            Aggregator.from_json(mechanism, {**document, "counts": counts})
    with pytest.raises(DataError, match="different mechanism"):
        Aggregator.from_json(mechanism, {**document, "mechanism": "0"})


def test_counts_of_different_mechanisms_do_not_mix(mechanism):
    other = md.solve(
        md.RandomizedResponse(prior=[0.4, 0.35, 0.25], epsilon=2.1, labels=["a", "b", "c"])
    ).mechanism()
    with pytest.raises(DataError, match="different mechanism"):
        mechanism.aggregator().merge(other.aggregator())


def test_nothing_is_counted_when_one_report_is_wrong(mechanism):
    counter = mechanism.aggregator()
    with pytest.raises(DataError, match="row 2: unknown category 'd'"):
        counter.update(["a", "d"])
    assert counter.users == 0
    with pytest.raises(DataError, match="there are none"):
        counter.estimate()


SERVERS = [
    md.solve(PROBLEM).mechanism(),
    LocalHashing.of(4, 1.0, 3),
    MarginalRelease.of([2, 2], [(0,), (1,)], 1.0),
    Duchi(1.0),
    Harmony(1.0, 2),
]


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.type)
@pytest.mark.parametrize("document", [[], None, "counts", 3])
def test_counts_that_are_no_object_are_refused(server, document):
    with pytest.raises(DataError, match="are damaged: not a JSON object"):
        type(server.aggregator()).from_json(server, document)
