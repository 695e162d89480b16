"""Frequency oracles against their whole channels: privacy, support, what is drawn, what is estimated."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from mechdesign.collect.base import load_mechanism
from mechdesign.core.errors import CertificateError, DataError, ParameterError
from mechdesign.exact.draws import below, bernoulli_words
from mechdesign.exact.randomness import TOTAL, NumpySource, exp_lower, log_ratio
from mechdesign.families.marginals.oracles import (
    HadamardResponse,
    LocalHashing,
    ProjectiveGeometry,
    SubsetSelection,
    UnaryEncoding,
)
from mechdesign.families.marginals.oracles.blocks import BlockOracle
from mechdesign.families.marginals.sets.shapes import draw_subsets
from tests.support.oracles import names_of, small_oracles, supported, whole_channel
from tests.support.statistics import surveys

ORACLES = small_oracles()
EVERY = pytest.mark.parametrize("name", ORACLES)


@EVERY
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_audit_finds_the_worst_ratio_of_the_whole_channel(name, epsilon):
    oracle = small_oracles(epsilon)[name]
    table = whole_channel(oracle)
    assert [sum(column) for column in zip(*table.values(), strict=True)] == [1] * oracle.labels.size
    worst = max(max(row) / min(row) for row in table.values())
    assert oracle.audit().true_epsilon_digits == log_ratio(worst.numerator, worst.denominator)
    assert worst <= exp_lower(epsilon)
    assert oracle.audit().true_epsilon > epsilon * (1 - 1e-15)  # nothing is given away


@EVERY
def test_the_chances_of_support_are_exact_and_the_same_for_every_pair(name):
    oracle = ORACLES[name]
    table = whole_channel(oracle)
    own, other = oracle.support_shares()
    for answer in range(oracle.labels.size):
        for category in range(oracle.labels.size):
            chance = sum(row[answer] * supported(oracle, report)[category] for report, row in table.items())
            assert chance == (own if answer == category else other)


@pytest.mark.parametrize(
    "name", [name for name, oracle in ORACLES.items() if isinstance(oracle, BlockOracle)]
)
def test_the_design_has_the_parameters_of_its_blocks(name):
    oracle = ORACLES[name]
    blocks = np.array([supported(oracle, report) for report in whole_channel(oracle)])
    through, both = blocks.sum(axis=0), blocks.T @ blocks
    design = oracle.design
    assert set(through * design.blocks) == {len(blocks) * design.through}
    off = ~np.eye(oracle.labels.size, dtype=bool)
    assert set(both[off] * design.blocks) == {len(blocks) * design.both}


@EVERY
def test_reports_are_numbered_by_as_many_bits_as_it_says(name):
    oracle = ORACLES[name]
    assert oracle.report_bits == (len(whole_channel(oracle)) - 1).bit_length()


@EVERY
def test_drawn_reports_have_the_chances_of_the_whole_channel(name):
    """Pearson's test at 1e-6 for each answer; the seed is fixed."""
    oracle = ORACLES[name]
    table, draws = whole_channel(oracle), 40_000
    for answer in range(oracle.labels.size):
        drawn = oracle.draw(np.full(draws, answer), NumpySource(np.random.default_rng(answer)))
        counts = Counter(names_of(oracle, drawn))
        assert set(counts) <= set(table)
        expected = np.array([float(row[answer]) for row in table.values()]) * draws
        found = np.array([counts[report] for report in table])
        assert stats.chisquare(found, expected).pvalue > 1e-6, answer


@EVERY
def test_the_server_counts_what_the_definition_supports(name):
    oracle = ORACLES[name]
    answers = np.arange(3000) % oracle.labels.size
    reports = oracle.randomize(answers, rng=4)
    counts = oracle.supports(oracle.count(oracle.read(reports)), len(reports))
    wanted = np.sum([supported(oracle, report) for report in names_of(oracle, reports)], axis=0)
    assert counts.tolist() == wanted.tolist()


@EVERY
def test_the_variance_is_that_of_the_whole_channel(name):
    """Of the linear estimate of each category, for one who has it and for one who has another, exactly."""
    oracle = ORACLES[name]
    table = whole_channel(oracle)
    own, other = oracle.support_shares()
    for answer, frequency in ((0, 1.0), (1, 0.0)):
        scores = {report: (supported(oracle, report)[0] - other) / (own - other) for report in table}
        mean = sum(row[answer] * scores[report] for report, row in table.items())
        square = sum(row[answer] * scores[report] ** 2 for report, row in table.items())
        assert mean == frequency
        assert oracle.variance(frequency) == pytest.approx(float(square - mean**2), rel=1e-15)


@EVERY
def test_estimates_are_unbiased_and_their_errors_right(name):
    """120 surveys: the average within 4 of its standard errors, squared errors within 4 of theirs."""
    oracle, users, repetitions = ORACLES[name], 300, 120
    answers = np.arange(users) % (oracle.labels.size - 1)
    truth = np.bincount(answers, minlength=oracle.labels.size) / users
    estimates = [oracle.estimate(reports) for reports in surveys(oracle, [answers] * repetitions, 5)]
    errors = np.array([estimate.value for estimate in estimates]) - truth
    stated = np.mean([estimate.standard_error**2 for estimate in estimates], axis=0)
    assert (np.abs(errors.mean(axis=0)) < 4 * np.sqrt(stated / repetitions)).all()
    ratio = (errors**2).mean(axis=0) / stated
    assert (np.abs(ratio - 1) < 4 * math.sqrt(2 / repetitions) + 0.05).all(), (
        ratio
    )  # 0.05: clipped frequencies


@EVERY
def test_counters_merge_save_and_restore(name):
    oracle = ORACLES[name]
    reports = oracle.randomize(np.arange(500) % oracle.labels.size, rng=2)
    whole, first, second = (oracle.aggregator() for _ in range(3))
    whole.update(reports)
    first.update(reports[:123])
    second.update(reports[123:])
    first.merge(second)
    assert (first.users, first.counts.tolist()) == (500, whole.counts.tolist())
    restored = type(whole).from_json(oracle, whole.as_json())
    assert restored.estimate().value.tolist() == oracle.estimate(reports).value.tolist()
    assert oracle.estimate(reports).projected().sum() == pytest.approx(1.0)


@EVERY
def test_texts_of_a_table_are_read_as_what_was_drawn(name):
    oracle = ORACLES[name]
    reports = oracle.randomize(np.arange(200) % oracle.labels.size, rng=3)
    texts = np.asarray(oracle.written(reports)).astype(str)
    assert oracle.read(texts).tolist() == reports.tolist()
    assert oracle.read(texts.astype(object)).tolist() == reports.tolist()
    assert oracle.read(texts[:0]).shape[0] == 0


@EVERY
def test_damaged_counts_are_refused(name):
    oracle = ORACLES[name]
    counter = oracle.aggregator()
    counter.update(oracle.randomize(np.arange(50) % oracle.labels.size, rng=2))
    document = counter.as_json()
    kind = type(counter)
    told = "users" in document  # else they are the sum of the counts
    for users in (-1, 50.0, "50", True, None, 2**54) if told else ():
        with pytest.raises(DataError, match=r"^aggregator: "):
            kind.from_json(oracle, {**document, "users": users})
    for count in (-1, 1.5, "1", None, *((51,) if told else ())):
        forged = [count, *document["counts"][1:]]
        with pytest.raises(DataError, match=r"^aggregator: "):
            kind.from_json(oracle, {**document, "counts": forged})
    for counts in (None, [], document["counts"][:-1], [*document["counts"], 0]):
        with pytest.raises(DataError, match=r"^aggregator: "):
            kind.from_json(oracle, {**document, "counts": counts})
    other = HadamardResponse.of(7, 0.3).aggregator()
    for refused in (lambda: counter.merge(other), lambda: kind.from_json(other.mechanism, document)):
        with pytest.raises(DataError, match="different mechanism"):
            refused()
    with pytest.raises(DataError, match="there are none"):
        oracle.aggregator().estimate()


def test_counts_that_no_reports_leave_are_refused():
    subsets_of_2, hadamard = ORACLES["subsets of 2"], ORACLES["hadamard"]
    for oracle, counts, users in ((subsets_of_2, [1, 1, 1, 0, 0], 1), (hadamard, [1] * 8, 7)):
        document = {"mechanism": oracle.fingerprint, "users": users, "counts": counts}
        with pytest.raises(DataError, match="the counts are damaged"):
            type(oracle.aggregator()).from_json(oracle, document)


# Weights: one unit more and the promise is broken


BROKEN = {
    "unary": lambda: UnaryEncoding(5, 1.0, TOTAL // 2, UnaryEncoding.optimised(5, 1.0).add - 1),
    "symmetric": lambda: _symmetric_one_less(),
    "subset": lambda: SubsetSelection(7, 1.0, 3, SubsetSelection.of(7, 1.0, 3).include + 1),
    "hashing": lambda: LocalHashing(7, 1.0, 3, LocalHashing.of(7, 1.0, 3).other - 1),
    "projective": lambda: ProjectiveGeometry(7, 1.0, 2, ProjectiveGeometry.of(7, 1.0, 2).include + 1),
    "hadamard": lambda: HadamardResponse(7, 1.0, HadamardResponse.of(7, 1.0).even + 1),
}


def _symmetric_one_less() -> UnaryEncoding:
    add = UnaryEncoding.symmetric(5, 1.0).add - 1
    return UnaryEncoding(5, 1.0, TOTAL - add, add)


@pytest.mark.parametrize("kind", BROKEN)
def test_one_unit_less_noise_is_not_private(kind):
    with pytest.raises(CertificateError, match="not private as stated"):
        BROKEN[kind]()


@pytest.mark.parametrize(
    "make",
    [
        lambda value: UnaryEncoding(5, 1.0, value, TOTAL // 3),
        lambda value: UnaryEncoding(5, 1.0, TOTAL // 2, value),
        lambda value: SubsetSelection(5, 1.0, 2, value),
        lambda value: LocalHashing(5, 1.0, 2, value),
        lambda value: HadamardResponse(5, 1.0, value),
        lambda value: ProjectiveGeometry(5, 1.0, 2, value),
    ],
)
@pytest.mark.parametrize("value", [0, -1, TOTAL, TOTAL + 1, 0.5, True, "1", None, math.nan, 2**70])
def test_what_is_no_weight_is_refused(make, value):
    with pytest.raises((CertificateError, ParameterError)):
        make(value)


def test_weights_of_numpy_do_not_overflow():
    """As 64-bit numbers the products of the weights would wrap around."""
    right = UnaryEncoding.optimised(5, 1.0)
    again = UnaryEncoding(np.int64(5), 1.0, np.int64(right.keep), np.int64(right.add))
    assert again.audit().true_epsilon_digits == right.audit().true_epsilon_digits
    with pytest.raises(CertificateError, match="not private"):
        UnaryEncoding(5, 1.0, np.int64(right.keep), np.int64(right.add - 1))


def test_reports_that_say_nothing_or_the_contrary_are_refused():
    for make in (
        lambda: HadamardResponse(5, 1.0, TOTAL // 2),
        lambda: UnaryEncoding(5, 1.0, TOTAL // 3, TOTAL // 2),
        lambda: SubsetSelection(4, 0.0, 2, TOTAL // 2),
        lambda: UnaryEncoding.optimised(5, 0.0),
    ):
        with pytest.raises(ParameterError, match="reports contain no information"):
            make()
    with pytest.raises(CertificateError, match="other: "):
        LocalHashing(5, 1.0, 3, TOTAL // 3 + 1)


@EVERY
def test_the_file_gives_back_the_same_and_a_moved_weight_is_refused(name, tmp_path):
    oracle, path = ORACLES[name], tmp_path / "oracle.json"
    oracle.save(path)
    again = load_mechanism(path)
    assert again.fingerprint == oracle.fingerprint
    assert again.randomize([0, 1], rng=1).tolist() == oracle.randomize([0, 1], rng=1).tolist()
    numbers = [value for value in oracle.content().values() if isinstance(value, int)]
    weight = next(value for value in numbers if 1 << 40 < value < TOTAL)
    path.write_text(path.read_text().replace(str(weight), str(weight + 1)))
    with pytest.raises(CertificateError, match="rebuild it"):
        load_mechanism(path)


# Draws


class Words:
    """A source whose words of the digit-th draw are the digit-th binary digits of 0 .. 63, one a lane."""

    def __init__(self) -> None:
        self.digit = 6

    def words(self, count):
        self.digit -= 1
        lanes = sum(((lane >> self.digit) & 1) << lane for lane in range(64))
        return np.full(count, lanes, dtype=np.uint64)


@pytest.mark.parametrize("sixtyfourths", range(65))
def test_a_bit_is_1_with_exactly_its_weight(sixtyfourths):
    """All 64 equally likely beginnings of six digits are tried at once: a lane each."""
    made = bernoulli_words(3, sixtyfourths * (TOTAL // 64), Words())
    assert [int(word).bit_count() for word in made] == [sixtyfourths] * 3


@pytest.mark.parametrize("weight", [1, TOTAL // 3, TOTAL // 2 + 1, TOTAL - 1, 0])
def test_bits_of_any_weight(weight):
    """Within 5.5 standard deviations of the mean (chance 4e-8 of a miss, fixed seed)."""
    words = bernoulli_words(4000, weight, NumpySource(np.random.default_rng(5)))
    chance, bits = weight / TOTAL, 64 * 4000
    ones = np.unpackbits(words.view(np.uint8)).sum()
    assert abs(ones - bits * chance) <= 5.5 * math.sqrt(bits * chance * (1 - chance)) + 1e-6


class Chosen:
    """A source of chosen integers."""

    def __init__(self, *batches) -> None:
        self.batches = [np.array(batch, dtype=np.int64) for batch in batches]

    def integers(self, count):
        batch = self.batches.pop(0)
        assert len(batch) == count
        return batch


def test_numbers_beyond_the_last_multiple_are_drawn_again():
    end = TOTAL - TOTAL % 3
    found = below(3, 3, Chosen([end, 4, end + 0], [end, 5], [7]))
    assert found.tolist() == [1, 1, 2]
    assert below(4, 1, Chosen([TOTAL - 1])).tolist() == [3]


def test_floyds_subsets_are_uniform():
    """The 4 * 3 ways through Floyd's algorithm give every set of 2 of 4 others in 12/6 = 2 ways."""
    counts = Counter()
    for first in range(3):
        for second in range(4):
            member = draw_subsets(np.array([1]), 5, 2, Chosen([first], [second]))
            counts[tuple(np.flatnonzero(member[0]).tolist())] += 1
    assert len(counts) == 6
    assert set(counts.values()) == {2}
    assert all(1 not in chosen for chosen in counts)


def test_the_boundary_integers_decide_the_report():
    oracle = HadamardResponse.of(6, 1.0)
    draws = Chosen([oracle.even - 1, oracle.even], [0, 0])
    reports = oracle.draw(np.array([2, 2]), draws)
    assert [(int(report) & 3).bit_count() % 2 for report in reports] == [0, 1]
    hashing = LocalHashing.of(5, 1.0, 3)
    edge = hashing.own - hashing.other
    draws = Chosen([0, 0, 0, 0], [edge - 1, edge, edge + hashing.other, TOTAL - 1])
    buckets = hashing.draw(np.array([4, 4, 4, 4]), draws) % 3
    assert buckets.tolist() == [4 % 5 % 3, 0, 1, 2]
    chance = Fraction(edge, TOTAL) + Fraction(hashing.other, TOTAL)
    assert chance == Fraction(hashing.own, TOTAL)


def test_the_boundary_integers_decide_what_a_set_holds():
    unary = UnaryEncoding.optimised(3, 1.0)
    source = Chosen([unary.keep - 1, unary.keep])
    source.words = lambda count: np.full(
        count, 2**64 - 1, dtype=np.uint64
    )  # all digits 1: no other bit is set
    assert unary.draw(np.array([1, 1]), source).tolist() == [[0b01000000], [0]]
    chosen = SubsetSelection.of(4, 1.0, 1)
    source = Chosen([chosen.include - 1, chosen.include], [2])
    assert chosen.draw(np.array([3, 3]), source).tolist() == [[0b00010000], [0b00100000]]
    plane = ProjectiveGeometry.of(7, 1.0, 2)
    reports = plane.draw(np.array([4, 4]), Chosen([plane.include - 1, plane.include], [3, 3]))
    assert [supported(plane, int(report))[4] for report in reports] == [1, 0]
