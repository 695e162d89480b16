"""With and without compiled loops every report is the same for the same bytes."""

import importlib.util
import tracemalloc

import numpy as np
import pytest

from mechdesign.core.errors import ParameterError
from mechdesign.exact import bits
from mechdesign.exact.bits import compiled, settle_bits, shortened
from mechdesign.exact.draws import bernoulli_words
from mechdesign.exact.randomness import TOTAL, NumpySource, bit_source
from mechdesign.families.marginals.oracles import (
    HadamardResponse,
    LocalHashing,
    SubsetSelection,
    UnaryEncoding,
)
from mechdesign.families.marginals.oracles.blocks import dense_subsets, share_of
from mechdesign.families.marginals.oracles.support import corrected, of_parity, own_bits
from mechdesign.families.marginals.sets.shapes import floyd_members, packed_subsets
from mechdesign.families.mean import CensoringInterval, Duchi
from mechdesign.families.mean.bits import below_heads
from mechdesign.primitives.hashing import fitting, running
from mechdesign.primitives.kary import KaryResponse
from tests.support.heads import decided

HAS_NUMBA = importlib.util.find_spec("numba") is not None

MECHANISMS = {
    "unary 5": UnaryEncoding.optimised(5, 1.0),
    "unary 64": UnaryEncoding.symmetric(64, 0.7),
    "unary 300": UnaryEncoding.optimised(300, 3.0),
    "subset 4": SubsetSelection.of(4, 1.0, 1),
    "subset 20": SubsetSelection.of(20, 0.5, 8),
    "subset 64": SubsetSelection.of(64, 1.0, 17),
    "k-ary 7": KaryResponse.of(7, 1.0),
    "hadamard 50": HadamardResponse.of(50, 1.0),
    "hashing 4": LocalHashing.of(4, 1.0, 2),
    "hashing 1000": LocalHashing.of(1000, 2.0, 8),
    "duchi": Duchi(1.0),
    "interval": CensoringInterval.from_interval(0.0, 0.3, 1.0, 0.1, low=-1.0),
    "subset 100, most": SubsetSelection.of(100, 0.1, 70),
}


@pytest.fixture
def plain(monkeypatch):
    """Loops that are used but not compiled, so that this can be tested without numba."""
    monkeypatch.setenv("MECHDESIGN_KERNELS", "on")
    monkeypatch.setattr(bits, "_machine_code", lambda loop: loop)


def answers_of(mechanism, users):
    size = getattr(mechanism, "labels", None)
    return np.arange(users) * 7 % size.size if size is not None else np.linspace(-1.0, 1.0, users)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_loop_makes_the_same_reports_and_leaves_the_source_where_it_was(name, plain, monkeypatch):
    mechanism = MECHANISMS[name]
    made = []
    for choice in ("on", "off"):
        monkeypatch.setenv("MECHDESIGN_KERNELS", choice)
        generator = np.random.default_rng(5)
        reports = mechanism.randomize(answers_of(mechanism, 700), rng=generator)
        made.append((reports.tobytes(), int(generator.integers(1 << 62))))
    assert made[0] == made[1]


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
@pytest.mark.parametrize("name", MECHANISMS)
def test_numba_makes_the_same_reports(name, monkeypatch):
    mechanism = MECHANISMS[name]
    made = []
    for choice in ("on", "off"):
        monkeypatch.setenv("MECHDESIGN_KERNELS", choice)
        reports = mechanism.randomize(answers_of(mechanism, 20_000), rng=11)
        made.append((reports.tobytes(), np.atleast_1d(mechanism.estimate(reports).value).tolist()))
    assert made[0] == made[1]


@pytest.mark.parametrize("choice", ["on", "off"])
@pytest.mark.parametrize("users", [300, 70_000])
def test_duchis_bits_are_those_of_single_numbers(users, choice, monkeypatch):
    """Values beyond the range, the ends, a column of a table, more than a piece of numpy's and a block."""
    monkeypatch.setenv("MECHDESIGN_KERNELS", choice)
    mechanism = Duchi(1.0, low=-3.0, high=0.7)
    values = np.random.default_rng(4).uniform(-5.0, 2.0, (users, 2))[:, 0]
    values[:4] = -3.0, 0.7, 0.0, 3e-320
    reports = mechanism.randomize(values, rng=np.random.default_rng(6), clip=True)
    source, span, wanted = NumpySource(np.random.default_rng(6)), mechanism.hi - mechanism.lo, []
    for start in range(0, users, 1 << 16):
        units = [
            min(max((value + 3.0) / mechanism.domain.width, 0.0), 1.0) for value in values[start:][: 1 << 16]
        ]
        weights = [mechanism.lo + min(int(unit * float(span)), span) for unit in units]
        wanted += compared(weights, source)
    assert reports.tolist() == wanted


def compared(weights, source):
    """Return which numbers are below the weights: 16 digits first, the others where these are equal."""
    if len(weights) < 512:
        return [
            number < weight
            for number, weight in zip(source.integers(len(weights)).tolist(), weights, strict=True)
        ]
    return decided(weights, source)[0]


LOOPS = (settle_bits, shortened, own_bits, corrected, floyd_members, of_parity, fitting, running, below_heads)


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
def test_every_loop_compiles(monkeypatch):
    monkeypatch.setenv("MECHDESIGN_KERNELS", "on")
    for loop in LOOPS:
        assert compiled(loop, 0) is not loop


@pytest.mark.parametrize(("categories", "buckets"), [(5, 2), (30, 4), (30, 31), (200, 3)])
def test_counts_of_local_hashing_are_the_same(categories, buckets, plain, monkeypatch):
    mechanism = LocalHashing.of(categories, 1.0, buckets)
    reports = mechanism.randomize(np.arange(400) % categories, rng=2)
    counts = []
    for choice in ("on", "off"):
        monkeypatch.setenv("MECHDESIGN_KERNELS", choice)
        counts.append(mechanism.count(reports).tolist())
    assert counts[0] == counts[1]


@pytest.mark.parametrize(("categories", "buckets"), [(4, 3), (30, 4)])
def test_many_reports_are_counted_as_a_few_are(categories, buckets):
    """Of many reports it is counted first how often each was made; of few each is looked at."""
    mechanism = LocalHashing.of(categories, 1.0, buckets)
    reports = mechanism.randomize(np.arange(30_000) % categories, rng=2)
    parts = sum(mechanism.count(reports[start : start + 50]) for start in range(0, 30_000, 50))
    assert mechanism.count(reports).tolist() == parts.tolist()


class Forged(NumpySource):
    """Integers of which some are the largest there are, and so are drawn again below most limits."""

    def integers(self, count):
        drawn = super().integers(count)
        drawn[drawn % 5 == 0] = TOTAL - 1
        return drawn


def test_numbers_that_are_drawn_again_are_the_same_ones(plain, monkeypatch):
    without = np.arange(50) % 7
    made = []
    for choice in ("on", "off"):
        monkeypatch.setenv("MECHDESIGN_KERNELS", choice)
        source = Forged(np.random.default_rng(3))
        made.append((packed_subsets(without, 7, 3, source).tobytes(), source.words(1).tolist()))
    assert made[0] == made[1]


@pytest.mark.parametrize("weight", [1, TOTAL // 3, TOTAL // 2, TOTAL - 1, TOTAL])
def test_bernoulli_words_are_the_same(weight, plain, monkeypatch):
    made = []
    for choice in ("on", "off"):
        monkeypatch.setenv("MECHDESIGN_KERNELS", choice)
        made.append(bernoulli_words(300, weight, bit_source(9)).tolist())
    assert made[0] == made[1]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_repaired_sets_are_uniform(size):
    """All sets of a size out of 4 others are equally frequent: chi-square within 5 standard deviations."""
    users = 24_000
    for share in (TOTAL // 8, TOTAL // 2, TOTAL // 8 * 7):
        sets = dense_subsets(np.full(users, 2), np.full(users, size), 5, share, bit_source(17))
        assert not sets[:, 1:].any()
        counts = np.bincount(sets[:, 0], minlength=256)
        possible = [code << 3 for code in range(32) if code.bit_count() == size and not code >> 2 & 1]
        found, expected = counts[possible], users / len(possible)
        assert found.sum() == users
        freedom = len(possible) - 1
        assert ((found - expected) ** 2 / expected).sum() < freedom + 5 * (2 * freedom) ** 0.5


def test_large_sets_have_their_size_and_hold_the_own_category_as_often_as_stated():
    """Within 5 standard errors of the stated chance."""
    mechanism, users = SubsetSelection.of(256, 1.0, 69), 20_000
    answers = np.arange(users) % 256
    sets = np.unpackbits(mechanism.randomize(answers, rng=4), axis=1)
    assert (sets.sum(axis=1) == 69).all()
    own, other = map(float, mechanism.support_shares())
    assert abs(sets[np.arange(users), answers].mean() - own) < 5 * (own * (1 - own) / users) ** 0.5
    neighbour = sets[np.arange(users), (answers + 1) % 256].mean()
    assert abs(neighbour - other) < 5 * (other * (1 - other) / users) ** 0.5


@pytest.mark.parametrize(("categories", "size"), [(64, 17), (1024, 276), (65_536, 17_000)])
def test_the_share_before_the_repair_is_a_standard_deviation_off_at_most(categories, size):
    deviation = (size * (categories - size) / categories) ** 0.5
    assert abs(share_of(categories, size) / TOTAL * categories - size) < 1.5 * deviation


def test_a_compiler_waits_until_there_was_work(monkeypatch):
    monkeypatch.delenv("MECHDESIGN_KERNELS", raising=False)
    monkeypatch.setattr(bits, "_machine_code", lambda loop: loop)
    monkeypatch.setattr(bits._Spent, "nanoseconds", 0)
    assert compiled(settle_bits, bits.PATIENCE - 1) is None
    assert compiled(settle_bits, 1) is None
    assert compiled(settle_bits, 1) is settle_bits
    monkeypatch.setenv("MECHDESIGN_KERNELS", "off")
    assert compiled(settle_bits, 1) is None
    monkeypatch.setenv("MECHDESIGN_KERNELS", "fast")
    with pytest.raises(ParameterError, match=r"^MECHDESIGN_KERNELS: expected auto, on, off, got 'fast'"):
        compiled(settle_bits, 1)


@pytest.mark.parametrize(
    "name", [name for name in MECHANISMS if name not in ("unary 300", "subset 100, most")]
)
def test_memory_does_not_grow_with_the_users(name):
    """Beside answers and reports 24 MiB at most, for a quarter of a million users, who fill it in blocks."""
    mechanism = MECHANISMS[name]
    answers = answers_of(mechanism, 1 << 18)
    source = bit_source(1)
    tracemalloc.start()
    try:
        reports = mechanism.draw(answers, source) if hasattr(mechanism, "labels") else None
        if reports is None:
            reports = mechanism.randomize(answers, rng=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - reports.nbytes < 24 << 20
