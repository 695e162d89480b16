"""What no private mechanism can do better: all sets, any channel by a semidefinite program, two bounds."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import MechDesignError, MethodError, ParameterError
from mechdesign.families.marginals.sets.products import share_in
from mechdesign.families.survey import limit_bounds as entropy, limit_bounds as proofs
from mechdesign.families.survey.limit_bounds import kind_information
from mechdesign.families.survey.limit_columns import classes_of

SMALL = [
    *(([2, 2], 1.0, 9.3654), ([2, 2], 2.0, 2.6441), ([2, 2], 4.0, 1.1548), ([2, 2, 2], 2.0, 3.9662)),
    *(([2, 2, 2], 4.0, 1.3208), ([2, 2, 2, 2], 4.0, 1.6861), ([2, 2, 2, 2], 6.0, 1.0811)),
    *(([2, 3], 2.0, 3.7429), ([3, 3], 3.0, 2.1655), ([4, 4], 4.0, 1.6861), ([2, 2, 4], 2.0, 5.1370)),
    ([2, 3, 3], 4.0, 1.7844),
]


@pytest.mark.parametrize(("questions", "epsilon", "value"), SMALL)
def test_all_sets_of_small_surveys(questions, epsilon, value):
    """The limit is found with its proof, products of subsets attain it, and both quick bounds are below."""
    problem = md.SurveyLimit(questions=questions, epsilon=epsilon)
    exact = md.solve(problem)
    assert exact.method == "subsets"
    assert exact.value == pytest.approx(value, abs=6e-5)
    assert exact.bound * (1 - 1e-14) <= exact.value <= exact.bound * (1 + 1e-8)
    assert all(item.holds for item in exact.certificates)
    products = md.solve(problem, "product-sets")
    assert products.value == pytest.approx(exact.value, rel=1e-7)
    assert 0.6 * exact.value < products.bound <= exact.value
    assert md.solve(problem, "one-question").value >= exact.value * (1 - 1e-9)


@pytest.mark.parametrize("questions", [(2, 2), (2, 3), (2, 2, 2)])
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_a_semidefinite_program_over_all_channels_finds_the_same(questions, epsilon):
    """All two-valued reports with free weights, each answer's chances summing to 1, and no symmetry used.

    Every private report is a sum of such ones. The least trace of C F^-1 over the Fisher information F.
    """
    cvxpy = pytest.importorskip("cvxpy")
    answers = list(product(*map(range, questions)))
    count = len(answers)
    sets = np.array(list(product((0, 1), repeat=count))[1:-1], dtype=float)
    likelihoods = 1.0 + sets * math.expm1(epsilon)
    basis = np.linalg.svd(np.ones((1, count)))[2][1:].T  # directions of the population, with the sum 0
    weights = cvxpy.Variable(len(sets), nonneg=True)
    scaled = likelihoods / np.sqrt(likelihoods.mean(axis=1))[:, None] @ basis
    # report i has the chance w_i l_i(x) for x, and the information w_i (l_i l_i') / mean(l_i)
    matrix = cvxpy.Constant(0)
    for row, weight in zip(scaled, range(len(sets)), strict=True):
        matrix = matrix + weights[weight] * np.outer(row, row)
    tables = []
    for place, size in enumerate(questions):
        cells = np.array([[float(answer[place] == cell) for answer in answers] for cell in range(size)])
        tables.append(cells @ basis * math.sqrt(size / (size - 1) / len(questions)))
    wanted = np.concatenate(tables)
    error = sum(cvxpy.matrix_frac(row, matrix) for row in wanted)
    program = cvxpy.Problem(cvxpy.Minimize(error), [weights @ likelihoods == 1.0])
    program.solve(solver="CLARABEL")
    exact = md.solve(md.SurveyLimit(questions=questions, epsilon=epsilon))
    assert exact.value == pytest.approx(program.value, rel=2e-4)


def test_classes_are_the_projections_of_all_sets():
    """Each set's numbers against the projections of its indicator by averaging; a table of two questions."""
    problem = md.SurveyLimit(questions=[2, 3], epsilon=1.5, tables=[[0, 1], [1]])
    classes = classes_of(problem.effects)
    table = classes.information(problem.effects, 1.5)
    for number, row in zip(classes.numbers.tolist(), table, strict=True):
        answers = [place for place in range(6) if number >> place & 1]
        assert row == pytest.approx(kind_information(problem.effects, 1.5, {"answers": answers}), abs=1e-12)
    rows = {tuple(row) for row in np.column_stack([classes.sizes, classes.norms]).tolist()}
    assert len(rows) == len(classes.sizes)
    found = 0.0
    for number in range(1, 63):
        answers = [place for place in range(6) if number >> place & 1]
        found = max(found, float(kind_information(problem.effects, 1.5, {"answers": answers})[0]))
    assert found == pytest.approx(table[:, 0].max())


def test_shapes_of_sets_are_the_sets_they_stand_for():
    problem = md.SurveyLimit(questions=[2, 3, 2], epsilon=2.0, tables=[[0, 1], [1, 2], [0, 2]])
    answers = list(product(range(2), range(3), range(2)))
    shapes = {
        "product": ({"widths": [1, 2, 2]}, lambda x: x[0] == 0 and x[1] < 2),
        "matches": (
            {"widths": [1, 2, 1], "matches": 2},
            lambda x: (x[0] == 0) + (x[1] < 2) + (x[2] == 0) > 1,
        ),
        "fewer asked": ({"widths": [1, 3, 1], "matches": 1}, lambda x: x[0] == 0 or x[2] == 0),
    }
    for column, holds in shapes.values():
        named = [place for place, answer in enumerate(answers) if holds(answer)]
        expected = kind_information(problem.effects, 2.0, {"answers": named})
        assert kind_information(problem.effects, 2.0, column) == pytest.approx(expected)
    whole = kind_information(problem.effects, 2.0, {"questions": [0, 1, 2], "cells": 4})
    drawn = [
        kind_information(
            problem.effects, 2.0, {"answers": np.random.default_rng(seed).permutation(12)[:4].tolist()}
        )
        for seed in range(4000)
    ]
    assert whole == pytest.approx(np.mean(drawn, axis=0), rel=0.05)


def test_total_information_is_the_closed_form_and_is_attained():
    """A question of k = 2 (e^epsilon + 1) answers: subset selection of size 2 meets the bound."""
    epsilon, weights = math.log(3.0), [1.0, 1.0, 2.0]
    sizes = [4, 8, 12]
    tables = [{"questions": [place], "weight": weight} for place, weight in enumerate(weights)]
    problem = md.SurveyLimit(questions=sizes, epsilon=epsilon, tables=tables, measure="squared")
    solution = md.solve(problem, "one-question")
    closed = sum((k - 1) * math.sqrt(w / 4 / k) for k, w in zip(sizes, weights, strict=True)) ** 2
    closed /= math.sinh(epsilon / 2) ** 2
    assert solution.bound == pytest.approx(closed, rel=1e-9)
    assert solution.value == pytest.approx(closed, rel=1e-9)
    assert solution.status == "optimal"


IDENTICAL = [
    *((2, 10, 1.0, 0.2136, 0.2703), (2, 10, 2.0, 0.7564, 1.0057), (2, 10, 4.0, 2.3723, 3.0378)),
    *((2, 10, 8.0, 6.7843, 7.4891), (2, 50, 4.0, 2.3723, 3.2766), (2, 50, 8.0, 7.4072, 9.0774)),
    *((5, 50, 1.0, 0.0654, 0.0681), (5, 50, 2.0, 0.3147, 0.3293), (5, 50, 4.0, 0.9300, 1.1259)),
    *((10, 10, 4.0, 0.7102, 0.7483), (16, 8, 4.0, 0.5931, 0.6039), (16, 8, 8.0, 1.6961, 1.7337)),
]


@pytest.mark.parametrize(("size", "count", "epsilon", "told", "most"), IDENTICAL)
def test_many_identical_questions(size, count, epsilon, told, most):
    """The total effective share of the mixture, and the bounds, which are at most 0.2 % above the note's."""
    solution = md.solve(md.SurveyLimit(questions=[size] * count, epsilon=epsilon), "product-sets")
    assert count / solution.value == pytest.approx(told, abs=6e-5)
    assert count / solution.value <= count / solution.bound <= most * 1.002


def test_no_set_is_worth_more_than_entropy_allows():
    """Level sets of random weights, products and scattered answers of eight questions, at random prices.

    What a set tells at another epsilon is in proportion to the square of its share of the reports.
    """
    rng = np.random.default_rng(3)
    sizes = [2, 2, 2, 3, 3, 4, 2, 2]
    tables = [{"questions": [place], "weight": 1.0 + place / 8} for place in range(8)]
    problem = md.SurveyLimit(questions=sizes, epsilon=2.0, tables=tables)  # no two alike
    places, whole = np.indices(sizes).reshape(8, -1), math.prod(sizes)
    order = [kind[0][0] for kind in problem.effects.members]
    for _ in range(2):
        prices = rng.exponential(size=8)
        questions = [entropy.AlikeQuestions(k, 1, p) for k, p in zip(sizes, prices.tolist(), strict=True)]
        best = dict.fromkeys([0.5, 2.0, 5.0], 0.0)
        for _ in range(8):
            score = sum(
                rng.normal(size=k)[places[j]] * rng.exponential() for j, k in enumerate(sizes)
            ) + rng.normal() * rng.normal(size=places.shape[1])
            for share in (0.4, 0.1, 0.03, 0.006):
                held = np.flatnonzero(score >= np.quantile(score, 1.0 - share)).tolist()
                told = kind_information(problem.effects, 2.0, {"answers": held})
                alone = share_in(2.0, len(held) / whole)
                for epsilon, before in best.items():
                    part = (share_in(epsilon, len(held) / whole) / alone) ** 2
                    best[epsilon] = max(before, part * float(told @ prices[order]))
        for epsilon, found in best.items():
            most = entropy.most_worth(tuple(questions), epsilon)
            assert 0.2 * most < found <= most


def test_the_gains_of_one_question_are_bounded_from_above_and_closely():
    """Against random laws and a fine search over those with one large ratio."""
    rng = np.random.default_rng(5)
    multipliers = np.array([0.05, 0.2, 0.5, 1.0])
    for size, ratio in ((2, 5.0), (3, 1.7), (5, 5.0), (8, 2.5)):
        bound = entropy.gains(size, ratio, 1.0, multipliers)
        laws = rng.dirichlet(np.full(size, 0.3), 4000)
        peaks = np.linspace(1.0 / size, min(1.0, ratio / size), 400)
        laws = (
            np.concatenate([laws, np.column_stack([peaks, *[(1.0 - peaks) / (size - 1)] * (size - 1)])])
            * size
        )
        laws = laws[laws.max(axis=1) <= ratio]
        chi = (laws**2).mean(axis=1) - 1.0
        kl = (laws * np.log(np.where(laws > 0, laws, 1.0))).mean(axis=1)
        best = (chi[:, None] - kl[:, None] * multipliers).max(axis=0)
        assert (best <= bound + 1e-12).all()
        if ratio >= size:
            assert bound == pytest.approx(np.maximum(best, 0.0), rel=2e-3, abs=2e-3)


def test_two_way_tables_and_scattered_cells():
    """At epsilon 0.5 products of subsets lose up to 44 % to scattered cells of a table of four by four."""
    problem = md.SurveyLimit(questions=[4, 4], epsilon=0.5, tables=[[0, 1]])
    exact, found = md.solve(problem), md.solve(problem, "product-sets")
    assert found.value == pytest.approx(exact.value, rel=1e-3)
    assert any("cells" in column for column in found.variables["sets"])
    products = [{"widths": [a, b]} for a in range(1, 5) for b in range(1, 5) if a < 4 and b < 4]
    best = min(problem.objective({"sets": [column], "shares": [1.0]}) for column in products)
    assert 1.3 < best / exact.value < 1.6


def test_bounds_are_rounded_down_and_prices_may_be_anything():
    problem = md.SurveyLimit(questions=[2, 3], epsilon=2.0)
    exact = md.solve(problem)
    classes = classes_of(problem.effects)
    for told in ([1.0, 1.0], [0.3, 0.9]):
        given = proofs.factors(told)
        most = classes.most(problem.effects, 2.0, proofs.prices(problem.effects, given))
        bound = proofs.bound_from(problem.effects, given, most)
        assert 0.0 < bound < exact.bound
        worth = classes.information(problem.effects, 2.0) @ [
            float(price) for price in proofs.prices(problem.effects, given)
        ]
        assert float(most) == pytest.approx(worth.max(), rel=1e-12)
        assert float(most) >= worth.max() * (1 - 1e-15)


def test_shares_of_sets():
    assert share_in(math.log(3.0), 0.25) == pytest.approx(2 * 0.25 / 1.5)
    assert share_in(700.0, 1e-3) == pytest.approx(1.0)


def test_what_is_refused():
    with pytest.raises(ParameterError, match="question 1"):
        md.SurveyLimit(questions=[2, 1], epsilon=1.0)
    with pytest.raises(ParameterError, match="there twice"):
        md.SurveyLimit(questions=[2, 2], epsilon=1.0, tables=[[0, 1], [1, 0]])
    with pytest.raises(MechDesignError, match="no key 'wight'"):
        md.SurveyLimit(questions=[2, 2], epsilon=1.0, tables=[{"questions": [0], "wight": 2.0}])
    with pytest.raises(MethodError, match="40 answers together"):
        md.solve(md.SurveyLimit(questions=[4, 10], epsilon=1.0), "subsets")
    with pytest.raises(MethodError, match="single questions"):
        md.solve(md.SurveyLimit(questions=[2, 2], epsilon=1.0, tables=[[0, 1]]), "one-question")
    assert md.solve(md.SurveyLimit(questions=[2, 2], epsilon=0.0)).status == "infeasible"
    problem = md.SurveyLimit(questions=[2, 2], epsilon=1.0)
    with pytest.raises(ParameterError, match="is not a set of answers"):
        problem.residuals({"sets": [{"widths": [2, 2]}], "shares": [1.0]})
