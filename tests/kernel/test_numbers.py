"""The gate: every guise of a number becomes the same plain number, and all else is refused."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mechdesign.core.errors import ParameterError
from mechdesign.core.validation import (
    as_written,
    exact_number,
    integer,
    one_of,
    privacy_delta,
    privacy_epsilon,
)
from mechdesign.exact.numbers import (
    double,
    doubles,
    frozen,
    number_of_text,
    plain,
    plain_int,
    rational,
    text_of,
    wholes,
)
from mechdesign.families.contract.incentives import rationals
from tests.support.attacks import (
    NO_NUMBERS,
    LyingFloat,
    LyingInt,
    Turncoat,
    guises_of_distances,
    guises_of_integers,
    guises_of_number,
)

WHOLE = [[0, 1, 2**62], [2**53 + 1, 2**62 - 1, 7]]
SMALL = [[0, 1, 127], [3, 5, 100]]
STEPS = [[Fraction(0), Fraction(1, 8), Fraction(3)], [Fraction(100), Fraction(5, 4), Fraction(2)]]
FINE = [[Fraction(0.1), Fraction(2.0**-1074), Fraction(1e300)], [Fraction(1.0), Fraction(2), Fraction(3)]]


@pytest.mark.parametrize("rows", [WHOLE, SMALL])
def test_every_guise_of_integers_is_the_same_plain_array(rows):
    for name, guise in guises_of_integers(rows).items():
        array = wholes("weights", guise, 2)
        assert type(array) is np.ndarray, name
        assert array.dtype == np.dtype("=i8"), name
        assert array.flags.c_contiguous, name
        assert array.tolist() == rows, name


@pytest.mark.parametrize("rows", [STEPS, FINE])
def test_every_guise_of_distances_is_the_same_plain_array(rows):
    for name, guise in guises_of_distances(rows).items():
        array = doubles("distance", guise, 2)
        assert type(array) is np.ndarray, name
        assert array.dtype == np.dtype("=f8"), name
        assert [[Fraction(entry) for entry in row] for row in array.tolist()] == rows, name


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_guise_of_one_number_is_that_double(value):
    for name, guise in guises_of_number(Fraction(value)).items():
        result = double("epsilon", guise)
        assert type(result) is float, name
        assert result == value, name
        assert rational("epsilon", guise) == Fraction(value)


@given(st.integers(-(2**80), 2**80))
def test_integers_are_doubles_exactly_or_refused(value):
    for guise in (value, LyingInt(value), Fraction(value), Decimal(value)):
        if Fraction(float(value)) == value:
            assert double("budget", guise) == value
            assert doubles("budget", [guise, 0.5], 1).tolist() == [float(value), 0.5]
        else:
            with pytest.raises(ParameterError, match=r"^budget: .*between two doubles"):
                double("budget", guise)
            with pytest.raises(ParameterError, match=r"^budget: entry 0: .*between two doubles"):
                doubles("budget", [guise, 0.5], 1)
            assert doubles("budget", [guise, 0.5], 1, rounded=True)[0] == float(value)


STATED = {
    "text": Fraction(1),
    "numpy text": Fraction(1),
    "between doubles": Fraction(1, 3),
    "decimal between doubles": Fraction(1, 10),
    "long double between doubles": Fraction(*(np.longdouble(1) / 3).as_integer_ratio()),
}
"""What is not a double, and states a number exactly: an epsilon or a delta may be given so."""


@pytest.mark.parametrize("name", STATED)
def test_a_stated_number_is_kept_as_a_double_that_stands_for_no_more(name):
    value = NO_NUMBERS[name]
    assert exact_number("epsilon", value) == STATED[name]
    for read in (privacy_epsilon, privacy_delta)[: 1 if STATED[name] == 1 else 2]:
        found = read(value)
        assert type(found) is float
        assert as_written(found) <= STATED[name]
        assert float(STATED[name]) - found <= math.ulp(found)


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_what_is_no_finite_double_is_refused_in_one_line(name):
    value = NO_NUMBERS[name]
    for read in (privacy_epsilon, privacy_delta) if name not in STATED else ():
        with pytest.raises(ParameterError) as caught:
            read(value)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 200
    with pytest.raises(ParameterError, match=r"^tasks: (expected a whole number|.* is not from)"):
        integer("tasks", value, 0, 9)
    for rows in ([[0.0, value], [1.0, 0.0]], [[value, value], [value, value]]):
        if name not in ("infinity", "decimal infinity"):
            with pytest.raises(ParameterError, match=r"^distance: "):
                doubles("distance", rows, 2)
        with pytest.raises(ParameterError, match=r"^weights: "):
            wholes("weights", rows, 2)
    if name not in ("decimal between doubles", "between doubles", "long double between doubles", "huge"):
        with pytest.raises(ParameterError, match=r"^payment: "):
            rationals("payment", [1, value])


@pytest.mark.parametrize(
    "array",
    [
        np.array([[True, False], [False, True]]),
        np.array([["0", "1"], ["1", "0"]]),
        np.array([[b"0", b"1"], [b"1", b"0"]]),
        np.array([[0, 1], [1, 0]], dtype=complex),
        np.array([[0, 1], [1, 0]], dtype="m8[s]"),
        np.array([[0, 1], [1, 0]], dtype="M8[s]"),
        np.array([[(0,), (1,)], [(1,), (0,)]], dtype=[("a", float)]),
        np.ma.masked_array([[0.0, 1.0], [1.0, 0.0]], mask=[[False, True], [False, False]]),
        np.array([0.0, 1.0]),
        np.array(1.0),
        np.zeros((2, 2, 1)),
        [[0.0, 1.0], [1.0]],
        [[0, True], [1, 0]],
        [[0.0, [1.0]], [1.0, 0.0]],
        "line",
        {"a": 1},
    ],
)
def test_arrays_that_hold_no_numbers_are_refused_in_one_line(array):
    for read in (doubles, wholes):
        with pytest.raises(ParameterError, match=r"^field: ") as caught:
            read("field", array, 2)
        assert "\n" not in str(caught.value)


def test_whole_numbers_beyond_64_bits_do_not_wrap():
    for guise in (np.array([2**63], dtype=np.uint64), [2**63], [np.uint64(2**64 - 1)], [-(2**63) - 1]):
        with pytest.raises(ParameterError, match="beyond 64 bits"):
            wholes("counts", guise, 1)
    assert wholes("counts", np.array([2**63 - 1], dtype=np.uint64), 1).tolist() == [2**63 - 1]


@pytest.mark.parametrize(
    "array",
    [
        np.array([1, 2], dtype=np.longdouble) / 3,
        np.array([1, np.longdouble(2) ** 2000]),
        np.array([1, 2**53 + 1]),
        np.array([1, -(2**53) - 1]),
        np.array([1, 2**64 - 1], dtype=np.uint64),
    ],
    ids=["thirds", "beyond doubles", "odd", "negative", "unsigned"],
)
def test_arrays_between_doubles_are_refused(array):
    with pytest.raises(ParameterError, match=r"^distance: entry [01]: "):
        doubles("distance", array, 1)


def test_a_list_keeps_the_digits_that_a_common_dtype_would_lose():
    assert wholes("counts", [2**62 + 1, np.uint64(1)], 1).tolist() == [2**62 + 1, 1]
    assert rationals("payment", [2**62 + 1, 0.5]) == [2**62 + 1, 0.5]


def test_nobody_can_change_what_was_read():
    given_array = np.array([[1, 2], [3, 4]])
    read = wholes("weights", given_array, 2)
    given_array[0, 0] = 9
    assert read.tolist() == [[1, 2], [3, 4]]
    for array in (read, read.view(), read[:1], read.T, wholes("weights", read, 2)):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 9
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)
    locked = np.array([[1, 2], [3, 4]])
    locked.setflags(write=False)
    assert wholes("weights", locked, 2) is not locked  # its owner can unlock it
    assert wholes("weights", read, 2) is read


def test_numbers_that_change_between_reads_are_read_once():
    turncoat = Turncoat([[1, 2], [3, 4]], [[0, 0], [0, 0]])
    assert wholes("weights", turncoat, 2).tolist() == [[1, 2], [3, 4]]
    assert turncoat.reads == 1


def test_no_class_decides_what_equals_it_or_how_it_is_shown():
    class Rude:
        def __repr__(self):
            raise RuntimeError("no")

    class Disguised:
        __class__ = int  # type: ignore[assignment]

    class Word(str):
        __slots__ = ()

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 1

    assert text_of(Rude()) == "a Rude"
    assert "\n" not in text_of("a\nb" * 100)
    assert len(text_of("x" * 1000)) == 60
    for stranger in (Rude(), Disguised()):
        assert plain(stranger) is None
    with pytest.raises(ParameterError, match="expected a whole number"):
        plain_int("size", Disguised())
    with pytest.raises(ParameterError, match="is not a choice"):
        one_of("notion", Word("no such"), ("set-wise",))
    assert type(one_of("notion", Word("set-wise"), ("set-wise",))) is str
    assert math.isnan(plain(LyingFloat("nan")))  # type: ignore[arg-type]


def test_an_empty_array_is_frozen_too():
    assert frozen(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("text", ["0", "-1", "+1.5", ".5", "5.", "1e3", "1E-3", " 7", "7\t"])
def test_plain_decimal_texts_are_numbers(text):
    assert number_of_text(text) == float(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1_0",
        "nan",
        "inf",
        "-Infinity",
        "1e999",
        "0x10",
        "１",
        "٣",
        "1,5",
        "1 0",
        "1\n",
        "\n1",
        "1e",
        ".",
    ],
)
def test_other_texts_are_none(text):
    assert number_of_text(text) is None
