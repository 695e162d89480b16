"""Decisions from the first digits of a number: those of all its digits."""

import numpy as np
import pytest

from mechdesign.exact.draws import FEW
from mechdesign.exact.randomness import TOTAL, NumpySource, bit_source
from mechdesign.families.marginals.oracles.blocks import below_weight, digits
from mechdesign.families.mean import CensoringInterval, Duchi
from tests.support.heads import decided

USERS = 3000


class Near(NumpySource):
    """Words of which all heads are one of three numbers, so that many heads are equal to a weight's."""

    def __init__(self, seed, middle):
        super().__init__(np.random.default_rng(seed))
        self.middle = middle

    def words(self, count):
        low, high = max(self.middle - 1, 0), min(self.middle + 2, 1 << 16)
        return self.generator.integers(low, high, size=4 * count, dtype=np.uint16).view(np.uint64)


@pytest.mark.parametrize("weight", [0, 1, 1 << 46, (1 << 46) - 1, TOTAL // 3, TOTAL - 1, TOTAL])
def test_decisions_are_those_of_whole_numbers(weight):
    wanted, equal = decided([weight] * USERS, Near(1, weight >> 46))
    assert below_weight(weight, USERS, Near(1, weight >> 46)).tolist() == wanted
    assert equal > USERS // 4 or weight == TOTAL


def test_few_decisions_read_what_a_client_reads():
    weight = TOTAL // 3
    found = below_weight(weight, FEW - 1, bit_source(2))
    assert found.tolist() == [number < weight for number in bit_source(2).integers(FEW - 1).tolist()]
    assert digits(5, 9, bit_source(2)).tolist() == [n % 32 for n in bit_source(2).integers(9).tolist()]


@pytest.mark.parametrize(
    ("width", "kind"), [(0, "u1"), (8, "u1"), (9, "u2"), (17, "u4"), (33, "i8"), (62, "i8")]
)
def test_digits_are_uniform_and_short(width, kind):
    """Every digit is 1 for half of the numbers; four standard deviations, 125 digits: error below 1 %."""
    drawn = digits(width, USERS, bit_source(3))
    assert drawn.dtype == kind
    assert drawn.min() >= 0
    assert int(drawn.max()).bit_length() <= width
    ones = [int((drawn >> place & 1).sum()) for place in range(width)]
    assert all(abs(count - USERS / 2) < 4 * (USERS / 4) ** 0.5 for count in ones)


BITS = [
    Duchi(1.0),
    Duchi(0.3, low=5.0, high=5.1),
    Duchi(2.0, low=1e9, high=1e9 + 3.0),
    Duchi(10.5, low=0.0, high=7.0),
    CensoringInterval.from_interval(0.0, 0.3, 1.0, 0.1, low=-1.0),
]


def weights_of(mechanism, values):
    domain, span = mechanism.domain, mechanism.hi - mechanism.lo
    units = [min(max((value - domain.low) / domain.width, 0.0), 1.0) for value in values.tolist()]
    return [mechanism.lo + min(int(unit * float(span)), span) for unit in units]


def require_whole(mechanism, values, middle):
    """Compare bits with those of whole numbers with heads around one; return how many heads are equal."""
    wanted, equal = decided(weights_of(mechanism, values), Near(8, middle))
    assert mechanism._draw_values(values, Near(8, middle)).tolist() == wanted
    return equal


@pytest.mark.parametrize("mechanism", BITS)
def test_bits_next_to_their_weight_are_those_of_whole_numbers(mechanism):
    """All values have almost the same weight; every head differs from the weight's head by at most 1."""
    domain = mechanism.domain
    values = domain.low + domain.width * (0.4 + np.random.default_rng(7).uniform(-1e-7, 1e-7, USERS))
    assert require_whole(mechanism, values, weights_of(mechanism, values[:1])[0] >> 46) > USERS // 10


@pytest.mark.parametrize("mechanism", BITS)
def test_bits_where_rounding_decides_about_the_head_are_those_of_whole_numbers(mechanism):
    """Values a few units in the last place around those at which the weight's head changes."""
    domain, span = mechanism.domain, mechanism.hi - mechanism.lo
    for part in (0.003, 0.2, 0.5, 0.77, 0.998):
        head = ((mechanism.lo + int(part * span)) >> 46) + 1
        middle = domain.low + domain.width * (((head << 46) - mechanism.lo) / span)
        values = middle + np.spacing(middle) * (np.arange(USERS) % 41 - 20)
        assert require_whole(mechanism, values, head) > USERS // 10


class Tied(NumpySource):
    """Whole numbers that are equal to a weight, or the next one below."""

    def __init__(self, weight):
        super().__init__(np.random.default_rng(0))
        self.weight = weight

    def words(self, count):
        return np.full(4 * count, self.weight >> 46, dtype=np.uint16).view(np.uint64)

    def integers(self, count):
        return ((self.weight - np.arange(count) % 2) & ((1 << 46) - 1)) << 16


def test_a_number_equal_to_its_weight_is_not_below_it():
    weight = TOTAL // 3
    assert below_weight(weight, USERS, Tied(weight)).tolist() == [False, True] * (USERS // 2)


@pytest.mark.parametrize("epsilon", [11.0, 12.0, 40.0])
def test_weights_at_the_ends_are_met_as_often_as_they_should(epsilon):
    """From 12 on the weight of the low end is below 2**46, and whole numbers are compared."""
    mechanism = Duchi(epsilon)
    values = np.tile([-1.0, 1.0], USERS)
    found = mechanism.randomize(values, rng=4)
    assert found[1::2].sum() >= USERS - 2
    assert found[::2].sum() <= 2


def test_a_weight_of_zero_is_never_met():
    mechanism = CensoringInterval(0, TOTAL // 10, 0.5, 0.2)
    assert mechanism.randomize(np.full(USERS, mechanism.domain.low), rng=4).sum() == 0


def test_shares_of_a_batch_are_those_of_the_weights():
    """Four standard deviations: error 6e-5."""
    mechanism, users = Duchi(1.0), 200_000
    for value in (-1.0, 0.2, 1.0):
        ones = int(mechanism.randomize(np.full(users, value), rng=9).sum())
        share = (mechanism.lo + (value + 1) / 2 * (mechanism.hi - mechanism.lo)) / TOTAL
        assert abs(ones - users * share) < 4 * (users * share * (1 - share)) ** 0.5
