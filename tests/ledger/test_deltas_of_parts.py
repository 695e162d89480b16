"""Parts with a delta, or with an infinite true epsilon: every composition counts it, or refuses the part."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect.base import digest, mechanism_of
from mechdesign.core.errors import CertificateError, MechDesignError, ParameterError
from mechdesign.exact.randomness import TOTAL
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.mean import AttributeSampling, Duchi
from mechdesign.families.mean.grid import GridMean
from mechdesign.families.shuffle.promise import Promise
from mechdesign.families.shuffle.shuffled_reports import Shuffled
from mechdesign.families.survey.parts import NumberPart, TablePart
from mechdesign.families.survey.questions import Question, Questions
from mechdesign.families.survey.survey import SurveyMechanism
from mechdesign.ledger.ledger import account, collected_of
from mechdesign.primitives import FiniteChannel, KaryResponse, PrivacyTarget

DELTA = 0.25
ASKED = Questions([Question("a", labels=("x", "y")), Question("n", "number", low=0, high=1)])
DATA = {"a": ["x", "y"] * 100, "n": [0, 1] * 100}


@cache
def table() -> KaryResponse:
    """Two answers with a delta, whose true epsilon is finite and above the promise."""
    return md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=0.1, delta=DELTA)).mechanism()


@cache
def number() -> GridMean:
    """A number whose true epsilon is infinite: reports that one value has and the other has not."""
    half = TOTAL // 2
    channel = FiniteChannel(np.array([[half, half, 0], [0, half, half]]), PrivacyTarget(0.5, 0.5))
    return GridMean(channel, [-0.5, 0.5, 1.5], 0.0, 1.0)


def survey_of(*kinds: str, epsilon: float, delta: float = 0.0) -> SurveyMechanism:
    parts = {"table": TablePart(ASKED, [0], table()), "number": NumberPart(ASKED, 1, number())}
    return SurveyMechanism(ASKED, epsilon, [[parts[kind] for kind in kinds]], delta=delta)


def test_the_parts_are_what_they_are_said_to_be():
    assert 0.1 < table().audit().true_epsilon < np.inf
    assert number().audit().true_epsilon == np.inf
    assert table().audit().holds
    assert number().audit().holds


@pytest.mark.parametrize(
    ("kinds", "epsilon", "delta"),
    [
        (("table",), 0.1, 0.0),
        (("table",), 0.1, 0.2),
        (("table",), 0.05, DELTA),
        (("number",), 0.5, 0.0),
        (("number",), 0.5, 0.4),
        (("table", "number"), 0.6, 0.5),
        (("table", "number"), 0.5, 0.75),
    ],
)
def test_a_survey_whose_promise_its_parts_do_not_keep_is_refused_in_a_line(kinds, epsilon, delta):
    with pytest.raises(CertificateError, match="designs: not private as stated") as caught:
        survey_of(*kinds, epsilon=epsilon, delta=delta)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kinds", "epsilon", "delta"),
    [(("table",), 0.1, DELTA), (("number",), 0.5, 0.5), (("table", "number"), 0.7, 0.75)],
)
def test_a_survey_counts_the_deltas_of_its_parts_everywhere(kinds, epsilon, delta, tmp_path):
    survey = survey_of(*kinds, epsilon=epsilon, delta=delta)
    proof = survey.audit().proof
    assert proof.proven.within(survey.guarantee)
    assert proof.least_delta == sum(
        (audit.proof.least_delta for audit in (table().audit(), number().audit()) if _used(audit, kinds)),
        Fraction(0),
    )
    survey.save(tmp_path / "s.json")
    again = md.load_mechanism(tmp_path / "s.json")
    assert again.guarantee == survey.guarantee
    words = f"epsilon = {epsilon:g}, delta = {delta:g}"
    for text in (str(survey.audit()), survey.estimate(survey.randomize(DATA, rng=1)).ledger):
        assert f"delta = {delta:g}" in text
    results = survey.estimate(survey.randomize(DATA, rng=1))
    assert words in results.ledger
    assert results.as_json()["delta"] == delta
    assert words in survey.remember(DATA, rng=1).ledger
    assert any(words in line for line in survey.explained())
    total = account([collected_of(again, "s.json", 2)], 1e-6).own
    assert (total.delta > 0.0) == (survey.audit().true_epsilon == np.inf)


def _used(audit, kinds):
    return (audit is table().audit()) == ("table" in kinds and audit is table().audit()) and (
        audit is table().audit() or "number" in kinds
    )


def test_a_file_whose_delta_was_taken_out_is_refused_although_its_checksums_are_valid():
    document = survey_of("table", epsilon=0.1, delta=DELTA).document()
    for change in ({"delta": 0.1}, {"delta": 0.0}, {"epsilon": 0.05}):
        content = {**document["content"], **change}
        if not content["delta"]:
            del content["delta"]
        forged = {**document, "content": content, "sha256": digest("survey", content)}
        forged["certificates"] = json.loads(json.dumps(document["certificates"]))
        with pytest.raises(CertificateError, match="not private as stated"):
            mechanism_of(forged, "forged.json")


def test_attributes_count_the_delta_of_each_report():
    twice = AttributeSampling(number(), 3, 2)
    assert not twice.audit().holds  # a delta of 1 promises nothing
    once = AttributeSampling(number(), 3, 1)
    assert once.audit().holds
    assert (once.delta, once.audit().proof.least_delta) == (0.5, Fraction(1, 2))
    assert not AttributeSampling(number(), 3, 1, epsilon=0.25).audit().holds


def test_views_and_shufflers_refuse_parts_with_a_delta():
    from mechdesign.primitives.attributes import Attributes

    with pytest.raises(ParameterError, match="delta"):
        MarginalRelease(Attributes([2]), [(0,)], [table()])
    for local in (table(), number(), AttributeSampling(number(), 3, 1)):
        with pytest.raises(ParameterError, match="delta"):
            Shuffled(local, Promise(100_000, 0.5, 1e-6))


def test_an_account_of_parts_with_deltas():
    found = account([collected_of(number(), "n.json", 2)], 1e-6)
    assert (found.own.epsilon, found.own.delta) == (1.0, 1.0)
    assert not found.is_within  # a delta of 1 promises nothing
    assert account([collected_of(number(), "n.json")], 1e-6).is_within
    finite = account([collected_of(table(), "t.json", 3)], 1e-6).own
    assert finite.delta == 0.0
    assert finite.epsilon == pytest.approx(3 * table().audit().true_epsilon)


def test_guarantees_by_entry_do_not_add_to_guarantees_over_sets():
    rows = np.array([[0.6, 0.4, 0.0, 0.0], [0.4, 0.2, 0.2, 0.2]])
    channel = FiniteChannel.from_floats(rows, PrivacyTarget(0.05, 0.25, None, "entry-wise"))
    audit = channel.audit()
    assert audit.guarantee.notion == "entry-wise"
    assert (audit.holds, audit.true_epsilon) == (True, np.inf)
    one = collected_of(channel, "c.json").guarantee
    assert one.notion == "ldp"
    assert one.delta >= audit.least_delta_exact > audit.proof.least_delta > 0


def test_a_release_with_a_part_that_breaks_its_promise_does_not_hold():
    from mechdesign.audit.classes import composed
    from mechdesign.core.guarantee import Guarantee, Proof

    broken, sound = Proof(Guarantee("0.1"), "0.2", pairs=2), Proof(Guarantee("0.1"), "0.1", pairs=2)
    assert not composed(Guarantee(1), [broken, sound]).holds
    assert composed(Guarantee("0.2"), [sound, sound]).holds
    with pytest.raises(MechDesignError):
        composed(Guarantee(1, notion="central"), [sound])


TWO = Questions([Question("a", labels=("x", "y")), Question("b", labels=("x", "y"))])
SUMS = [
    (0.1, 0.2, 0.3),
    (0.1, 0.6, 0.7),
    (0.2, 0.4, 0.6),
    (0.5, 0.1, 0.6),
    (1.1, 2.2, 3.3),
    (0.05, 0.1, 0.15),
]


def of_two(first, second, epsilon, delta=0.0):
    parts = [TablePart(TWO, [place], each) for place, each in enumerate((first, second))]
    return SurveyMechanism(TWO, epsilon, [parts], delta=delta)


@pytest.mark.parametrize(("first", "second", "whole"), SUMS)
def test_parts_whose_decimals_add_up_to_the_decimal_of_a_survey_are_within_it(first, second, whole):
    parts = KaryResponse.of(2, first), KaryResponse.of(2, second)
    survey = of_two(*parts, whole)
    written = Fraction(repr(whole))
    assert survey.audit().proof.true_epsilon <= survey.guarantee.epsilon <= max(written, Fraction(whole))
    assert mechanism_of(survey.document(), "s.json").fingerprint == survey.fingerprint
    assert collected_of(survey, "s.json").guarantee.epsilon <= written
    with pytest.raises(CertificateError, match="not private as stated"):
        of_two(*parts, np.nextafter(whole, 0.0))


def response(epsilon, delta):
    problem = md.RandomizedResponse(prior=[0.5, 0.5], epsilon=epsilon, delta=delta)
    return md.solve(problem).mechanism()


def test_pairs_of_parts_add_as_decimals():
    parts = response(0.1, 0.1), response(0.2, 0.2)
    survey = of_two(*parts, 0.3, 0.3)
    pair = collected_of(survey, "s.json").promise
    assert pair.within(survey.guarantee)
    assert survey.guarantee.epsilon == survey.guarantee.delta == Fraction(3, 10)
    for epsilon, delta in ((np.nextafter(0.3, 0.0), 0.3), (0.3, np.nextafter(0.3, 0.0))):
        with pytest.raises(CertificateError):
            of_two(*parts, epsilon, delta)


def test_reports_about_several_attributes_add_as_decimals():
    inner = Duchi(0.1)
    assert AttributeSampling(inner, 4, 3, epsilon=0.3).audit().holds
    assert not AttributeSampling(inner, 4, 3, epsilon=np.nextafter(0.3, 0.0)).audit().holds


def test_the_least_delta_for_the_decimal_is_that_of_the_channel():
    """At the double it is smaller: the pair that is counted has to be true of the decimal."""
    from mechdesign.audit.channel import set_wise_delta
    from mechdesign.exact.randomness import exp_lower

    made = response(0.1, 1e-7)
    found, double = made.audit().proof.as_written, made.audit().proof.proven
    own, high, low = (made.weights.own, made.weights.high, made.weights.low)
    rows = np.array([[own + high, low], [low, own + high]], dtype=np.int64)
    assert found.epsilon == Fraction(1, 10) < double.epsilon
    assert found.delta == set_wise_delta(rows, exp_lower(Fraction(1, 10)))[0] > double.delta
    assert found.delta <= Fraction(1, 10**7)
