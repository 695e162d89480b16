"""Thousands of channels of other programs in all formats, against a judge of its own in fractions."""

from __future__ import annotations

import itertools
import math
import random
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from mechdesign.core.errors import DataError, ParameterError
from mechdesign.foreign import rappor
from mechdesign.foreign.audit import ForeignAudit, log_interval, power, power_above, power_below
from mechdesign.foreign.channels import ForeignChannel
from mechdesign.foreign.files import read_foreign
from mechdesign.foreign.rappor import Rappor

MANY = Context(prec=400, Emin=-(10**9), Emax=10**9)


def judged(rows: list[list[Fraction]]) -> Fraction | None:
    """Return the largest ratio of all pairs of answers and all reports; None for infinity."""
    scaled = [[entry / sum(row) for entry in row] for row in rows]
    best = Fraction(1)
    for first, second in itertools.permutations(scaled, 2):
        for one, other in zip(first, second, strict=True):
            if one and not other:
                return None
            if other and one / other > best:
                best = one / other
    return best


def of_size(rng: random.Random, low: int, high: int) -> str:
    """Return a decimal of a few digits whose power of ten is between two bounds."""
    return f"{rng.randrange(1, 1000)}e{rng.randrange(low, high)}"


def written_rows(rng: random.Random) -> list[list[str]]:
    """Return rows as texts: reports that are tiny next to their rows, scaled rows, zeros, equal ratios."""
    answers, reports = rng.randrange(2, 5), rng.randrange(2, 6)
    rows = [[str(rng.randrange(1, 10)) for _ in range(reports)] for _ in range(answers)]
    for column in range(reports):
        kind = rng.randrange(6)
        if kind == 0:  # quotients around the smallest doubles
            for row in rows:
                row[column] = of_size(rng, -325, -304)
        elif kind == 1:
            for row in rows:
                row[column] = of_size(rng, -700, 700)
        elif kind == 2 and column and rng.random() < 0.3:
            for row in rows:
                row[column] = "0"
        elif kind == 3 and column:  # almost a tie with another report
            for row in rows:
                plain = row[0] if row[0].isdecimal() else "1"
                row[column] = f"{plain}.{'0' * rng.randrange(30)}{rng.randrange(9)}"
    if rng.random() < 0.1:
        rows[rng.randrange(answers)][rng.randrange(1, reports)] = "0"
    for row in rows:
        if rng.random() < 0.5:
            shift = rng.randrange(-350, 350)
            row[:] = [f"{cell}e{shift}" if "e" not in cell else cell for cell in row]
    return rows


def exact(text: str) -> Fraction:
    """Return the number that a decimal states, without the package."""
    digits, _, shift = text.partition("e")
    return Fraction(digits) * Fraction(10) ** int(shift or 0)


@pytest.mark.parametrize("seed", range(4))
def test_written_channels_are_judged_exactly(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    table, document = tmp_path / "a.csv", tmp_path / "a.toml"
    for _ in range(250):
        rows = written_rows(rng)
        numbers = [[exact(cell) for cell in row] for row in rows]
        expected = judged(numbers)
        names = [f"a{number}," for number in range(len(rows))]
        table.write_text("".join(f"{name}{','.join(row)}\n" for name, row in zip(names, rows, strict=True)))
        plain = [[cell if {"e", "."} & set(cell) else f"{cell}.0" for cell in row] for row in rows]
        document.write_text(f"[channel]\nrows = [{', '.join('[' + ', '.join(row) + ']' for row in plain)}]\n")
        for path, named in ((table, "answers"), (document, None)):
            found = read_foreign(str(path), named).mechanism.audit()
            assert found.ratio == expected
            assert found.infinite == (expected is None)


@pytest.mark.parametrize("seed", range(4))
def test_stored_doubles_are_judged_exactly(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    path = tmp_path / "a.npy"
    for _ in range(250):
        rows = rng.integers(1, 10, size=rng.integers(2, 6, size=2)).astype(float)
        rows[:, 0] *= 2.0 ** rng.integers(-1074, -900)
        rows[0] *= 2.0 ** float(rng.integers(0, 900))
        rows = np.maximum(rows, 5e-324)
        rows[rng.random(rows.shape) < 0.02] = 0.0
        if not rows.any(axis=1).all():
            continue
        np.save(path, rows)
        expected = judged([[Fraction(entry) for entry in row] for row in rows.tolist()])
        assert read_foreign(str(path)).mechanism.audit().ratio == expected


def test_quotients_below_the_doubles_decide() -> None:
    rows = [[Fraction(1, 10**150), 9 * Fraction(10) ** 200, Fraction(10) ** 200]]
    rows.append([Fraction(1, 10**150), Fraction(10) ** 200, 9 * Fraction(10) ** 200])
    assert ForeignChannel(rows).audit().ratio == 9
    assert ForeignChannel(np.array(rows, dtype=np.float64)).audit().ratio == judged(
        [[Fraction(entry) for entry in row] for row in np.array(rows, dtype=np.float64).tolist()]
    )


@pytest.mark.parametrize("seed", range(3))
def test_stated_epsilons_are_compared_exactly(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        ratio = 1 + Fraction(rng.randrange(1, 1000), rng.randrange(1, 1000)) * Fraction(10) ** rng.randrange(
            -90, 30
        )
        number = rng.choice((1, 2, 647, 10**6, 10**12))
        top, bottom = Decimal(ratio.numerator), Decimal(ratio.denominator)
        true = MANY.multiply(Decimal(number), MANY.ln(MANY.divide(top, bottom)))
        away = Decimal(10) ** -rng.randrange(1, 150)
        magnitude = power(ratio, number)
        assert magnitude.is_within(Fraction(MANY.multiply(true, MANY.add(Decimal(1), away))))
        assert not magnitude.is_within(Fraction(MANY.multiply(true, MANY.subtract(Decimal(1), away))))
        low, high = magnitude.bounds()
        assert low <= Fraction(true) <= high
        assert (high - low) * 10**40 <= high


def test_an_epsilon_that_nothing_decides_is_refused() -> None:
    close = Context(prec=1700).ln(Decimal(3))
    with pytest.raises(ParameterError, match="write fewer digits"):
        power(Fraction(3)).is_within(Fraction(close))
    assert power(Fraction(1), 10**9).is_within(Fraction(0))
    assert not power(1 + Fraction(1, 10**5000)).is_within(Fraction(0))


@pytest.mark.parametrize("number", [Fraction(1, 7), Fraction(100), Fraction(5000), Fraction(10**9)])
def test_powers_are_enclosed(number: Fraction) -> None:
    least = Fraction(1, 10**3000)
    below, above = power_below(number, 40, least), power_above(number, 40, least)
    true = (
        Fraction(MANY.exp(MANY.divide(Decimal(-number.numerator), Decimal(number.denominator))))
        if number < 10**6
        else 0
    )
    assert below <= true <= above
    assert above - below <= max(least, above / 10**40)


def test_logarithms_of_what_is_almost_one_keep_their_digits() -> None:
    for zeros in (30, 55, 62, 400, 5000):
        low, high = log_interval(1 + Fraction(3, 10**zeros))
        assert 0 < high - low < high / 10**45
        assert low < Fraction(3, 10**zeros)


def bit_laws(mechanism: Rappor, reports: int) -> dict[int, dict[tuple[int, ...], Fraction]]:
    """Return the distribution of the reports of one bit that is not set, and of one that is."""
    laws: dict[int, dict[tuple[int, ...], Fraction]] = {}
    for bit in (0, 1):
        law: dict[tuple[int, ...], Fraction] = {}
        for permanent in (0, 1):
            weight = 1 - mechanism.f / 2 if permanent == bit else mechanism.f / 2
            share = mechanism.q if permanent else mechanism.p
            for sent in itertools.product((0, 1), repeat=reports):
                ones = sum(sent)
                part = weight * share**ones * (1 - share) ** (reports - ones)
                law[sent] = law.get(sent, Fraction(0)) + part
        laws[bit] = law
    return laws


def largest(
    laws: dict[int, dict[tuple[int, ...], Fraction]], first: tuple[int, ...], second: tuple[int, ...]
) -> Fraction | None:
    """Return the largest ratio of two values with these bits, by trying all; None for infinity."""
    best = Fraction(1)
    for one, other in zip(first, second, strict=True):
        ratios = []
        for sent, chance in laws[one].items():
            if chance and not laws[other][sent]:
                return None
            if chance:
                ratios.append(chance / laws[other][sent])
        best *= max(ratios)
    return best


SHARES = [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(3, 4), Fraction(1)]


@pytest.mark.parametrize(("bits", "hashes"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (5, 4), (6, 2)])
def test_rappor_of_all_sizes_and_edges(bits: int, hashes: int) -> None:
    fewest = 0 if bits == 1 else 1
    values = [value for value in itertools.product((0, 1), repeat=bits) if fewest <= sum(value) <= hashes]
    pairs = itertools.permutations(values, 2)
    different = {tuple(sorted(zip(*pair, strict=True))): pair for pair in pairs}  # up to the order of bits
    for p, q, f in itertools.product(SHARES, SHARES, (Fraction(0), Fraction(1, 3), Fraction(1))):
        mechanism = Rappor(bits=bits, hashes=hashes, p=p, q=q, f=f)
        for reports in (1, 3):
            laws = bit_laws(mechanism, reports)
            ratios = [largest(laws, *pair) for pair in different.values()]
            expected = None if None in ratios else max(ratio for ratio in ratios if ratio is not None)
            found = mechanism.audit(reports)
            assert found.infinite == (expected is None)
            assert found.ratio == expected


def test_one_bit_of_rappor_is_a_boolean() -> None:
    example = Rappor(bits=1, hashes=1, p=Fraction(1, 4), q=Fraction(3, 4), f=Fraction(0))
    assert example.audit(1).ratio == 3
    assert example.audit(4).ratio == 81
    assert example.audit(None).infinite
    noisy = Rappor(bits=1, hashes=1, p=Fraction(1, 4), q=Fraction(3, 4), f=Fraction(1, 2))
    assert noisy.audit(1).ratio == Fraction(5, 3)
    assert noisy.audit(None).ratio == 3
    assert noisy.audit(1).witness["answer"] == "true"
    assert "encodeBoolean" in noisy.encoders()
    assert "not bits that are set freely" in Rappor(bits=2, hashes=1, p=0, q=1, f=0.5).encoders()


@pytest.mark.parametrize(
    "shares",
    [("1/2", "3/4", "1/2"), ("1/10", "1/5", "1e-30"), ("9/10", "1/3", "1/7"), ("1/2", "0.5000001", "1/9")],
)
def test_large_numbers_of_reports_are_enclosed(
    shares: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    p, q, f = map(Fraction, shares)
    mechanism = Rappor(bits=8, hashes=2, p=p, q=q, f=f)
    plain = {number: mechanism.audit(number) for number in (1, 2, 7, 50, 300)}
    monkeypatch.setattr(rappor, "MOST_BITS", 0)
    for number, found in plain.items():
        bounded = mechanism.audit(number)
        assert found.ratio is not None
        assert bounded.ratio is None
        assert bounded.low is not None
        assert bounded.high is not None
        assert found.low is not None
        assert found.high is not None
        assert bounded.low <= found.high
        assert found.low <= bounded.high
        assert (bounded.high - bounded.low) * 10**39 <= bounded.high
        assert bounded.keeps(found.high * (1 + Fraction(1, 10**30)))
        assert not bounded.keeps(found.low * (1 - Fraction(1, 10**30)))


def texts(found: ForeignAudit) -> str:
    """Return all that is printed of an audit and of two verdicts."""
    verdicts = [found.certificate("1/3"), found.certificate(10**9)]
    return "\n".join(
        [*found.lines(), str(found.as_json()), *map(str, verdicts), *(str(one.as_dict()) for one in verdicts)]
    )


def test_numbers_of_any_size_are_printed() -> None:
    tiny, third = Fraction(1, 10**5000), Fraction(1, 3)
    channels = [
        [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]],
        [[tiny, 1], [Fraction(1, 2), Fraction(1, 2)]],
        [[third, third + tiny], [third, third]],
        [[1 / tiny, third], [third, 1]],
    ]
    for rows in channels:
        for number in (1, 647, 10**4, 10**6, 10**18):
            assert "epsilon" in texts(ForeignChannel(rows).audit(number))
    large = Rappor(bits=8192, hashes=1024, p=tiny, q=Fraction("0.7512345"), f=Fraction(1, 2))
    for reports in (1, 3500, 10**6, 10**18, None):
        assert "epsilon" in texts(large.audit(reports))
    assert math.isclose(ForeignChannel(channels[0]).audit(647).epsilon, 647 * math.log(3), rel_tol=1e-15)
    with pytest.raises(ParameterError, match="is above 1000000000000000000"):
        ForeignChannel(channels[0]).audit(10**19)


@pytest.mark.parametrize(
    "rows", [[[1]], [[1], [1]], [[Fraction(1, 2), Fraction(1, 2)]], np.ones((1, 3)), np.ones((3, 1))]
)
def test_one_answer_or_one_report_is_refused(rows: object) -> None:
    with pytest.raises(DataError, match="so nothing is compared"):
        ForeignChannel(rows)


def test_masked_arrays_are_refused() -> None:
    for kind in (float, int):
        with pytest.raises((ParameterError, DataError), match="masked array"):
            ForeignChannel(np.ma.array([[1, 2], [2, 1]], mask=[[0, 1], [0, 0]], dtype=kind))


@pytest.mark.parametrize("digits", [300, 1000, 3000])
def test_long_decimals_that_nearly_agree_are_told_apart(digits):
    """Logarithms of long numerators and denominators are far less exact than their difference."""
    source = random.Random(digits)
    scale = 10**digits

    def near(percent: int, place: int) -> Fraction:
        return Fraction(percent * scale // 100 + source.randrange(10 ** (digits - place)), scale)

    for _ in range(60 if digits < 3000 else 15):
        last = [Fraction(1, 10), Fraction(1, 5)], [Fraction(1, 10), Fraction(4, 5)]
        rows = [
            [near(45, 12), near(45, 12), *last[0]],
            [near(5, 13), near(5, 13), *last[1]],
        ]
        sums = [sum(row) for row in rows]
        shares = [[entry / total for entry in row] for row, total in zip(rows, sums, strict=True)]
        ratios = [max(a / b, b / a) for a, b in zip(*shares, strict=True)]
        assert ForeignChannel(rows)._largest()[0] == max(ratios)
