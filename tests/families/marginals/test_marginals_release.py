"""The release of marginals: exact privacy, assignment, files that were tampered with, servers that merge."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pytest

from mechdesign.collect import load_mechanism
from mechdesign.core.errors import CertificateError, DataError, EstimationError, MechDesignError
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.marginals import MarginalAggregator, MarginalRelease
from mechdesign.families.marginals.oracles import (
    HadamardResponse,
    LocalHashing,
    ProjectiveGeometry,
    SubsetSelection,
    UnaryEncoding,
)
from mechdesign.families.marginals.oracles.best import KINDS, best_oracle
from mechdesign.families.marginals.views import covered_order
from mechdesign.primitives.attributes import Attributes
from mechdesign.primitives.combine import view_weights
from mechdesign.primitives.kary import KaryResponse
from mechdesign.primitives.oracle import cell_variance

SIZES = [2, 3, 4, 2]
VIEWS = [(0, 1), (1, 2), (2, 3), (0, 3)]
NAMES = ["age", "income", "region", "smokes"]


def mixed_release() -> MarginalRelease:
    """Return a release with an oracle of every kind, one of them shared."""
    attributes = Attributes([2, 4, 4, 2, 5], [*NAMES, "car"])
    shared = UnaryEncoding.optimised(8, 1.0)
    oracles = [
        shared,
        SubsetSelection.of(16, 1.0, 4),
        LocalHashing.of(8, 1.0, 3),
        best_oracle(4, 1.0),
        HadamardResponse.of(20, 1.0),
        ProjectiveGeometry.of(20, 1.0, 3),
        shared,
    ]
    views = [(0, 1), (1, 2), (2, 3), (0, 3), (2, 4), (1, 4), (0, 2)]
    return MarginalRelease(attributes, views, oracles, [1, 2, 3, 1, 1, 1, Fraction(1, 2)])


def people(release: MarginalRelease, users: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, size, users) for size in release.attributes.sizes], axis=1)


# Privacy


@pytest.mark.parametrize("kind", KINDS[:2])
def test_privacy_is_the_largest_ratio_over_all_reports_and_users(kind):
    """Every report of every view for every user in exact fractions: 24 users, up to 2^4 reports a view."""
    release = MarginalRelease.of([2, 2, 2], [(0, 1), (1, 2)], 1.25, shares=[1, 3], kinds=[kind])
    users = list(product(range(2), repeat=3))
    chances: dict[tuple[int, ...], list[Fraction]] = {}
    for view, (places, oracle) in enumerate(zip(release.views, release.oracles, strict=True)):
        share = Fraction(release.shares[view], TOTAL)
        for user in users:
            cell = int(release.attributes.cell_of([user], places)[0])
            for report in product(range(2), repeat=4):
                if isinstance(oracle, KaryResponse):
                    if sum(report) != 1:
                        continue
                    own, other = oracle.weights.own + oracle.weights.high, oracle.weights.low
                    chance = Fraction(own if report[cell] else other, TOTAL)
                else:
                    chance = Fraction(1)
                    for place, bit in enumerate(report):
                        one = Fraction(oracle.keep if place == cell else oracle.add, TOTAL)
                        chance *= one if bit else 1 - one
                chances.setdefault((view, *report), []).append(share * chance)
    assert sum(column[0] for column in chances.values()) == 1
    worst = max(max(column) / min(column) for column in chances.values())
    audit = release.audit()
    assert audit.holds
    assert audit.true_epsilon == pytest.approx(log(worst), rel=1e-14)
    assert audit.true_epsilon <= audit.epsilon == 1.25


def test_the_audit_is_that_of_the_least_private_view():
    attributes = Attributes([2, 2])
    mild, strict = (UnaryEncoding.optimised(2, epsilon) for epsilon in (2.0, 0.5))
    release = MarginalRelease(attributes, [(0,), (1,)], [mild, strict])
    assert release.epsilon == 2.0
    assert release.audit().true_epsilon == mild.audit().true_epsilon > strict.audit().true_epsilon
    broken = UnaryEncoding.optimised(2, 2.0)
    vars(broken)["epsilon"] = 1.0  # promises more than its weights keep
    vars(release)["oracles"] = (mild, broken)
    del vars(release)["_sharing"]
    assert not release.audit().holds
    assert not release.certificates()[0].holds


# Assignment


def test_views_are_drawn_by_their_shares_without_a_look_at_the_data():
    """Counts of 60000 draws within 5.5 deviations (fixed seed; error 1e-7); the same views for any data."""
    release = MarginalRelease.of([2, 2, 2], [(0,), (1,), (2,)], 1.0, shares=[1, 2, 5])
    one, other = (release.randomize(np.full((60_000, 3), value), rng=7) for value in (0, 1))
    assert (one["view"] == other["view"]).all()
    counts = np.bincount(one["view"], minlength=3)
    for count, share in zip(counts, (1, 2, 5), strict=True):
        deviation = (60_000 * share / 8 * (1 - share / 8)) ** 0.5
        assert abs(count - 60_000 * share / 8) <= 5.5 * deviation


@pytest.mark.parametrize(
    ("shares", "found"),
    [
        (None, (TOTAL // 3 + 1, TOTAL // 3, TOTAL // 3)),
        ([1, 1, 2], (TOTAL // 4, TOTAL // 4, TOTAL // 2)),
        ([Fraction(1, 4), 0.25, 0.5], (TOTAL // 4, TOTAL // 4, TOTAL // 2)),
    ],
)
def test_shares_become_integers_that_sum_exactly(shares, found):
    made = view_weights(3, shares)
    assert sum(made) == TOTAL
    assert sorted(made) == sorted(found)
    assert view_weights(3, made) == made


def test_the_oracle_of_least_variance_is_chosen():
    for cells, epsilon in product((2, 4, 16, 64), (0.2, 1.0, 3.0)):
        chosen = cell_variance(best_oracle(cells, epsilon))
        assert chosen <= min(cell_variance(best_oracle(cells, epsilon, [kind])) for kind in KINDS)
        thesis = best_oracle(cells, epsilon, KINDS[:2])
        assert isinstance(thesis, KaryResponse) == (cells - 2 < 3 * np.exp(epsilon))


@pytest.mark.parametrize(
    ("views", "count", "order"),
    [
        ([(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)], 7, 2),
        ([(0, 1, 2, 3)], 4, 4),
        ([(0, 1), (2, 3)], 4, 1),
    ],
)
def test_the_covered_order(views, count, order):
    assert covered_order(views, count) == order
    release = MarginalRelease.of([2] * count, views, 1.0)
    covering = next(item for item in release.certificates() if item.property == "covering")
    assert covering.holds
    assert covering.figures["covered_order"] == order


# Reports and servers


def test_estimates_from_all_oracles_are_near_the_truth():
    """Raw cells of every view within 5.5 standard errors (fixed seed; 1 in 10^5 for a right program)."""
    release = mixed_release()
    data = people(release, 40_000)
    found = release.estimate(release.randomize(data, rng=3))
    for view in release.views:
        truth = np.bincount(
            release.attributes.cell_of(data, view), minlength=release.attributes.cells(view)
        ) / len(data)
        raw = found.marginal(view, raw=True)
        assert (np.abs(raw.value.ravel() - truth) <= 5.5 * raw.standard_error.ravel()).all()
        assert found.marginal(view).value.sum() == pytest.approx(1.0)
    assert found.certificates()[0].holds


def test_merging_and_saving_midway_is_counting_together():
    release = mixed_release()
    reports = release.randomize(people(release, 3000), rng=1)
    whole, first, second = (release.aggregator() for _ in range(3))
    whole.update(reports)
    first.update(reports[:1234])
    saved = json.dumps(first.as_json())  # the machine is killed, another one goes on
    second.update(reports[1234:])
    again = MarginalAggregator.from_json(release, json.loads(saved))
    again.merge(second)
    assert again.as_json() == whole.as_json()
    assert again.users == 3000
    assert again.estimate().value[0].tolist() == whole.estimate().value[0].tolist()


def test_a_seed_repeats_and_blocks_leave_no_trace():
    release = mixed_release()
    data = people(release, 70_000)
    reports = release.randomize(data, rng=5)
    assert (reports == release.randomize(data, rng=5)).all()
    generator = release.seeded(5)
    parts = [release.randomize(part, rng=generator) for part in (data[:65536], data[65536:])]
    assert (np.concatenate(parts) == reports).all()
    assert len(release.randomize(np.zeros((0, 5), dtype=int))) == 0


def test_small_numbers_are_taken_as_they_are_and_give_the_same_reports():
    release = mixed_release()
    table = people(release, 500)
    narrow = table.astype(np.int8)
    assert release.attributes.encode(narrow, narrow=True) is narrow
    assert release.randomize(narrow, rng=3).tobytes() == release.randomize(table, rng=3).tobytes()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda d: d.update(mechanism="0" * 64), "belong to a different mechanism"),
        (lambda d: d.update(views=d["views"][:-1]), "not 7 views"),
        (lambda d: d.update(views=7), "not 7 views"),
        (lambda d: d["views"].__setitem__(0, None), "a view has none"),
        (lambda d: d["views"][0].update(users=-1), "is not a number of users"),
        (lambda d: d["views"][0]["counts"].__setitem__(0, 1.5), "is not a count"),
        (lambda d: d["views"][0]["counts"].__setitem__(0, 10**6), "more support than reports"),
        (lambda d: d["views"].reverse(), "belong to a different mechanism"),
    ],
)
def test_forged_counts_are_refused(change, text):
    release = mixed_release()
    server = release.aggregator()
    server.update(release.randomize(people(release, 200), rng=1))
    document = server.as_json()
    change(document)
    with pytest.raises(DataError, match=text):
        MarginalAggregator.from_json(release, document)


def test_impossible_reports_are_refused_and_nothing_is_counted():
    release = mixed_release()
    reports = release.randomize(people(release, 500), rng=1)
    server = release.aggregator()
    outside = reports.copy()
    outside["view"][17] = 7
    with pytest.raises(DataError, match="view: row 18: unknown category 7"):
        server.update(outside)
    long = reports.copy()
    row = int(np.flatnonzero(long["view"] == 0)[3])
    long["report"][row, -1] = 1
    with pytest.raises(DataError, match=f"row {row + 1}: is too long for its view"):
        server.update(long)
    subset = reports.copy()
    row = int(np.flatnonzero(subset["view"] == 1)[5])
    subset["report"][row, :2] = 255
    with pytest.raises(DataError, match=f"view 1: row {row + 1}: a set of 16 categories"):
        server.update(subset)
    other = MarginalRelease.of(SIZES, VIEWS, 0.5, kinds=["unary-encoding"])
    with pytest.raises(DataError, match="use the mechanism they were made with"):
        server.update(other.randomize(people(other, 10), rng=1))
    with pytest.raises(DataError, match="records with the fields"):
        server.update(np.arange(5))
    with pytest.raises(DataError, match="belongs to a different mechanism"):
        server.merge(other.aggregator())
    assert server.users == 0


def test_few_reports_are_refused_and_a_view_without_any_is_left_out():
    release = MarginalRelease.of([2, 2, 2], [(0,), (1,), (2,)], 1.0)
    with pytest.raises(DataError, match="there are none"):
        release.aggregator().estimate()
    data = np.zeros((300, 3), dtype=int)
    reports = release.randomize(data, rng=1)
    with pytest.raises(DataError, match="2 users are fewer than the 3 views"):
        release.estimate(reports[:2])
    found = release.estimate(reports[reports["view"] != 1])
    assert found.marginal([1]).value.tolist() == [0.5, 0.5]
    assert "no user reported a view with 1" in str(found.marginal([1]))


# Files


def leaves(value, path=()):
    """Yield the path of every number and text of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not isinstance(value, (dict, list)):
        yield path, value
    for key, item in items:
        yield from leaves(item, (*path, key))


def test_the_file_holds_each_oracle_once_and_gives_back_the_same(tmp_path):
    release = mixed_release()
    path = tmp_path / "m.json"
    release.save(path)
    content = json.loads(path.read_text())["content"]
    assert len(content["oracles"]) == 6
    assert content["oracle_of_view"] == [0, 1, 2, 3, 4, 5, 0]
    again = load_mechanism(path)
    assert again.content() == release.content()
    data = people(release, 100)
    assert (again.randomize(data, rng=2) == release.randomize(data, rng=2)).all()
    assert again.oracles[0] is again.oracles[6]


def test_every_single_change_of_its_content_is_refused(tmp_path):
    """Each number is changed by one unit or a little, each text by a letter, one at a time."""
    path = tmp_path / "m.json"
    mixed_release().save(path)
    original = json.loads(path.read_text())
    for keys, value in leaves(original["content"]):
        other = value + "x" if isinstance(value, str) else 0.123 if value is None else value + 1
        document = json.loads(json.dumps(original))
        place = document["content"]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = other
        path.write_text(json.dumps(document))
        with pytest.raises(MechDesignError) as caught:
            load_mechanism(path)
        assert "\n" not in str(caught.value)
        assert str(path) in str(caught.value), keys


def test_weights_that_break_the_promise_are_refused_by_the_audit_alone():
    content = MarginalRelease.of(SIZES, VIEWS, 1.0, kinds=["unary-encoding"]).content()
    content["oracles"][0]["content"]["add"] -= 1
    with pytest.raises(CertificateError, match="not private as stated"):
        MarginalRelease.from_content(content)
    content = MarginalRelease.of(SIZES, VIEWS, 1.0).content()
    content["shares"][0] += 1
    with pytest.raises(CertificateError, match="do not sum to"):
        MarginalRelease.from_content(content)
    content = MarginalRelease.of(SIZES, VIEWS, 1.0).content()
    content["oracles"][0]["type"] = "duchi"
    with pytest.raises(CertificateError, match="is not a frequency oracle"):
        MarginalRelease.from_content(content)


def test_what_is_planned_decides_whether_it_is_collected_with():
    """Few planned users are refused where the larger default is not, and many are not refused."""
    few = MarginalRelease(Attributes([8, 8]), [(0, 1)], [best_oracle(64, 0.2)], users=30)
    with pytest.raises(EstimationError, match="with 30 users"):
        few.randomize([[0, 0]], rng=1)
    weak = best_oracle(64, 0.005)
    with pytest.raises(EstimationError):
        MarginalRelease(Attributes([8, 8]), [(0, 1)], [weak]).randomize([[0, 0]], rng=1)
    many = MarginalRelease(Attributes([8, 8]), [(0, 1)], [weak], users=10**10)
    assert len(many.randomize([[0, 0]], rng=1)) == 1
    assert MarginalRelease.from_content(many.content()).users == 10**10
