"""Parts by chance and by question, and the kinds of questions that families offer."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from mechdesign.collect.codec import Domain
from mechdesign.core.errors import ParameterError, UnknownNameError
from mechdesign.core.guarantee import Guarantee
from mechdesign.exact.randomness import TOTAL, bit_source
from mechdesign.families.marginals import MarginalRelease
from mechdesign.primitives import KaryResponse
from mechdesign.primitives.combine import PIECE, QuestionForm, QuestionKind, Split, question_kind

KINDS = ("number", "piecewise", "ordered", "table", "cells", "sets")


def test_shares_are_exact_out_of_all_integers():
    split = Split([["a"], ["b"], ["c"]], [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)])
    assert sum(split.weights) == TOTAL
    assert split.weights[0] == TOTAL // 2
    assert [round(6 * weight / TOTAL, 15) for weight in split.weights] == [3, 2, 1]
    assert split.normalization().holds
    with pytest.raises(ParameterError, match="shares"):
        Split([["a"], ["b"]], [1, 0])


def test_branches_are_drawn_in_proportion_and_in_pieces():
    """Within 5 standard deviations of 3/4: missed with a chance below 1e-6 (fixed seed)."""
    split, users = Split([["a"], ["b"]], [1, 3]), PIECE + 7
    pieces = list(split.draw(users, bit_source(3)))
    assert [(start, len(numbers)) for start, numbers in pieces] == [(0, PIECE), (PIECE, 7)]
    count = sum(int(numbers.sum()) for _, numbers in pieces)
    assert abs(count - 0.75 * users) < 5 * (users * 3 / 16) ** 0.5
    assert list(split.draw(0, bit_source(3))) == []


def test_by_question_epsilons_add_up_and_by_chance_the_largest_counts():
    """The true epsilon of all reports of a split, enumerated from the integers, is what is proven."""
    binary = {epsilon: KaryResponse.of(2, epsilon) for epsilon in (0.25, 0.5, 1.0)}
    split = Split([[binary[0.25], binary[0.5]], [binary[1.0]]], [2, 1])
    proofs = [[part.audit().proof for part in parts] for parts in split.branches]
    proof = split.proof(Guarantee(1), proofs)
    largest = 0.0
    for parts, weight in zip(split.branches, split.weights, strict=True):
        channels = [part.channel for part in parts]
        for reports in product((0, 1), repeat=len(parts)):
            chances = [
                weight
                / TOTAL
                * np.prod([c[a, r] for c, a, r in zip(channels, answers, reports, strict=True)])
                for answers in product((0, 1), repeat=len(parts))
            ]
            largest = max(largest, float(np.log(max(chances) / min(chances))))
    assert proof.holds
    assert float(proof.true_epsilon) == pytest.approx(largest, rel=1e-12)
    assert not split.proof(Guarantee("0.75"), proofs).holds
    assert split.proof(Guarantee("0.75"), proofs[:1]).holds


@pytest.mark.parametrize("shares", [None, [1, 2, 5]])
def test_a_release_of_marginals_is_a_split_of_views(shares):
    """The same weights, the same views of a seed, and the same proof."""
    release = MarginalRelease.of([2, 3, 4, 2], [(0, 1), (1, 2), (2, 3)], 1.5, shares=shares)
    split = Split([[oracle] for oracle in release.oracles], shares)
    assert [type(counter) for (counter,) in split.counters()] == list(
        map(type, release.aggregator().counters)
    )
    assert split.weights == release.shares
    codes = np.zeros((PIECE + 5, 4), dtype=np.int64)
    ((_, views),) = split.draw(9, bit_source(4))
    assert next(release.draw(codes[:9], bit_source(4))).views.tolist() == views.tolist()
    proof = split.proof(Guarantee(release.epsilon), [[oracle.audit().proof] for oracle in release.oracles])
    audit = release.audit().proof
    assert (proof.true_epsilon, proof.holds, proof.exact) == (audit.true_epsilon, audit.holds, audit.exact)
    assert split.normalization() == release.certificates()[1]


@pytest.mark.parametrize("word", KINDS)
def test_each_kind_makes_a_mechanism_that_is_private_at_the_promise(word):
    form = {
        "number": QuestionForm((2,), Domain(0, 10)),
        "piecewise": QuestionForm((2,), Domain(0, 10)),
        "ordered": QuestionForm((5,)),
        "sets": QuestionForm((2, 3), sets=(1, 2)),
    }.get(word, QuestionForm((2, 3)))
    kind = question_kind(word)
    audit = kind.mechanism(form, 1.0, 0.75).audit()
    assert (audit.holds, audit.epsilon) == (True, 0.75)
    size = form.sizes[0]
    epsilons, variances = kind.solved(size)
    assert [kind.variance(size, epsilon) for epsilon in epsilons[:3].tolist()] == variances[:3].tolist()
    assert (len(epsilons) > 0) == (word in ("number", "ordered"))
    if len(epsilons):
        near = [kind.variance(size, epsilon) for epsilon in (0.99, 1.01)]
        assert kind.slope(size, 1.0) == pytest.approx((near[1] - near[0]) / 0.02, rel=0.01)


def test_a_kind_of_another_package_is_found_and_an_unknown_one_refused():
    class Coin(QuestionKind):
        question_kind = "coin"

        def mechanism(self, form, epsilon, promised):
            return KaryResponse.of(2, promised)

    assert question_kind("coin").mechanism(QuestionForm((2,)), 1.0, 1.0) == KaryResponse.of(2, 1.0)
    with pytest.raises(UnknownNameError, match="no family reports questions by 'nothing'"):
        question_kind("nothing")


@pytest.mark.parametrize(
    ("word", "family"), [("number", "mean"), ("ordered", "workload"), ("sets", "marginals")]
)
def test_a_kind_costs_the_family_that_offers_it(word, family):
    program = (
        "import sys, mechdesign\nfrom mechdesign.primitives.combine import question_kind\n"
        f"question_kind({word!r})\n"
        "print(*{name.split('.')[2] for name in sys.modules if name.startswith('mechdesign.families.')})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [family]
