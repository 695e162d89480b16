"""What no release of marginals is, whose data do not fit, and what cannot be asked: refused in one line."""

from __future__ import annotations

import numpy as np
import pytest

from mechdesign.core.errors import DataError, EstimationError, ParameterError, UnknownNameError
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.marginals.oracles.best import best_oracle
from mechdesign.primitives.attributes import Attributes
from mechdesign.primitives.kary import KaryResponse
from mechdesign.primitives.kary_channel import KaryChannel

SIZES = [2, 3, 4, 2]
VIEWS = [(0, 1), (1, 2), (2, 3), (0, 3)]
NAMES = ["age", "income", "region", "smokes"]


def people(release: MarginalRelease, users: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.stack([rng.integers(0, size, users) for size in release.attributes.sizes], axis=1)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Attributes([2, 1]), "sizes: attribute 1: 1 is not from 2"),
        (lambda: Attributes([]), "sizes: is empty"),
        (lambda: Attributes("23"), "sizes: expected a list"),
        (lambda: Attributes([2, 2], ["a", "a"]), "names: 'a' appears twice"),
        (lambda: Attributes([2, 2], ["a"]), "names: 1 name for 2"),
        (lambda: Attributes([2], labels=[["x", "x"]]), "labels: attribute '0': 'x' appears twice"),
        (lambda: Attributes([2, 2], labels=[None]), "labels: 1 list for 2 attributes"),
        (lambda: MarginalRelease.of([2, 2], [(0,)], 1.0), "no view has attribute '1'"),
        (lambda: MarginalRelease.of([2, 2], [(0, 1), (0, 1)], 1.0), "appears twice"),
        (lambda: MarginalRelease.of([2, 2], [(0, 2)], 1.0), "there are 0 to 1"),
        (lambda: MarginalRelease.of([2, 2], [], 1.0), "views: expected a list"),
        (lambda: MarginalRelease.of([2, 2], [(0, 1)], 0.0), "epsilon: is so small"),
        (lambda: MarginalRelease.of([2] * 40, [range(40)], 1.0), "1099511627776 cells, .* take 8 TiB; 65536"),
        (lambda: MarginalRelease.of([2, 2], [(0, 1)], 1.0, shares=[1, 1]), "shares: 2 for 1 views"),
        (lambda: MarginalRelease.of([2, 2], [(0,), (1,)], 1.0, shares=[0, 1]), "shares: must be positive"),
        (
            lambda: MarginalRelease(Attributes([2]), [(0,)], [best_oracle(3, 1.0)]),
            "is for 3 cells, the view has 2",
        ),
        (
            lambda: MarginalRelease(
                Attributes([3]), [(0,)], [KaryResponse.from_channel(KaryChannel(3, np.arange(2), 1.0))]
            ),
            "keeps some answers only",
        ),
        (
            lambda: MarginalRelease(
                Attributes([2]), [(0,)], [KaryResponse.from_channel(KaryChannel(2, np.arange(2), 1.0, 0.1))]
            ),
            "delta > 0",
        ),
    ],
)
def test_what_is_no_release_is_refused(make, text):
    with pytest.raises(ParameterError, match=text):
        make()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ([[0, 0, 0, 0], [1, 2, 4, 1]], "attribute 'region': row 2: unknown category 4"),
        ([[0, 0, 0, -1]], "attribute 'smokes': row 1: unknown category -1"),
        ([[0, 0, 0, 0], [1, 2, 3]], "row 2 has 3 values for 4 attributes"),
        ([[0, 0, 0, 0.5]], "attribute 'smokes': row 1"),
        (np.zeros((3, 2), dtype=int), "one row of 4 values per user, got an array 3 x 2"),
        ({"age": [0], "income": [0], "region": [0]}, "no column 'smokes'"),
        ({"age": [0], "income": [0], "region": [0], "smokes": [0, 1]}, "unequal length"),
        ("text", "expected one row"),
    ],
)
def test_people_with_other_values_are_refused(data, text):
    release = MarginalRelease.of(SIZES, VIEWS, 1.0, names=NAMES)
    with pytest.raises(DataError, match=text):
        release.randomize(data)


def test_marginals_that_cannot_be_had_are_refused():
    release = MarginalRelease.of(SIZES, VIEWS, 2.0, names=NAMES)
    found = release.estimate(release.randomize(people(release, 2000), rng=1))
    for wanted, error, text in (
        (["age", "incom"], UnknownNameError, "did you mean 'income'"),
        (["age", 0], ParameterError, "'age' appears twice"),
        ([4], UnknownNameError, "no attribute 4"),
        ([], ParameterError, "names no attribute"),
        ("age", ParameterError, "expected a list"),
    ):
        with pytest.raises(error, match=text):
            found.marginal(wanted)
    with pytest.raises(ParameterError, match=r"48 cells \(384 bytes\), 10 \(80 bytes\) are allowed"):
        found.marginal(NAMES, most_cells=10)
    with pytest.raises(EstimationError, match="no view with reports contains it"):
        found.marginal(["age", "region"], raw=True)


def test_nonsense_is_forecast_and_not_collected():
    release = MarginalRelease.of(SIZES, VIEWS, 0.01)
    assert not release.forecast(1000).possible
    with pytest.raises(EstimationError, match="CANNOT be estimated"):
        release.randomize(people(release, 10))
    assert len(release.randomize(people(release, 10), anyway=True)) == 10
    fine = MarginalRelease.of(SIZES, VIEWS, 1.0)
    assert fine.forecast(4000).largest == pytest.approx(2 * fine.forecast(16_000).largest)


def test_data_frames_records_and_rows_are_the_same():
    import pandas

    release = MarginalRelease.of([2, 3], [(0, 1)], 1.0, ["a", "b"], [["no", "yes"], None])
    rows = [["yes", 2], ["no", 0]]
    frame = pandas.DataFrame(rows, columns=["a", "b"])[["b", "a"]]
    records = np.array([("yes", 2), ("no", 0)], dtype=[("a", "U3"), ("b", "i4")])
    for given in (rows, frame, records, {"a": ["yes", "no"], "b": [2, 0]}):
        assert release.attributes.encode(given).tolist() == [[1, 2], [0, 0]]
