"""Set selection: report a random subset of the list that is likelier where it meets the user's set.

A set of at most l items is filled with dummies to exactly l of N = d + l. Of the subsets of w of the N, those
that meet the set are *hits*: C(N, w) - C(N - l, w) of them, whichever the set is. A hit is reported with
weight ``include`` out of 2**62, uniform among the hits, else a subset without any of the items. With one item
it is subset selection; with w = 1 it is padding and sampling with the k-ary response, whose epsilon grows by
sampling to ln(l (e^epsilon - 1) + 1). Proofs, and the bound for every channel, are in
docs/families/marginals_items.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import Mechanism
from mechdesign.collect.codec import Codec, Codes, Domain
from mechdesign.collect.kernel import Steps, whole_hex
from mechdesign.collect.report_scores import ReportScores, question_of, require_room
from mechdesign.core.errors import MethodError, ParameterError, RowError, counted
from mechdesign.core.validation import integer, privacy_epsilon, user_count
from mechdesign.core.values import USERS, Forecast
from mechdesign.data.intake import Values
from mechdesign.exact.bits import as_texts, member_counts, read_sets, unpacked_members, width
from mechdesign.exact.draws import below
from mechdesign.exact.numbers import require_no_mask, text_of
from mechdesign.exact.randomness import TOTAL, BitSource, exp_written, weight
from mechdesign.families.marginals.items.codecs import NONE, Items, KeyValues
from mechdesign.families.marginals.items.estimates import (
    ItemEstimate,
    KeyValueEstimate,
    PairLaw,
    item_estimate,
    key_value_estimate,
)
from mechdesign.families.marginals.oracles.support import ReportClass, SupportOracle
from mechdesign.primitives.oracle import Shares, SupportTable, supported_scores

MOST_ITEMS = 1 << 17
MOST_LENGTH = 1 << 10
CELLS = 1 << 22
"""Entries of a table of membership that are drawn at a time."""
NOTHING = "none"
"""The report of a subset of dummies alone."""


class SetSelection(SupportOracle):
    """Report a subset of w items, likelier where it holds one of the user's own.

    Parameters
    ----------
    categories : int
        The number of items d of the list.
    epsilon : float
        The promise for the whole set, audited here.
    length : int
        l: smaller sets are filled with dummies, of larger ones l items are sampled.
    size : int
        w, dummies included.
    include : int
        The weight, out of 2**62, of subsets that meet the user's set.
    most : int, optional
        The most items that a set may have; by default l, so that nothing is sampled.
    labels : sequence of str, optional
        Names of the items.
    separator : str
        What stands between items in a cell of a table.

    Examples
    --------
    >>> oracle = SetSelection.of(100, 2.0, length=3, size=4, labels=None)
    >>> oracle.audit().holds, round(oracle.even_variance, 3)
    (True, 2.162)
    >>> sets = [[1, 2], [2, 3, 4], []] * 2000
    >>> estimate = oracle.estimate(oracle.randomize(sets, rng=1))
    >>> low, high = estimate.interval(0.999)
    >>> bool(low[2] < 2 / 3 < high[2] and low[9] < 0 < high[9])
    True
    """

    type: ClassVar[str] = "set-selection"
    quantity: ClassVar[str] = "the share of users who have each item"
    most_categories: ClassVar[int] = MOST_ITEMS

    def __init__(
        self,
        categories: int,
        epsilon: float,
        length: int,
        size: int,
        include: int,
        most: int | None = None,
        labels: Sequence[str] | None = None,
        separator: str = ";",
    ) -> None:
        super().__init__(categories, epsilon, labels)
        self.length = integer("length", length, 1, min(self.reported, MOST_LENGTH))
        self.size = integer("size", size, 1, self.reported)
        self.most = integer("most", self.length if most is None else most, self.length, self.categories)
        self.separator = separator_text("separator", separator, self.labels.shown() if labels else ())
        self.include = weight("include", include)
        self._require_private()

    @classmethod
    def of(
        cls,
        categories: int,
        epsilon: float,
        length: int,
        size: int,
        most: int | None = None,
        labels: Sequence[str] | None = None,
        **others: Any,
    ) -> Self:
        """Return the one that uses all of epsilon, rounded so that privacy holds exactly."""
        whole = cls._reported_of(categories)
        hits, misses = subsets(whole + length, length, size)
        inside = hits * exp_written(epsilon)
        include = math.floor(TOTAL * inside / (inside + misses))
        return cls(categories, privacy_epsilon(epsilon), length, size, include, most, labels, **others)

    @classmethod
    def _reported_of(cls, categories: int) -> int:
        return categories

    @property
    def reported(self) -> int:
        """Number of things that reports are about: the items."""
        return self._reported_of(self.categories)

    @cached_property
    def codec(self) -> Codec:
        return Items(self.labels, self.most, self.separator)

    # Privacy and accuracy

    def weights(self) -> dict[str, int]:
        return {"include": self.include}

    def parameters(self) -> dict[str, Any]:
        return {"length": self.length, "size": self.size}

    def content(self) -> dict[str, Any]:
        return {**super().content(), "most": self.most, "separator": self.separator}

    def _report_classes(self) -> tuple[ReportClass, ...]:
        """Return the subsets by which of two sets they meet, that have no item in common.

        Of other pairs fewer subsets meet one set alone, with the same two weights.
        """
        whole, length, size = self.reported + self.length, self.length, self.size
        hits, misses = subsets(whole, length, size)
        neither = math.comb(whole - 2 * length, size) if whole >= 2 * length else 0
        one = misses - neither
        inside, outside = self.include * misses, (TOTAL - self.include) * hits
        return (
            ReportClass("a subset that meets both", hits - one, inside, inside),
            ReportClass("a subset that meets the first only", one, inside, outside),
            ReportClass("a subset that meets the second only", one, outside, inside),
            ReportClass("a subset that meets neither", neither, outside, outside),
        )

    @cached_property
    def _shares(self) -> Shares:
        whole, length, size = self.reported + self.length, self.length, self.size
        hits, misses = subsets(whole, length, size)
        with_it, include = math.comb(whole - 1, size - 1), Fraction(self.include, TOTAL)
        apart = math.comb(whole - 1 - length, size - 1)  # with it, without the set
        other = include * Fraction(with_it - apart, hits) + (1 - include) * Fraction(apart, misses)
        return include * Fraction(with_it, hits), other

    def support_shares(self) -> Shares:
        return self._shares

    @property
    def even_variance(self) -> float:
        """Users times the variance of a share where all sets of l items are equally frequent."""
        return self.variance_at(self.length / self.reported)

    def variance_at(self, share: float) -> float:
        """Return users times the variance of a share, the users being a draw."""
        own, other = self._shares
        mixed = other + Fraction(share) * (own - other)
        return float(mixed * (1 - mixed) / (own - other) ** 2)

    @property
    def report_bits(self) -> int:
        return min(self.reported, self.size * (self.reported - 1).bit_length())

    def explained(self) -> tuple[str, ...]:
        own, other = (round(1000 * share) for share in self.support_shares())
        return (
            f"A set of at most {self.most} of {self.labels.size} things is replaced by a random subset of "
            f"{self.size} of them and of dummies; the set itself is not kept.",
            *Mechanism.explained(self),
            f"Of 1000 users who have a thing about {own} report it; of 1000 who do not about {other} do.",
        )

    # Client

    def draw(self, codes: Codes, source: BitSource) -> NDArray[Any]:
        """Return packed subsets of the items, shape (n, bytes), for the numbers of the items of each set."""
        whole = self.reported + self.length
        reports = np.empty((len(codes), width(self.reported)), dtype=np.uint8)
        rows = max(1, CELLS // whole)
        for start in range(0, len(codes), rows):
            sets = self._filled(codes[start : start + rows], source)
            members = self._drawn(sets, source)
            reports[start : start + rows] = np.packbits(members[:, : self.reported], axis=1)
        return reports

    def _filled(self, codes: Codes, source: BitSource) -> Codes:
        """Return sets of exactly l items, sorted: dummies have the numbers from d on."""
        sets = np.full((len(codes), max(self.length, codes.shape[1])), NONE, dtype=np.int64)
        sets[:, : codes.shape[1]] = codes
        counts = (sets != NONE).sum(axis=1)
        for count in np.unique(counts[counts > self.length]).tolist():
            rows = np.flatnonzero(counts == count)
            for place in range(self.length):  # the first steps of a shuffle
                other = place + below(count - place, len(rows), source)
                sets[rows, place], sets[rows, other] = sets[rows, other], sets[rows, place]
        sets = sets[:, : self.length]
        dummies = self.reported + np.arange(self.length) - counts[:, None]
        return np.sort(np.where(np.arange(self.length) < counts[:, None], sets, dummies), axis=1)

    def _drawn(self, sets: Codes, source: BitSource) -> NDArray[np.bool_]:
        """Return which of the N are in the subset of each row."""
        whole = self.reported + self.length
        members = np.zeros((len(sets), whole), dtype=np.bool_)
        hits = source.integers(len(sets)) < self.include
        missed = np.flatnonzero(~hits)
        members[missed] = self._among_others(sets[missed], self.size, source)
        left = np.flatnonzero(hits)
        while len(left):  # a hit with j of the items is drawn in j ways: take one of them
            part = sets[left]
            rows = np.arange(len(left))
            own = part[rows, below(self.length, len(left), source)]
            tried = self._among_others(own[:, None], self.size - 1, source)
            tried[rows, own] = True
            met = tried[rows[:, None], part].sum(axis=1)
            taken = np.zeros(len(left), dtype=np.bool_)
            for ways in np.unique(met).tolist():
                alike = met == ways
                taken[alike] = below(ways, int(alike.sum()), source) == 0
            members[left[taken]] = tried[taken]
            left = left[~taken]
        return members

    def _among_others(self, without: Codes, size: int, source: BitSource) -> NDArray[np.bool_]:
        """Return uniform subsets of a size that hold none of the items of each row (Floyd 1987)."""
        whole, count = self.reported + self.length, without.shape[1]
        members = np.zeros((len(without), whole), dtype=np.bool_)
        if not len(without):
            return members
        rows, others = np.arange(len(without)), whole - count
        ranks = np.zeros((len(without), others), dtype=np.bool_)
        for last in range(others - size, others):
            place = below(last + 1, len(without), source)
            ranks[rows, np.where(ranks[rows, place], last, place)] = True
        free = np.ones_like(members)
        free[rows[:, None], without] = False
        members[free] = ranks.ravel()
        return members

    def _client_steps(self) -> Steps:
        shape = {"items": self.reported, "length": self.length, "size": self.size, "sparse": self.is_sparse}
        return {"step": "items", **shape, "include": whole_hex(self.include)}

    # Reports

    @property
    def is_sparse(self) -> bool:
        """Whether the numbers of the reported items are a shorter text than a bit for every item."""
        return self.size * (len(str(self.reported - 1)) + 1) < 2 * width(self.reported)

    @property
    def _report_text(self) -> str:
        digits = 2 * width(self.reported)
        if self.is_sparse:
            return f"up to {self.size} numbers of items between points, or '{NOTHING}'"
        return f"'x' and {digits} hexadecimal digits: a bit an item, at most {self.size} of them 1"

    def written(self, reports: NDArray[Any]) -> Values:
        if not self.is_sparse:
            return as_texts(reports)
        members = np.unpackbits(reports, axis=1, count=self.reported)
        texts = [pointed(np.flatnonzero(row).tolist()) or NOTHING for row in members]
        return np.array(texts)

    def read(self, reports: Any) -> NDArray[Any]:
        raw = np.asarray(reports)
        if self.is_sparse and not (raw.dtype == np.uint8 and raw.ndim == 2):
            raw = self._packed(raw)
        packed = read_sets(raw, self.reported)
        sizes = np.bitwise_count(packed).sum(axis=1, dtype=np.int64)
        if (sizes > self.size).any():
            row = int(np.argmax(sizes > self.size))
            what = f"a set of {int(sizes[row])} items, of more than {self.size}"
            raise RowError("reports", row, what, "use the mechanism file the reports were made with")
        return packed

    def _packed(self, texts: NDArray[Any]) -> NDArray[Any]:
        """Return packed subsets from their texts."""
        packed = np.zeros((len(texts), width(self.reported)), dtype=np.uint8)
        for row, text in enumerate(texts.tolist()):
            parts = [] if text == NOTHING else between_points(str(text))
            known = all(part.isascii() and part.isdigit() and len(part) <= 6 for part in parts)
            numbers = np.array([int(part) for part in parts], dtype=np.int64) if known else np.array([-1])
            if len(numbers) and (
                numbers.min() < 0 or numbers.max() >= self.reported or (np.diff(numbers) <= 0).any()
            ):
                raise RowError(
                    "reports", row, f"{text_of(text)} is not a report", f"expected {self._report_text}"
                )
            np.bitwise_or.at(packed[row], numbers >> 3, (128 >> (numbers & 7)).astype(np.uint8))
        return packed

    def count(self, reports: NDArray[Any]) -> Codes:
        return member_counts(reports, self.reported)

    def report_scores(self, reports: Any) -> tuple[ReportScores, ...]:
        """Return unbiased scores of whether the user has each item, which need not sum to 1.

        Raises
        ------
        MethodError
            Where items of large sets are sampled: then no average of scores is unbiased.
        """
        if self.most > self.length:
            what = (
                f"of sets of more than {counted(self.length, 'item')} some are sampled: no score is unbiased"
            )
            raise MethodError("scores", what, f"build a mechanism with length = {self.most}")
        return (self._scores(reports),)

    def _scores(self, reports: Any) -> ReportScores:
        return supported_scores(self, reports)

    def supported_by(self, read: NDArray[Any], place: int | None = None) -> NDArray[np.bool_]:
        return unpacked_members(read, self.reported, place)

    def estimate_from_counts(self, counts: Codes, users: int, population: bool = False) -> ItemEstimate:
        plain = super().estimate_from_counts(counts, users, population)
        return item_estimate(plain, self.most, self.length)


LEAST_FIELDS = 3
"""A text with fewer points may be a decimal number, which programs write in another way."""


def pointed(numbers: Sequence[int]) -> str:
    """Return numbers with points between them, and more behind one or two: no program takes it for a number.

    Examples
    --------
    >>> pointed([3, 40, 7]), pointed([3, 40]), pointed([3]), pointed([])
    ('3.40.7', '3.40.', '3..', '')
    """
    text = ".".join(map(str, numbers))
    return text + "." * (LEAST_FIELDS - len(numbers)) if numbers else text


def between_points(text: str) -> list[str]:
    """Return the parts of a text of numbers, also of one that has no further points.

    Examples
    --------
    >>> between_points("3.40."), between_points("3.."), between_points("3"), between_points("3.40.7.")
    (['3', '40'], ['3'], ['3'], ['3', '40', '7', ''])
    """
    parts = text.split(".")
    filled = len(parts) == LEAST_FIELDS and parts[0]
    return [part for part in parts if part] if filled and not parts[-1] else parts


def subsets(whole: int, length: int, size: int) -> tuple[int, int]:
    """Return how many subsets of a size meet a set of ``length`` of the whole, and how many do not.

    Examples
    --------
    >>> subsets(5, 2, 2)
    (7, 3)
    """
    misses = math.comb(whole - length, size)
    return math.comb(whole, size) - misses, misses


def separator_text(field: str, value: Any, names: Sequence[str]) -> str:
    """Return what stands between items: one visible character or a space, which no name contains."""
    if not isinstance(value, str) or len(value) != 1 or not value.isprintable() or value in "[]{}\"'=":
        raise ParameterError(
            field, f"{text_of(value)} cannot stand between items", "give one character, such as ';'"
        )
    holding = next((name for name in names if value in name), None)
    if holding is not None:
        raise ParameterError(
            field, f"the name '{holding}' contains '{value}'", "give a character that no name has"
        )
    return value


class KeyValueSelection(SetSelection):
    """Report a subset of keys with signs, likelier where it holds one of the user's own.

    A value at the part u of its range becomes high with probability u and low otherwise, out of 2**62; the
    user's set are the keys with these ends, and the 2 d keys with an end are the items of set selection. The
    share of a key is the sum of its two shares, the mean of its values their difference over the sum.

    Parameters
    ----------
    categories : int
        Number d of keys.
    epsilon : float
        The promise for all keys and values of a user, audited here.
    length, size, include : int
        l, w and the weight of hits; see :class:`SetSelection`.
    low, high : float
        The range of the values.
    most : int, optional
        The most keys of a user.
    labels : sequence of str, optional
        Names of the keys.
    separator : str

    Examples
    --------
    >>> oracle = KeyValueSelection.of(20, 3.0, length=2, size=4, low=0, high=5)
    >>> pairs = [{1: 4.0, 2: 1.0}, {2: 2.0}, {}] * 3000
    >>> estimate = oracle.estimate(oracle.randomize(pairs, rng=1))
    >>> low, high = estimate.mean_interval(0.999)
    >>> bool(low[1] < 4.0 < high[1] and low[2] < 1.5 < high[2])
    True
    """

    type: ClassVar[str] = "key-value-selection"
    quantity: ClassVar[str] = "the share of users who have each key, and the mean of its values"

    def __init__(
        self,
        categories: int,
        epsilon: float,
        length: int,
        size: int,
        include: int,
        most: int | None = None,
        labels: Sequence[str] | None = None,
        separator: str = ";",
        low: float = -1.0,
        high: float = 1.0,
    ) -> None:
        self.domain = Domain(low, high)
        super().__init__(categories, epsilon, length, size, include, most, labels, separator)

    @classmethod
    def _reported_of(cls, categories: int) -> int:
        return 2 * categories

    @cached_property
    def codec(self) -> Codec:
        return KeyValues(self.labels, self.most, self.domain, self.separator)

    def content(self) -> dict[str, Any]:
        return {**super().content(), "low": self.domain.low, "high": self.domain.high}

    def _within(self, low: float, high: float) -> Self:
        return type(self).from_content({**self.content(), "low": low, "high": high})

    @property
    def counters(self) -> int:
        return self.reported

    def _reports_of(self, codes: Any, source: BitSource) -> NDArray[Any]:
        keys, values = codes
        numbers = keys.astype(np.int64)
        ends = source.integers(numbers.size).reshape(numbers.shape) < ends_below(self.domain, values)
        return self.draw(np.where(numbers == NONE, NONE, 2 * numbers + ends), source)

    @cached_property
    def pair_law(self) -> PairLaw:
        """The probabilities of which ends of a key are reported."""
        return PairLaw.of(*self.support_shares(), *self.both_shares())

    def both_shares(self) -> tuple[Fraction, Fraction]:
        """Return the chances that both ends of a key are reported, for users who have it and for others."""
        whole, length, size = self.reported + self.length, self.length, self.size
        hits, misses = subsets(whole, length, size)
        include = Fraction(self.include, TOTAL)
        two, apart = (math.comb(count - 2, size - 2) if size > 1 else 0 for count in (whole, whole - length))
        other = include * Fraction(two - apart, hits) + (1 - include) * Fraction(apart, misses)
        return include * Fraction(two, hits), other

    def estimate_from_counts(self, counts: Codes, users: int, population: bool = False) -> KeyValueEstimate:  # type: ignore[override]
        require_no_mask(counts, "counts")
        law, names = self.pair_law, tuple(self.labels.shown())
        return key_value_estimate(
            law, np.asarray(counts), users, names, self.domain, self.most / self.length, population
        )

    def _scores(self, reports: Any) -> ReportScores:
        """Return the scores of whether the user has each key, the sums of those of its two ends."""
        read, names = self.read(reports), tuple(map(str, self.labels.shown()))
        require_room(len(read), self.reported)
        ends = np.where(self.supported_by(read), *SupportTable(self, read).levels)
        values = ends[:, ::2] + ends[:, 1::2]
        return ReportScores(question_of(self), names, values, np.ones(len(read)), None)

    def forecast(self, users: int = USERS) -> Forecast:
        """Return the standard error of the share of a key with this many users."""
        law, count = self.pair_law, user_count(users)
        worst, even = (law.share_variance(share) for share in (1.0, self.length / self.categories))
        worst = max(worst, law.share_variance(0.0))
        assumption = "if all keys are equally frequent"
        return Forecast.of_shares(count, math.sqrt(worst / count), math.sqrt(even / count), assumption)


def ends_below(domain: Domain, values: NDArray[np.float64]) -> Codes:
    """Return the weights, out of 2**62, of the high end of the range for values in it."""
    unit = domain.to_unit(np.asarray(values, dtype=np.float64))
    weights: Codes = np.minimum(np.floor(unit * float(TOTAL)), float(TOTAL)).astype(np.int64)
    return weights
