"""Weekly reports: exact laws by enumeration, the theorem, the search, draws, state and estimates.

Statistical tests have fixed seeds; a correct program would fail one with a probability below 1e-6.
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations
from math import comb, sqrt

import numpy as np
import pytest
from scipy import stats

import mechdesign as md
from mechdesign.cli import main
from mechdesign.collect.base import load_mechanism
from mechdesign.core.errors import DataError, MechDesignError, MethodError, ModelFileError, ParameterError
from mechdesign.exact.randomness import TOTAL, bit_source, exp_lower, exp_written
from mechdesign.families.marginals.weekly import weekly_variances
from mechdesign.families.marginals.weekly_methods import run_program, run_search, theorem_applies
from mechdesign.families.marginals.weeks.cells import BinCells, BucketCells
from mechdesign.families.marginals.weeks.device import PermanentSets
from mechdesign.families.marginals.weeks.law import WeeklyLaw
from mechdesign.families.marginals.weeks.response import WeeklyResponse

SHAPES = [(2, 1, 1), (4, 1, 2), (5, 2, 1), (5, 2, 2), (5, 3, 4), (6, 2, 4)]
"""AnswerCells, and sizes of permanent and weekly sets: smaller, equal and larger weekly ones."""


def channels(law):
    """Return A(x, S) and B(S, S') as fractions: from the text of the module and not from its formulas."""
    k, p, near = law.cells, Fraction(law.include, TOTAL), Fraction(law.near, TOTAL)
    kept = list(combinations(range(k), law.size))
    weekly = list(combinations(range(k), law.week_size))
    first = [
        [p / comb(k - 1, law.size - 1) if x in s else (1 - p) / comb(k - 1, law.size) for s in kept]
        for x in range(k)
    ]
    second = []
    for s in kept:
        common = [len(set(s) & set(t)) for t in weekly]
        nearest = common.count(max(common))
        second.append(
            [(1 - near) / len(weekly) + (near / nearest if c == max(common) else 0) for c in common]
        )
    return first, second, kept, weekly


def law_of(shape, every=2.0, week=1.0):
    return WeeklyLaw.of(*shape, exp_written(every), exp_written(week))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_week_is_exactly_the_product_of_the_two_channels(shape):
    law = law_of(shape)
    first, second, _, weekly = channels(law)
    product = [
        [sum(a * row[t] for a, row in zip(line, second, strict=True)) for t in range(len(weekly))]
        for line in first
    ]
    assert all(sum(line) == 1 for line in product)
    ratio = max(a[t] / b[t] for a in product for b in product for t in range(len(weekly)))
    assert ratio == law.week_ratio()
    assert law.week_ratio() <= exp_lower(1.0)
    assert max(a / b for a, b in zip(first[0], first[1], strict=True)) == law.ratio() <= exp_lower(2.0)
    assert sum(q for q, t in zip(product[0], weekly, strict=True) if 0 in t) == law.own
    assert sum(q for q, t in zip(product[0], weekly, strict=True) if 1 in t) == law.other


@pytest.mark.parametrize("shape", SHAPES)
def test_the_variance_of_many_weeks_splits_as_the_theorem_says(shape):
    """By enumeration: the variance of the mean of T scores, of users without and with the answer."""
    law = law_of(shape)
    first, second, _, weekly = channels(law)
    scores = [((1 if 0 in t else 0) - law.other) / (law.own - law.other) for t in weekly]
    means = [sum(b * s for b, s in zip(row, scores, strict=True)) for row in second]
    squares = [sum(b * s * s for b, s in zip(row, scores, strict=True)) for row in second]
    response = WeeklyResponse.of(law.cells, 2.0, 1.0, law.size, law.week_size, weeks=9)
    for line, own in ((first[1], False), (first[0], True)):
        mean = sum(a * m for a, m in zip(line, means, strict=True))
        assert mean == own  # unbiased
        for weeks in (1, 2, 7):
            within = sum(a * (q - m * m) for a, q, m in zip(line, squares, means, strict=True))
            between = sum(a * m * m for a, m in zip(line, means, strict=True)) - mean**2
            exact = between + within / weeks
            assert response.scores_of(weeks).moments(own)[0] - (1 if own else 0) == exact
            if not own:
                assert exact == law.variance(weeks)


def test_the_fourth_moments_of_two_weeks_are_those_of_all_pairs_of_sets():
    law = law_of((4, 1, 2))
    first, second, _, weekly = channels(law)
    scores = [((1 if 0 in t else 0) - law.other) / (law.own - law.other) for t in weekly]
    response = WeeklyResponse.of(4, 2.0, 1.0, 1, 2, weeks=2)
    for line, own in ((first[1], False), (first[0], True)):
        for place, order in enumerate((2, 3, 4)):
            exact = sum(
                a * b * c * ((s + t) / 2) ** order
                for a, row in zip(line, second, strict=True)
                for b, s in zip(row, scores, strict=True)
                for c, t in zip(row, scores, strict=True)
            )
            assert response.scores_of(2).moments(own)[place] == exact


TABLE = [
    (2, 2, 1, 0.9207, 0.1810),
    (5, 4, 2, 0.2545, 0.0200),
    (20, 4, 2, 0.5490, 0.0253),
    (1000, 4, 2, 0.7206, 0.0739),
]


@pytest.mark.parametrize(("k", "every", "week", "one", "last"), TABLE)
def test_both_ends_are_those_of_the_best_single_reports(k, every, week, one, last):
    problem = md.Weekly(categories=k, epsilon_all=every, epsilon_week=week, weeks=26)
    solution = md.solve(problem)
    assert solution.method == "theorem"
    assert solution.status == "optimal"
    mechanism = solution.mechanism()
    assert float(mechanism.law_variance(1)) == pytest.approx(one, abs=5e-5)
    assert float(mechanism.law_variance(None)) == pytest.approx(last, abs=5e-5)
    assert float(mechanism.law_variance(26)) == pytest.approx(solution.bound, rel=1e-9)
    assert all(certificate.holds for certificate in solution.certificates)
    for epsilon, weeks in ((every, None), (week, 1)):  # against the problem of single reports
        single = md.solve(md.FrequencyOracle(categories=k, epsilon=float(epsilon), max_excess=0))
        assert float(mechanism.law_variance(weeks)) == pytest.approx(single.value, rel=1e-9)


FAILS = {(10, 2, 1.5), (100, 4, 2), (100, 4, 3), (100, 4, 3.5), (1000, 6, 3)}


def test_the_condition_holds_where_it_is_said_to():
    pairs = ((2, 1), (2, 1.5), (4, 2), (4, 3), (4, 3.5), (1, 0.5), (6, 3))
    for k in (2, 3, 5, 10, 20, 100, 1000):
        for every, week in pairs:
            problem = md.Weekly(categories=k, epsilon_all=every, epsilon_week=week, weeks=10)
            assert theorem_applies(problem) == ((k, every, week) not in FAILS)


@pytest.mark.parametrize(("k", "every", "week"), sorted(FAILS - {(1000, 6, 3)}))
@pytest.mark.parametrize("weeks", [2, 52])
def test_the_search_is_no_worse_than_any_pair_of_sizes(k, every, week, weeks):
    problem = md.Weekly(categories=k, epsilon_all=every, epsilon_week=week, weeks=weeks)
    solution = md.solve(problem)
    assert solution.method == "search"
    best = np.inf
    for size in range(1, k):
        last, one = weekly_variances(k, float(every), float(week), size, np.arange(1, k))
        best = min(best, float(problem.mean_of(last, one).min()))
    assert solution.value == best
    assert solution.bound <= solution.value <= 1.04 * solution.bound
    figures = next(c for c in solution.certificates if c.property == "both_ends").figures
    excess = figures["permanent_gap"] * (1 - 1 / weeks) + figures["weekly_gap"] / weeks
    assert excess == pytest.approx(solution.value - solution.bound, rel=1e-6)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize(("every", "week"), [(2.0, 1.0), (4.0, 3.5), (1.0, 0.5)])
def test_a_program_over_all_rules_of_weekly_reports_finds_the_same(k, every, week):
    problem = md.Weekly(categories=k, epsilon_all=every, epsilon_week=week, weeks=10)
    program, search = run_program(problem), run_search(problem)
    assert program.notes["program_value"] == pytest.approx(problem.objective(search.variables), rel=1e-9)
    assert problem.lower_bound() <= program.notes["program_value"] * (1 + 1e-9)


@pytest.mark.parametrize("shape", [(5, 2, 1), (5, 2, 2), (5, 2, 3), (4, 1, 2)])
def test_sets_are_drawn_with_the_probabilities_of_the_audit(shape):
    law = law_of(shape)
    first, second, kept, weekly = channels(law)
    users = 60_000
    permanent = law.draw_permanent(np.zeros(users, dtype=np.int64), bit_source(1))
    reports = law.draw_weekly(permanent, bit_source(2))

    def numbers(packed, sets):
        member = np.unpackbits(packed, axis=1, count=law.cells)
        index = {s: place for place, s in enumerate(sets)}
        return np.array([index[tuple(np.flatnonzero(row))] for row in member.tolist()])

    joint = np.zeros((len(kept), len(weekly)))
    np.add.at(joint, (numbers(permanent, kept), numbers(reports, weekly)), 1)
    chances = np.array([[float(a * b) for b in row] for a, row in zip(first[0], second, strict=True)])
    assert stats.chisquare(joint.ravel(), users * chances.ravel()).pvalue > 1e-6


KINDS = {
    "answers": {"permanent_size": 2, "weekly_size": 3, "distinct": 3},
    "hashed": {"permanent_size": 1, "weekly_size": 1, "distinct": 9, "kind": "hashed", "cells": 3},
    "bins": {"permanent_size": 2, "weekly_size": 1, "distinct": 9, "kind": "bins", "cells": 4},
}


@pytest.mark.parametrize("name", KINDS)
def test_changing_answers_are_estimated_without_bias_and_with_the_stated_variance(name):
    mechanism = WeeklyResponse.of(9, 9.0, 1.5, weeks=4, **KINDS[name])
    assert mechanism.audit().holds
    users = 20_000
    answers = np.repeat([0, 3, 8], [12_000, 6000, 2000])
    shares = np.bincount(answers, minlength=9) / users
    estimate = mechanism.estimate(mechanism.randomize(answers, rng=4))
    assert np.abs((estimate.value - shares) / estimate.standard_error).max() < 5.5
    assert estimate.standard_error[5] == pytest.approx(sqrt(mechanism.variance(0.0) / users), rel=0.3)
    memory = mechanism.remember(answers, rng=5)
    weeks = [memory.report(answers, rng=week) for week in range(3)]
    over = mechanism.estimate_weeks(weeks)
    assert np.abs((over.value - shares) / over.standard_error).max() < 5.5
    rare = sqrt(mechanism.variance(0.0, weeks=3) / users)
    assert over.standard_error[5] == pytest.approx(rare, rel=0.1)


@pytest.mark.parametrize("name", KINDS)
def test_intervals_of_many_weeks_and_of_a_change_cover(name):
    """Of 9 answers in 20 collections each; 95 % intervals may not cover less than 90 %."""
    mechanism = WeeklyResponse.of(9, 9.0, 1.5, weeks=9, **KINDS[name])
    rng, users = np.random.default_rng(3), 400
    before = np.repeat([0, 3, 8], [250, 100, 50])
    after = before.copy()
    after[:40] = 3
    truth = (np.bincount(after, minlength=9) - np.bincount(before, minlength=9)) / users
    mean = (np.bincount(after, minlength=9) + np.bincount(before, minlength=9)) / users / 2
    inside = np.zeros(2)
    for _ in range(20):
        memory = mechanism.remember(before, rng=rng)
        first, second = memory.report(before, rng=rng), memory.report(after, rng=rng)
        for place, (estimate, exact) in enumerate(
            [
                (mechanism.estimate_change(first, second), truth),
                (mechanism.estimate_weeks([first, second]), mean),
            ]
        ):
            low, high = estimate.interval()
            inside[place] += ((low <= exact) & (exact <= high)).sum()
    assert (inside / (20 * 9) > 0.90).all()


def test_users_who_do_not_change_have_permanent_noise_in_common():
    """The change of nobody has only the weekly noise, much less than that of two weeks apart."""
    mechanism = WeeklyResponse.of(4, 2.0, 0.9, 1, 1, weeks=2, distinct=2)
    answers = np.arange(8000) % 4
    memory = mechanism.remember(answers, rng=1)
    first, second = (memory.report(answers, rng=week) for week in (1, 2))
    change = mechanism.estimate_change(first, second)
    last, one = (float(mechanism.law_variance(weeks)) for weeks in (None, 1))
    assert change.standard_error.max() < sqrt(2.4 * (one - last) / 8000)
    assert np.abs(change.value / change.standard_error).max() < 5.0


def test_one_week_of_unchanging_answers_has_intervals_that_cover_over_all_weeks():
    mechanism = WeeklyResponse.of(3, 3.0, 1.0, 1, 1, weeks=6)
    rng, answers = np.random.default_rng(8), np.repeat([0, 1, 2], [300, 99, 1])
    shares, inside = np.array([0.75, 0.2475, 0.0025]), 0
    for _ in range(50):
        memory = mechanism.remember(answers, rng=rng)
        low, high = mechanism.estimate_weeks([memory.report(rng=rng) for _ in range(6)]).interval()
        inside += int(((low <= shares) & (shares <= high)).sum())
    assert inside / 150 > 0.88


def test_what_a_device_keeps_is_the_set_and_not_the_answer(tmp_path):
    mechanism = WeeklyResponse.of(3, 1.0, 0.5, 1, 1, weeks=2, labels=["good", "fair", "bad"])
    path = tmp_path / "state.json"
    memory = mechanism.remember(["good"] * 40, rng=1)
    memory.save(path)
    text = path.read_text()
    assert not {"good", "fair", "bad"} & set(text.replace('"', " ").split())
    entries = json.loads(text)["reports"].values()
    assert {tuple(entry["sets"]) for entry in entries} == {("0",)}
    assert len({entry["sets"]["0"] for entry in entries}) > 1  # sets differ: they are not the answer
    again = PermanentSets.load(mechanism, path)
    first, second = again.report(rng=1), again.report(rng=2)
    assert (first != second).any()
    with pytest.raises(MethodError, match=r"state\.json: weeks: user '0' has reported in all 2 weeks"):
        PermanentSets.load(mechanism, path).report()


def test_sets_of_all_cells_do_not_tell_which_were_used():
    mechanism = WeeklyResponse.of(9, 9.0, 1.5, weeks=4, **KINDS["hashed"])
    memory = mechanism.remember([2] * 5, rng=1)
    before = [dict(memory.entry(user)) for user in memory.users]
    memory.report([7] * 5, rng=1)
    for user, entry in zip(memory.users, before, strict=True):
        assert memory.entry(user) == {**entry, "weeks": 1}
        assert len(entry["sets"]) == 3


def test_a_second_week_uses_the_same_set_of_the_same_answer():
    mechanism = WeeklyResponse.of(6, 8.0, 3.9, 1, 1, weeks=50, distinct=2)
    memory = mechanism.remember([0, 1], rng=1)
    kept = {user: dict(memory.entry(user)["sets"]) for user in memory.users}
    memory.report([5, 1], rng=2)
    assert memory.entry("0")["sets"].items() >= kept["0"].items()
    assert set(memory.entry("0")["sets"]) == {"0", "5"}
    with pytest.raises(MethodError, match="user '0' has more than 2 different answers"):
        memory.report([3, 1], rng=3)
    assert (memory.weeks_of(0), memory.weeks_of(1)) == (1, 1)  # nothing was counted for anybody


def damaged(document, user, **parts):
    document["reports"][user] |= parts
    return document


@pytest.mark.parametrize(
    "parts",
    [
        {"weeks": -1},
        {"weeks": "1"},
        {"sets": {}},
        {"sets": {"0": "xc0"}},
        {"sets": {"7": "x80"}},
        {"front": "x00"},
    ],
)
def test_a_damaged_state_is_refused_in_one_line(tmp_path, parts):
    mechanism = WeeklyResponse.of(3, 4.0, 2.0, 1, 1, weeks=2)
    path = tmp_path / "state.json"
    mechanism.remember([0], rng=1).save(path)
    document = json.loads(path.read_text())
    document.pop("sha256")
    with pytest.raises(MechDesignError):
        PermanentSets(mechanism, damaged(document, "0", **parts)["reports"])
    path.write_text(path.read_text().replace('"weeks": 0', '"weeks": 9'))
    with pytest.raises(ModelFileError, match="is damaged"):
        PermanentSets.load(mechanism, path)


def test_a_state_of_another_survey_is_refused(tmp_path):
    mechanism = WeeklyResponse.of(3, 4.0, 2.0, 1, 1, weeks=2).described("Mood", id="mood-26")
    mechanism.remember([0], rng=1).save(tmp_path / "state.json")
    with pytest.raises(DataError, match=r"belongs to the survey 'Mood' \(id mood-26\)"):
        PermanentSets.load(mechanism.described("Mood", id="mood-27"), tmp_path / "state.json")


def test_files_keep_the_mechanism_and_an_altered_weight_is_refused(tmp_path):
    mechanism = WeeklyResponse.of(9, 9.0, 1.5, weeks=4, **KINDS["bins"])
    mechanism.save(tmp_path / "m.json")
    assert load_mechanism(tmp_path / "m.json") == mechanism
    content = WeeklyResponse.of(3, 4.0, 2.0, 1, 1, weeks=4).content()
    for name in ("include", "near"):
        with pytest.raises(MechDesignError, match="not private as stated"):
            WeeklyResponse.from_content({**content, name: min(TOTAL - 1, content[name] + (1 << 40))})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon_week": 5.0}, "epsilon_week: 5 for one week is more than the 4 for all weeks"),
        ({"distinct": 6}, "distinct: 6 different answers of 5"),
        ({"weeks": 0}, "weeks: 0 is not"),
        ({"categories": 1}, "categories: 1 is not"),
        ({"labels": ["a", "b"]}, "labels: 2 names for 5 categories"),
        ({"epsilon_all": float("nan")}, "epsilon_all"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ParameterError, match=message):
        md.Weekly(**{"categories": 5, "epsilon_all": 4.0, "epsilon_week": 2.0, **parameters})


def test_without_epsilon_there_is_no_report():
    problem = md.Weekly(categories=3, epsilon_all=0.0, epsilon_week=0.0)
    assert md.solve(problem).status == "infeasible"


@pytest.mark.parametrize("cells", [BucketCells(30, 4), BinCells(30, 6)])
def test_what_is_drawn_once_is_read_back_and_other_bytes_are_refused(cells):
    front = cells.draw(500, bit_source(1))
    cells.require_front(front)
    codes = np.arange(500) % 30
    of = cells.of(front, codes)
    assert ((of >= 0) & (of < cells.count)).all()
    assert (cells._cells(front, np.arange(30))[np.arange(500), codes] == of).all()
    with pytest.raises(DataError):
        cells.require_front(np.full_like(front, 255))


def test_the_bins_of_users_are_uniform():
    named = np.unpackbits(BinCells(10, 3).draw(30_000, bit_source(2)), axis=1, count=10)
    assert (named.sum(axis=1) == 3).all()
    assert np.abs(named.mean(axis=0) - 0.3).max() < 5.5 * sqrt(0.21 / 30_000)


def test_weeks_of_different_people_are_refused():
    mechanism = WeeklyResponse.of(3, 4.0, 2.0, 1, 1, weeks=2)
    with pytest.raises(DataError, match="week 2 has 1 user, the first 2"):
        mechanism.estimate_weeks([["x80", "x40"], ["x80"]])
    with pytest.raises(DataError, match="3 weeks, and 2 were planned"):
        mechanism.estimate_weeks([["x80"]] * 3)
    with pytest.raises(ParameterError, match="answers cannot change"):
        mechanism.estimate_change(["x80"], ["x80"])
    with pytest.raises(DataError, match="a set of 2 cells, not of 1"):
        mechanism.estimate(["xc0"])


def test_more_answers_leave_less_for_each_until_buckets_limit_them():
    values = [
        md.solve(md.Weekly(categories=40, epsilon_all=6.0, epsilon_week=1.0, weeks=26, distinct=c)).value
        for c in (2, 3, 5, 40)
    ]
    assert values[0] < values[1] < values[2] == values[3]


@pytest.mark.parametrize("name", KINDS)
def test_scores_of_reports_average_to_the_estimate_and_likelihoods_to_one(name):
    """E[P(r | j)/P(r | i) | i] = 1 for all answers i, j: the likelihoods are those of the whole report."""
    mechanism = WeeklyResponse.of(9, 9.0, 1.5, weeks=4, **KINDS[name])
    reports = mechanism.randomize(np.full(40_000, 3), rng=6)
    scores, likelihood = mechanism.report_tables(mechanism.read(reports))
    assert np.allclose(scores.mean(axis=0), mechanism.estimate(reports).value, atol=1e-12)
    ratios = likelihood / likelihood[:, [3]]
    errors = ratios.std(axis=0) / sqrt(len(ratios)) + 1e-12
    assert (np.abs(ratios.mean(axis=0) - 1.0) < 5.5 * errors).all()


def test_the_commands_remember_estimate_and_refuse_in_one_line(tmp_path, capsys, monkeypatch):

    monkeypatch.chdir(tmp_path)
    WeeklyResponse.of(3, 4.0, 2.0, 1, 1, weeks=2, labels=["good", "fair", "bad"]).save("m.json")
    people = "".join(f"u{number},{('good', 'bad')[number % 2]}\n" for number in range(40))
    (tmp_path / "people.csv").write_text("user,mood\n" + people)
    line = ["run", "m.json", "remember", "people.csv", "--state", "kept.json", "--key", "user", "-o"]
    assert [main([*line, f"week{week}.csv"]) for week in (1, 2, 3)] == [0, 0, 2]
    said = capsys.readouterr()
    assert "40 users remembered from before" in said.out
    assert "kept.json: weeks: user 'u0' has reported in all 2 weeks" in said.err
    assert not (tmp_path / "week3.csv").exists()
    assert (tmp_path / "kept.json").stat().st_mode & 0o077 == 0
    assert main(["run", "m.json", "weeks", "week1.csv", "week2.csv"]) == 0
    wrong = {
        ("--state", "kept.csv", "--key", "user"): "named like a table",
        ("--state", "kept.json"): "--key: is missing",
        ("--key", "user"): "--state: is missing",
        ("--state", "kept.json", "--key", "name"): "no column 'name'",
        ("--state", "m.json", "--key", "user"): "m.json: holds no weekly reports",
    }
    for options, message in wrong.items():
        assert main(["run", "m.json", "remember", "people.csv", *options, "-o", "x.csv"]) == 2
        said = capsys.readouterr().err
        assert message in said
        assert said.count("\n") == 1
    assert main(["run", "m.json", "change", "week1.csv", "week2.csv"]) == 2
    assert "answers cannot change; build with distinct = 2 or more" in capsys.readouterr().err


EDGES = [0.0, 10.0, 20.0, 30.0, 50.0, 100.0]
CELLS = [
    {"distinct": 1},
    {"distinct": 5, "kind": "hashed", "cells": 2},
    {"distinct": 5, "kind": "bins", "cells": 2},
]


@pytest.mark.parametrize("cells", CELLS, ids=["answers", "buckets", "named bins"])
def test_sums_of_bins_have_the_sample_variance_of_each_users_own_sum(cells):
    """The counts of pairs against the sums of each user, formed one by one."""
    mechanism = WeeklyResponse.of(5, 4.0, 1.0, 1, 1, weeks=4, edges=EDGES, **cells)
    numbers = np.random.default_rng(3).uniform(0.0, 100.0, 500)
    reports = mechanism.randomize(numbers, rng=1)
    scores, _ = mechanism.report_tables(mechanism.read(reports))
    own = np.column_stack([scores @ EDGES[:-1], scores @ EDGES[1:], np.cumsum(scores, axis=1)[:, :-1]])
    estimate = mechanism.estimate(reports)
    assert estimate.mean.value == pytest.approx(own[:, :2].mean(), rel=1e-9)
    errors = own.std(axis=0, ddof=1) / np.sqrt(500)
    assert estimate.mean.standard_error == pytest.approx(errors[:2].max(), rel=1e-9)
    halves = mechanism.aggregator(), mechanism.aggregator()
    halves[0].update(reports[:200])
    halves[1].update(reports[200:])
    halves[0].merge(halves[1])
    assert halves[0].estimate().mean == estimate.mean


def test_numbers_are_in_the_bin_above_their_edge_and_in_the_same_one_everywhere():
    codec = WeeklyResponse.of(5, 4.0, 1.0, 1, 1, weeks=4, edges=EDGES).codec
    assert codec.codes([0, 9.999999, 10, 29.9, 30, 50, 100]).tolist() == [0, 0, 1, 2, 3, 4, 4]
    assert codec.codes([-5, 200], clip=True).tolist() == [0, 4]


def test_the_mean_is_covered_wherever_numbers_are_in_their_bins():
    """All numbers at the lower ends: 95 % one-sided; 30 rounds, below 24 with a probability below 1e-4."""
    mechanism = WeeklyResponse.of(5, 4.0, 2.0, 1, 1, weeks=3, edges=EDGES)
    random, covered = np.random.default_rng(5), 0
    for _ in range(30):
        numbers = np.array(EDGES[:-1])[random.integers(0, 5, 300)]
        memory = mechanism.remember(numbers, rng=int(random.integers(1 << 30)))
        weeks = [memory.report(rng=int(random.integers(1 << 30))) for _ in range(2)]
        low, high = mechanism.estimate_weeks(weeks).mean.interval(0.9)
        covered += low <= numbers.mean() <= high
    assert covered >= 24


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"edges": [0]}, r"edges: \[0\] are not 2 or more increasing numbers"),
        ({"edges": [0, 0, 1]}, "increasing numbers"),
        ({"edges": [0, 9]}, "categories: is missing; write categories = 10"),
        ({"edges": [0, 1, 2], "categories": 4}, "3 of them for 4 bins; give 5"),
        ({"edges": [0, 9], "categories": 129}, "129 bins are too many; give at most 128"),
        ({"edges": [0, 9], "labels": ["a", "b"]}, "edges: are given with labels"),
    ],
)
def test_edges_that_are_none_are_one_line(fields, fault):
    with pytest.raises(ParameterError, match=fault) as caught:
        md.solve(md.Weekly(epsilon_all=4.0, epsilon_week=1.0, **fields)).mechanism()
    assert "\n" not in str(caught.value)


def test_a_folder_is_one_week_and_weeks_may_be_alike(tmp_path, monkeypatch, capsys):
    """Permanent sets that are sent as they are make files alike, which are two weeks all the same."""
    monkeypatch.chdir(tmp_path)
    WeeklyResponse.of(3, 2.0, 2.0, 1, 1, weeks=3).save("m.json")
    mechanism = load_mechanism("m.json")
    memory = mechanism.remember(np.arange(60) % 3, rng=1)
    column = mechanism.recipe().columns[0]
    texts = [f"{text}\n" for text in memory.report(rng=2).tolist()]
    for name, part in (
        ("first/a", texts[:20]),
        ("first/b", texts[20:]),
        ("second", texts),
        ("third/a", texts[:59]),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.csv").write_text("".join([f"{column}\n", *part]))
    assert main(["run", "m.json", "weeks", "first", "second.csv"]) == 0
    first = capsys.readouterr().out
    assert first == str(mechanism.estimate_weeks([texts_of(texts)] * 2)) + "\n"
    assert main(["run", "m.json", "weeks", "first", "third"]) != 0
    assert "week 2 has 59 users, the first 60" in capsys.readouterr().err
    (tmp_path / "first" / "b.csv").write_text("other\n1\n")
    assert main(["run", "m.json", "weeks", "first", "second.csv"]) != 0
    assert "first/b.csv: has other columns than first/a.csv" in capsys.readouterr().err


def texts_of(lines):
    return [line.strip() for line in lines]
