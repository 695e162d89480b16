"""The hash family of local hashing, its two ways of counting, and what they cost."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.exact.numbers import prime_from
from mechdesign.families.marginals.oracles import (
    HadamardResponse,
    LocalHashing,
    ProjectiveGeometry,
    SubsetSelection,
    UnaryEncoding,
)
from mechdesign.families.marginals.oracles.blocks import hadamard_transform
from mechdesign.families.marginals.oracles.projective import ProjectiveSpace
from mechdesign.primitives.hashing import PLAIN, AffineFamily, collision, fitting, least_moves


def test_primes():
    sieve = [n for n in range(2, 2000) if all(n % divisor for divisor in range(2, int(n**0.5) + 1))]
    for number in range(1, 1990):
        assert prime_from(number) == next(prime for prime in sieve if prime >= number)


@pytest.mark.parametrize(("prime", "buckets"), [(2, 2), (3, 2), (5, 3), (7, 2), (7, 4), (7, 7), (11, 5)])
def test_any_two_numbers_share_a_bucket_with_the_same_probability(prime, buckets):
    for x, y in product(range(prime), repeat=2):
        shared = sum(
            (slope * x + shift) % prime % buckets == (slope * y + shift) % prime % buckets
            for slope in range(1, prime)
            for shift in range(prime)
        )
        wanted = 1 if x == y else collision(prime, buckets)
        assert Fraction(shared, prime * (prime - 1)) == wanted
    assert collision(prime, buckets) < Fraction(1, buckets)


def hashed(family, seeds, values, categories):
    """Hash every category for every report, and compare."""
    buckets = family.buckets_of(seeds[:, None], np.arange(categories))
    return np.count_nonzero(buckets == values[:, None], axis=0)


CASES = [(2, 2), (3, 2), (5, 2), (5, 5), (12, 3), (40, 7), (90, 5), (97, 96), (97, 97), (500, 4), (1000, 2)]


@pytest.mark.parametrize(("categories", "buckets"), CASES)
@pytest.mark.parametrize("loop", [None, fitting], ids=["numpy", "loop"])
def test_all_ways_of_counting_agree_with_hashing(categories, buckets, loop):
    """Whatever the longest stride, and many reports of one hash function among them."""
    family = AffineFamily(prime_from(categories), buckets)
    rng = np.random.default_rng(categories)
    count = 5000 if loop is None else 60
    seeds, values = rng.integers(0, family.seeds, count), rng.integers(0, buckets, count)
    seeds[::3] = seeds[0]
    one = hashed(family, seeds, values, family.prime).tolist()
    assert family._supports_by_element(seeds, values, loop).tolist() == one
    assert family._supports_by_slope(seeds, values).tolist() == one
    if family.seeds * buckets < 1 << 20:
        times = np.bincount(seeds * buckets + values, minlength=family.seeds * buckets)
        assert family.supports_of_counts(times).tolist() == one
    if buckets < family.prime:
        for longest in {1, 2, family.prime // 7, family.prime // 2} & set(range(1, family.prime)):
            assert family._supports_by_stride(seeds, values, longest, loop).tolist() == one
    assert family.supports(seeds, values, categories).tolist() == one[:categories]
    few = family.supports(seeds[:1], values[:1], categories).tolist()
    assert few == hashed(family, seeds[:1], values[:1], categories).tolist()


@pytest.mark.parametrize("categories", [16_000, 40_000])
def test_large_fields_are_counted_as_by_hashing(categories):
    """Products with elements fit 32 bits below a field of 2^14; a few categories decide."""
    family, buckets = AffineFamily(prime_from(categories), 4), 4
    rng = np.random.default_rng(1)
    seeds, values = rng.integers(0, family.seeds, 3000), rng.integers(0, buckets, 3000)
    seeds[:2], values[:2] = (0, family.seeds - 1), buckets - 1
    counts = family.supports(seeds, values, categories)
    numbers = np.concatenate([[0, 1, categories - 1], rng.integers(0, categories, 50)])
    one = np.count_nonzero(family.buckets_of(seeds[:, None], numbers) == values[:, None], axis=0)
    assert counts[numbers].tolist() == one.tolist()
    assert np.array_equal(family._supports_by_element(seeds, values, None)[:categories], counts)
    assert np.array_equal(family._supports_by_stride(seeds, values, 3000, None)[:categories], counts)


@pytest.mark.parametrize("prime", [2, 3, 13, 101])
def test_strides_are_the_best_there_are(prime):
    slopes = np.arange(1, prime)
    for longest in range(1, max(prime // 2, 1) + 1):
        strides, moves = least_moves(slopes, prime, longest)
        products = slopes[:, None] * np.arange(1, longest + 1) % prime
        assert strides.min() >= 1
        assert strides.max() <= longest
        assert ((moves - slopes * strides) % prime == 0).all()
        assert np.abs(moves).tolist() == np.minimum(products, prime - products).min(axis=1).tolist()


def test_counting_in_parts_is_counting_at_once(monkeypatch):
    family = AffineFamily(67, 4)
    rng = np.random.default_rng(3)
    seeds, values = rng.integers(0, family.seeds, 900), rng.integers(0, 4, 900)
    whole = family.supports(seeds, values, 64).tolist()
    monkeypatch.setattr("mechdesign.primitives.hashing.PART", 100)
    monkeypatch.setattr("mechdesign.primitives.hashing.BLOCK", 50)
    assert family.supports(seeds, values, 64).tolist() == whole
    assert family._supports_by_element(seeds, values, None)[:64].tolist() == whole
    assert family._supports_by_slope(seeds, values)[:64].tolist() == whole
    assert family._supports_by_stride(seeds, values, 5, None)[:64].tolist() == whole


@pytest.mark.parametrize(
    ("categories", "buckets", "reports", "way"),
    [
        (1031, 1031, 10_000, "element"),
        (1031, 300, 10_000, "element"),
        (1031, 4, 50, "element"),
        (1031, 4, 10_000, "stride"),
        (1031, 4, 250_000, "slope"),
        (4099, 4, 250_000, "stride"),
    ],
)
def test_the_quickest_way_is_taken(monkeypatch, categories, buckets, reports, way):
    """Many buckets leave a report few categories; many reports share strides, and slopes of small fields."""
    monkeypatch.setenv("MECHDESIGN_KERNELS", "off")
    family, taken = AffineFamily(categories, buckets), []
    for name in ("element", "slope", "stride"):
        monkeypatch.setattr(
            AffineFamily,
            f"_supports_by_{name}",
            lambda *_, name=name: taken.append(name) or np.zeros(categories, dtype=np.int64),
        )
    none = np.zeros(reports, dtype=np.int64)
    family.supports(none, none, categories)
    assert taken == [way]


@pytest.mark.parametrize("longest", [None, 3])
def test_no_array_of_reports_by_categories_is_made(longest):
    """200 000 reports of 1024 categories: such an array would take 195 MiB even as bytes.

    Nor is one where all reports have the same hash function, and so the same stride.
    """
    oracle = LocalHashing.of(1024, 1.0, 4)
    reports = oracle.randomize(np.arange(200_000) % 1024, rng=1)
    if longest:
        reports = reports % 4 + 4 * 700_001
    tracemalloc.start()
    oracle.count(reports)
    oracle.family._supports_by_element(*np.divmod(reports, 4), None)
    if longest:
        oracle.family._supports_by_stride(*np.divmod(reports, 4), longest, None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20


def test_counts_grow_linearly_with_categories():
    """Additions to tables and sums of them for 16 times as many categories: within a quarter of 16 times."""

    def additions(categories):
        family, reports = AffineFamily(prime_from(categories), 4), 100_000
        seeds = np.random.default_rng(2).integers(0, family.seeds, reports)
        longest = family._longest_stride(reports, PLAIN)
        moves = np.abs(least_moves(seeds // family.prime + 1, family.prime, longest)[1])
        return int(2 * moves.sum()) + longest * family.prime

    small, large = additions(65_536), additions(1_048_576)
    assert large < 1.25 * 16 * small
    assert large < 100_000 * 1_048_576 / 4 / 30  # of one addition for each element of a bucket


def test_the_transform_is_the_matrix():
    size = 16
    signs = np.array([[(-1) ** (x & y).bit_count() for y in range(size)] for x in range(size)])
    counts = np.random.default_rng(1).integers(0, 1000, size)
    assert hadamard_transform(counts).tolist() == (signs @ counts).tolist()
    assert counts.tolist() == np.random.default_rng(1).integers(0, 1000, size).tolist()


@pytest.mark.parametrize(("field", "digits"), [(2, 2), (2, 5), (3, 3), (5, 2), (5, 3), (7, 3)])
def test_points_and_hyperplanes(field, digits):
    """Any two points are on equally many hyperplanes; numbers and vectors match; both ways count alike."""
    space = ProjectiveSpace(field, digits)
    numbers = np.arange(space.size)
    vectors = space.vectors(numbers)
    assert len({tuple(vector) for vector in vectors.tolist()}) == space.size
    for factor in range(1, field):
        assert space.numbers_of(vectors * factor % field).tolist() == numbers.tolist()
    incident = vectors @ vectors.T % field == 0
    shared = incident.astype(int) @ incident.astype(int).T
    assert set(np.diag(shared)) == {space.on_hyperplane}
    assert set(shared[~np.eye(space.size, dtype=bool)]) == {space.on_two}
    counts = np.random.default_rng(field).integers(0, 9, space.size)
    for number in (1, space.size // 2, space.size):
        wanted = (incident @ counts)[:number].tolist()
        assert space._covered_by_products(counts, number).tolist() == wanted
        assert space._covered_by_digits(counts, number).tolist() == wanted
        assert space.covered(counts, number).tolist() == wanted


def test_fields_that_are_none_are_refused():
    for field in (1, 4, 6, 9, 1 << 13, 2.0):
        with pytest.raises(ParameterError, match="field"):
            ProjectiveGeometry.of(10, 1.0, field)


# Reports that nobody made

SETS = SubsetSelection.of(10, 1.0, 3)
BITS = UnaryEncoding.optimised(10, 1.0)


@pytest.mark.parametrize("oracle", [SETS, BITS], ids=["sets", "bits"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "xe00",
        "xe0000",
        "e000",
        "xe0g0",
        "xe0 0",
        "Xe000",
        "xe0é0",
        "x+100",
        7,
        None,
        7.5,
        "x\u0660000",
    ],
)
def test_texts_that_are_no_report_are_refused_with_their_row(oracle, text):
    reports = np.array(["xe000", text], dtype=object)
    with pytest.raises(DataError, match=r"^reports: row 2: .* is not a report"):
        oracle.aggregator().update(reports)


def test_bits_beyond_the_categories_and_sets_of_another_size_are_refused():
    with pytest.raises(DataError, match="row 1: has a bit beyond the 10 categories"):
        BITS.aggregator().update(np.array(["xe020"]))
    with pytest.raises(DataError, match="row 2: a set of 4 categories, not of 3"):
        SETS.aggregator().update(np.array(["xE000", "xF000"]))
    with pytest.raises(DataError, match="3 bytes each, 2 are expected"):
        SETS.aggregator().update(np.zeros((1, 3), dtype=np.uint8))
    with pytest.raises(DataError, match="expected one column"):
        SETS.aggregator().update(np.zeros((1, 2)))


@pytest.mark.parametrize("oracle", [LocalHashing.of(10, 1.0, 4), HadamardResponse.of(10, 1.0)])
@pytest.mark.parametrize("report", [-1, 2**62, 1.5, "x3", None])
def test_numbers_that_are_no_report_are_refused(oracle, report):
    counter = oracle.aggregator()
    with pytest.raises(DataError, match=r"^reports: "):
        counter.update(np.array([0, report], dtype=object))
    assert counter.users == 0
    last = 1 << oracle.report_bits if isinstance(oracle, HadamardResponse) else oracle.reports
    with pytest.raises(DataError, match="row 1: unknown category"):
        counter.update([last])
    counter.update([last - 1])
    assert counter.users == 1


def test_sizes_that_make_no_oracle_are_refused():
    for make in (
        lambda: SubsetSelection.of(5, 1.0, 5),
        lambda: SubsetSelection.of(5, 1.0, 0),
        lambda: LocalHashing.of(5, 1.0, 1),
        lambda: LocalHashing.of(5, 1.0, 6),
        lambda: UnaryEncoding.optimised(1, 1.0),
        lambda: UnaryEncoding.optimised(1 << 17, 1.0),
        lambda: HadamardResponse.of(1 << 21, 1.0),
        lambda: HadamardResponse.of(5, float("nan")),
        lambda: UnaryEncoding.optimised(3, 1.0, ["a", "b"]),
    ):
        with pytest.raises(ParameterError):
            make()


def test_a_seed_gives_the_same_reports_in_blocks_as_at_once():
    answers = np.arange(1 << 19) % 3
    for oracle in (
        UnaryEncoding.optimised(3, 1.0),
        SubsetSelection.of(3, 1.0, 1),
        LocalHashing.of(3, 1.0, 2),
    ):
        whole = oracle.randomize(answers, rng=8)
        rng = oracle.seeded(8)
        parts = [oracle.randomize(part, rng=rng) for part in np.split(answers, 2)]
        assert np.array_equal(whole, np.concatenate(parts))
