"""Export of noisy views to mbi: the module is imported when it is asked for, and need not be installed."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from mechdesign.core.errors import MissingPackageError
from mechdesign.families.marginals import MarginalRelease


@pytest.fixture
def found():
    release = MarginalRelease.of([2, 3], [(0, 1), (1,)], 2.0, names=["a", "b"])
    return release.estimate(release.randomize([[0, 2], [1, 1]] * 500, rng=1))


def test_measurements_are_the_unbiased_views_with_their_deviation(found, monkeypatch):
    made = SimpleNamespace(
        Domain=lambda names, sizes: (names, sizes),
        LinearMeasurement=lambda values, clique, stddev: (values, clique, stddev),
    )
    monkeypatch.setitem(sys.modules, "mbi", made)
    domain, measurements = found.to_mbi()
    assert domain == (["a", "b"], [2, 3])
    assert [clique for _, clique, _ in measurements] == [("a", "b"), ("b",)]
    for (values, _, deviation), table, certain in zip(
        measurements, found.unbiased, found.precision, strict=True
    ):
        assert values.tolist() == table.ravel().tolist()
        assert deviation == certain**-0.5


def test_without_mbi_the_message_says_what_to_install(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "mbi", None)
    with pytest.raises(MissingPackageError, match="pip install mbi"):
        found.to_mbi()
