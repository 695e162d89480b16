"""Set response, against its whole channel written down: chances, privacy, scores, errors, counts."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations, product
from math import comb, prod

import numpy as np
import pytest
from scipy import stats

from mechdesign.cli import main
from mechdesign.core.errors import DataError, MechDesignError, ParameterError
from mechdesign.exact.randomness import TOTAL, exp_lower
from mechdesign.families.marginals.oracles import SubsetSelection
from mechdesign.families.marginals.sets import CellSet, MatchSet, ProductSet, SetResponse
from tests.support.statistics import ends_are_where_the_reach_ends, reaches

SHAPES = {
    "product": ([2, 3], ProductSet([1, 2])),
    "all answers": ([2, 2, 3], ProductSet([1, 1, 1])),
    "matches": ([2, 2, 3], MatchSet([1, 1, 2], 2)),
    "majority": ([2, 2, 2], MatchSet([1, 1, 1], 2)),
    "any match": ([3, 2], MatchSet([1, 1], 1)),
    "cells": ([2, 3], CellSet(2)),
}


def built(name, epsilon=1.5):
    sizes, sets = SHAPES[name]
    return SetResponse.of(sizes, epsilon, sets)


def all_sets(mechanism):
    """Every possible report as bits, and whether it holds each answer, by the definition of the shape."""
    sizes = mechanism.attributes.sizes
    answers = list(product(*map(range, sizes)))
    if isinstance(mechanism.sets, CellSet):
        for cells in combinations(range(len(answers)), mechanism.sets.width):
            yield (
                [int(cell in cells) for cell in range(len(answers))],
                [cell in cells for cell in range(len(answers))],
            )
        return
    least = getattr(mechanism.sets, "matches", len(sizes))
    choices = [list(combinations(range(k), w)) for k, w in zip(sizes, mechanism.sets.widths, strict=True)]
    for chosen in product(*choices):
        bits = [int(v in part) for part, k in zip(chosen, sizes, strict=True) for v in range(k)]
        holds = [
            sum(x in part for x, part in zip(answer, chosen, strict=True)) >= least for answer in answers
        ]
        yield bits, holds


def channel(mechanism):
    """All reports, and the exact chances of each for every answer, by R and by counting sets."""
    reports, holds = zip(*all_sets(mechanism), strict=True)
    (inside,) = {sum(column) for column in zip(*holds, strict=True)}
    share = Fraction(mechanism.include, TOTAL)
    rows = [
        [share / inside * held + (1 - share) / len(reports) for held in column]
        for column in zip(*holds, strict=True)
    ]
    return np.packbits(np.array(reports, dtype=np.uint8), axis=1), rows


@pytest.mark.parametrize("name", SHAPES)
def test_the_audit_is_that_of_the_whole_channel(name):
    mechanism = built(name)
    _, rows = channel(mechanism)
    assert all(sum(row) == 1 for row in rows)
    worst = max(max(column) / min(column) for column in zip(*rows, strict=True))
    inside, outside = mechanism.law.weights(mechanism.include)
    assert worst == Fraction(inside, outside) <= exp_lower(1.5)
    assert mechanism.audit().holds
    assert mechanism.audit().true_epsilon == pytest.approx(1.5, abs=1e-12)
    more = Fraction(mechanism.include + 1, TOTAL)  # the next weight breaks the promise
    bound = 1 + more / (1 - more) * Fraction(mechanism.law.sets, mechanism.law.holding)
    assert bound > exp_lower(1.5)
    sets = mechanism.sets
    with pytest.raises(MechDesignError, match="not private as stated"):
        SetResponse(mechanism.attributes, 1.5, sets, mechanism.include + 1)


@pytest.mark.parametrize("name", SHAPES)
def test_reports_are_drawn_with_the_chances_of_the_channel(name):
    """A chi-square test for each of two answers; a correct program fails with probability 1e-6."""
    mechanism = built(name)
    reports, rows = channel(mechanism)
    keys = {bytes(row): place for place, row in enumerate(reports)}
    answers = list(product(*map(range, mechanism.attributes.sizes)))
    for answer in (0, len(answers) - 1):
        drawn = mechanism.randomize(np.array([answers[answer]] * 20_000), rng=4)
        counts = np.bincount([keys[bytes(row)] for row in drawn], minlength=len(reports))
        expected = 20_000 * np.array([float(chance) for chance in rows[answer]])
        assert stats.chisquare(counts, expected).pvalue > 1e-6


def tables_of(mechanism):
    count = mechanism.attributes.count
    if mechanism.joined:
        return [view for size in range(1, count + 1) for view in combinations(range(count), size)]
    return [(place,) for place in range(count)] + [view[::-1] for view in mechanism.tables]


@pytest.mark.parametrize("name", SHAPES)
def test_estimates_are_unbiased_with_the_variances_that_are_stated(name):
    """Over all reports of every answer, with the exact chances: mean, single variances, their sum."""
    mechanism = built(name)
    reports, rows = channel(mechanism)
    answers = list(product(*map(range, mechanism.attributes.sizes)))
    chances = np.array([[float(chance) for chance in row] for row in rows])
    rng = np.random.default_rng(2)
    population = rng.dirichlet(np.ones(len(answers)))
    for view in tables_of(mechanism):
        shape = mechanism.attributes.shape(view)
        scores = np.stack([mechanism.estimate(report[None]).table(view).value for report in reports])
        truth = np.zeros((len(answers), *shape))
        for place, answer in enumerate(answers):
            truth[(place, *(answer[i] for i in view))] = 1.0
        assert np.tensordot(chances, scores, 1) == pytest.approx(truth, abs=1e-9)
        shares = np.tensordot(population, truth, 1)
        second = np.tensordot(population @ chances, scores**2, 1)
        assert mechanism.variances(view, shares) == pytest.approx(second - shares**2)
        assert mechanism.variances(view, shares, population=False) == pytest.approx(second - shares)
        assert mechanism.total_variance(view, shares) == pytest.approx((second - shares**2).sum())
        assert mechanism.variances(view).sum() == pytest.approx(mechanism.total_variance(view))


@pytest.mark.parametrize("name", SHAPES)
def test_moments_of_scores_are_those_of_the_channel(name):
    mechanism = built(name)
    reports, rows = channel(mechanism)
    answers = list(product(*map(range, mechanism.attributes.sizes)))
    for view in tables_of(mechanism):
        score = mechanism.score(view)
        scores = np.array([mechanism.estimate(report[None]).table(view).value.flat[0] for report in reports])
        for answer, row in zip(answers, rows, strict=True):
            agree = tuple(answer[place] == 0 for place in view)
            pattern = agree if agree in score.patterns else (all(agree),)
            assert score.moments(pattern)[0] == (1 if all(agree) else 0)
            found = [float(np.dot(np.array(row, dtype=float), scores**power)) for power in (2, 3, 4)]
            assert [float(part) for part in score.moments(pattern)[1:]] == pytest.approx(found)


def test_a_product_of_single_values_is_the_k_ary_response_on_the_cells():
    mechanism, answers = SetResponse.of([2, 3, 4], 2.0, ProductSet([1, 1, 1])), 24
    share = (np.exp(2.0) - 1) / (np.exp(2.0) + answers - 1)
    for size in (1, 2, 3):
        for effect in combinations(range(3), size):
            assert float(mechanism.effective_share(effect)) == pytest.approx(share**2)


def test_effective_shares_are_the_closed_forms():
    """eta_S = rho^2 times the product of (k - d)/(d (k - 1)); and subset selection of one attribute."""
    epsilon, sizes, widths = 3.0, [4, 6, 2], [1, 2, 1]
    mechanism = SetResponse.of(sizes, epsilon, ProductSet(widths))
    t = prod(widths) / prod(sizes)
    rho = (np.exp(epsilon) - 1) * t / (1 + (np.exp(epsilon) - 1) * t)
    for size in (1, 2, 3):
        for effect in combinations(range(3), size):
            parts = [(sizes[j] - widths[j]) / (widths[j] * (sizes[j] - 1)) for j in effect]
            closed = rho**2 * prod(parts) if set(effect) <= {0, 1, 2} else 0
            score = mechanism._score(effect)
            assert float(score.effect(tuple(range(size)))) == pytest.approx(closed, rel=1e-12)
    alone = SetResponse.of([6], epsilon, ProductSet([2]))
    assert alone.variances([0])[0] == pytest.approx(
        SubsetSelection.of(6, epsilon, 2).variance(1 / 6) + 5 / 36
    )


def test_match_counts_beat_products_for_many_yes_no_questions():
    """50 of them at epsilon 8, 35 matches: 7.4072 effective questions in all, products 6.7843 (8 of them)."""
    excess = np.exp(8.0) - 1.0
    matches = SetResponse.of([2] * 50, 8.0, MatchSet([1] * 50, 35), tables=[])
    eight = SetResponse.of([2] * 8, 8.0, ProductSet([1] * 8), tables=[])
    assert 50 * float(matches.effective_share([0])) == pytest.approx(7.4072, abs=5e-5)
    assert 8 * float(eight.effective_share([0])) == pytest.approx(6.7843, abs=5e-5)
    t = sum(comb(50, hits) for hits in range(35, 51)) / 2**50
    rho = excess * t / (1 + excess * t)
    tilt = sum(comb(50, hits) * (2 * hits - 50) / 50 for hits in range(35, 51)) / 2**50
    assert float(matches.effective_share([3])) == pytest.approx((rho * tilt / t) ** 2, rel=1e-9)
    assert matches.audit().holds


def test_counts_are_how_many_reports_hold_each_cell():
    mechanism = SetResponse.of([3, 4, 2], 1.0, ProductSet([1, 2, 1]), tables=[(0, 1, 2), (1, 2)])
    reports = mechanism.randomize(np.random.default_rng(1).integers(0, 2, (500, 3)), rng=1)
    counts = mechanism.layout.count(reports)
    bits = np.unpackbits(reports, axis=1, count=9).astype(int)
    parts = np.split(bits, [3, 7], axis=1)
    for part in mechanism.layout.parts:
        letters = "abc"[: len(part)]
        held = np.einsum(
            ",".join(f"n{letter}" for letter in letters) + f"->{letters}", *(parts[i] for i in part)
        )
        assert counts[mechanism.layout.places[part]].tolist() == held.ravel().tolist()


def test_tables_in_any_order_and_by_name():
    mechanism = SetResponse.of([2, 3], 3.0, ProductSet([1, 1]), ["sex", "view"], [["f", "m"], None])
    estimate = mechanism.estimate(mechanism.randomize({"sex": ["f", "m"] * 500, "view": [2, 0] * 500}, rng=3))
    one, other = estimate.table(["sex", "view"]), estimate.table(["view", "sex"])
    assert one.value.T.tolist() == other.value.tolist()
    assert one.standard_error.T.tolist() == other.standard_error.tolist()
    assert other.cells.categories[:2] == ("0, f", "0, m")
    assert estimate.table(["view"]).value == pytest.approx(one.value.sum(axis=0))
    singles = [estimate.table([name]) for name in ("sex", "view")]
    assert estimate.as_json() == {"users": 1000, "tables": [table.as_json() for table in singles]}


@pytest.mark.parametrize("name", ["product", "matches", "cells"])
def test_intervals_cover(name):
    """200 surveys of 300 skewed users: coverage of cells at 95 %; below 0.92 by chance: 1 in 100 at most."""
    mechanism, inside, total = built(name, 3.0), 0, 0
    sizes = mechanism.attributes.sizes
    rng = np.random.default_rng(8)
    answers = np.stack([rng.binomial(k - 1, 0.2, 300) for k in sizes], axis=1)
    truth = np.zeros(sizes[:2])
    np.add.at(truth, (answers[:, 0], answers[:, 1]), 1 / 300)
    for survey in range(200):
        found = mechanism.estimate(mechanism.randomize(answers, rng=rng)).table([0, 1]).cells
        inside += int(reaches(found, truth.ravel(), 0.95).sum())
        assert survey % 50 or ends_are_where_the_reach_ends(found, 0.95)
        total += truth.size
    assert 0.93 < inside / total < 0.99


def test_what_is_refused():
    with pytest.raises(ParameterError, match="2 numbers for 3 attributes"):
        SetResponse.of([2, 3, 2], 1.0, ProductSet([1, 1]))
    with pytest.raises(ParameterError, match="attribute '1'"):
        SetResponse.of([2, 3], 1.0, ProductSet([1, 3]))
    with pytest.raises(ParameterError, match="matches"):
        SetResponse.of([2, 3], 1.0, MatchSet([1, 1], 3))
    with pytest.raises(ParameterError, match="cells"):
        SetResponse.of([300, 300], 1.0, CellSet(3))
    with pytest.raises(ParameterError, match="epsilon"):
        SetResponse.of([2, 3], 0.0, ProductSet([1, 1]))
    with pytest.raises(ParameterError, match="have in common"):
        SetResponse.of([2, 2, 2], 1.0, MatchSet([1, 1, 1], 2), tables=[(0, 1)])
    mechanism = SetResponse.of([2, 3, 2], 1.0, ProductSet([1, 1, 1]), tables=[(0, 1)])
    reports = mechanism.randomize([[0, 1, 1]] * 100, rng=1)
    with pytest.raises(ParameterError, match="is not counted"):
        mechanism.estimate(reports).table([1, 2])
    reports[7] = 0
    with pytest.raises(DataError, match=r"row 8.*holds 0 values of attribute 0, not 1"):
        mechanism.estimate(reports)
    saved = mechanism.aggregator().as_json()
    with pytest.raises(DataError, match="damaged"):
        type(mechanism.aggregator()).from_json(mechanism, {**saved, "users": 3})


def test_from_a_model_to_a_cross_table_in_the_shell(tmp_path, capsys):
    model, built_file = tmp_path / "m.toml", tmp_path / "m.json"
    model.write_text(
        '[model]\ntitle = "two"\nproblem = "marginal-views"\n[parameters]\nattributes = [2, 3]\n'
        'names = ["sex", "view"]\nlabels = [["f", "m"], ["a", "b", "c"]]\nusers = 4000\nepsilon = 6.0\n'
        'workload = [["sex", "view"]]\n'
    )
    people, reports = tmp_path / "people.csv", tmp_path / "reports.csv"
    people.write_text("sex,view\n" + "f,c\nm,a\n" * 2000)
    assert main(["build", str(model), "--method", "product-subset", "-o", str(built_file)]) == 0
    assert main(["randomize", str(built_file), str(people), "-o", str(reports), "--seed", "1"]) == 0
    capsys.readouterr()
    assert main(["estimate", str(built_file), str(reports), "--marginal", "view,sex", "--json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert table["attributes"] == ["view", "sex"]
    shares = dict(zip(table["categories"], table["value"], strict=True))
    assert abs(shares["c, f"] - 0.5) < 0.05
    assert abs(shares["b, f"]) < 0.05
    assert main(["estimate", str(built_file), str(people)]) == 2
