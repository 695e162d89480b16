"""The mechanism: a prefix of the answer is hashed by a random linear function, and the bucket is reported.

**Privacy.** The group and the seed are drawn without a look at the answer. Given both, the answer's prefix
has one bucket, which is reported with ``own`` of 2^62, and each other bucket with ``other`` of 2^62. So for
any two answers and any report the probabilities are in the ratio own/other at most, which is what is
audited, exactly.

A report is 10 bytes: the group, the seed (8 bytes, the highest first), and the reported bucket.

**The server** keeps the reports of each group, and walks from the shortest prefixes to whole strings. How
many reports support a string is known only when the string is: so reports are followed, 9 bytes each,
sorted, and not counted. A count file holds them; merging joins them. For each prefix that was followed, the
supports of all its extensions are computed at once (:mod:`mechdesign.families.hitters.prefix_hashing`),
prefix by prefix on all cores, so that memory is that of the reports and of one table a core.
"""

from __future__ import annotations

import base64
import binascii
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import ClassAudit, class_audit
from mechdesign.collect.codec import Codec
from mechdesign.collect.collector import AnswerMechanism
from mechdesign.collect.kernel import AskedText, Steps, row_hex, whole_hex
from mechdesign.collect.scores import few_users
from mechdesign.collect.server import Server, require_users
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, DataError, ParameterError, RowError, counted
from mechdesign.core.validation import double_epsilon, finite_array, integer, privacy_epsilon, user_count
from mechdesign.core.values import USERS, Forecast
from mechdesign.data.intake import Coded, Values, array_of
from mechdesign.exact.bits import as_texts, read_sets
from mechdesign.exact.numbers import plain, wholes
from mechdesign.exact.randomness import BITS, TOTAL, BitSource, exp_lower, weight
from mechdesign.families.hitters.detection import binomial_thresholds
from mechdesign.families.hitters.prefix_hashing import (
    MOST_STEP,
    Buckets,
    BucketWeights,
    Counts,
    Words,
    extension_supports,
    hashes,
)
from mechdesign.families.hitters.string_code import StringCode
from mechdesign.families.hitters.strings import SELECTION, StringEstimate, SupportLimits

MOST_BUCKETS = 8
"""The most bits of a hash: a report has a byte for them."""

MOST_GROUPS = 16

REPORT_BYTES = 10

BLOCK = 1 << 16
"""Reports that are drawn at a time."""

EXAMPLES = 8


BREADTH = 64
"""Prefixes below a threshold that are followed for guesses, in addition to all above it."""

MOST_PREFIXES = 1 << 18
"""More kept prefixes than that are refused: the reports are hardly those of this design."""

LOOSEST = 0.2


class TextCodec(Codec):
    """A text with a code; its code is its string of bits, as an integer.

    Examples
    --------
    >>> codec = TextCodec(StringCode("ab", 4))
    >>> codec.codes(["ab", "b"]).tolist(), codec.examples(3).tolist()
    ([6, 8], ['a', 'b', 'aa'])
    """

    def __init__(self, code: StringCode) -> None:
        self.code = code

    def codes(self, answers: Any, clip: bool = False) -> Words:
        if isinstance(answers, Coded):
            rows: Words = self.code.encode(array_of(answers, "answers").tolist())
            return rows
        array = array_of(answers, "answers")
        if array.ndim != 1:
            raise RowError("answers", 0, "is not one text", "give one column of texts")
        return self.code.encode(array.tolist())

    @property
    def content(self) -> str:
        alphabet = self.code.alphabet
        symbols_text = "UTF-8" if self.code.is_utf8 else f"{counted(len(alphabet), 'symbol')}"
        return f"a text of {symbols_text}, at most {self.code.bits} bits"

    def questions(self, name: str | None = None) -> tuple[AskedText, ...]:
        words = None if self.code.is_utf8 else self.code.words
        return (AskedText(name, self.code.bits, words, tuple(self.examples(EXAMPLES).tolist())),)

    def examples(self, count: int) -> NDArray[Any]:
        symbols = ["a", "é", "日"] if self.code.is_utf8 else list(self.code.words)
        chosen = [*symbols[:8], *symbols[-8:]]
        texts = [symbol for symbol in chosen if self.code.fault(symbol) is None]
        for first in texts[:2]:
            longer = first * 2
            while self.code.fault(longer) is None:
                texts.append(longer)
                longer += first
        texts = list(dict.fromkeys(texts)) or [""]
        return np.array([texts[place % len(texts)] for place in range(count)], dtype=str)

    def is_answer(self, text: str) -> bool:
        return False  # any word is a name of a column as well


class PrefixReports(AnswerMechanism[StringEstimate]):
    """Report the first bits of a text by local hashing: which texts are frequent need not be known before.

    Parameters
    ----------
    epsilon : float
        The promise, audited here.
    alphabet : str or mapping
        See :class:`~mechdesign.families.hitters.string_code.StringCode`.
    bits : int
        Bits of a text.
    buckets : int
        Bits of a hash.
    other : int
        A weight out of 2**62, of each bucket that is not the own one.
    lengths : sequence of int
        The bits that each group reports, increasing up to ``bits``.
    groups : sequence of int
        Weights out of 2**62 of the groups.
    alarms : sequence of float
        For each group, the largest probability that a prefix which nobody has is kept.
    known : sequence of str
        Texts that are estimated in any case.

    Examples
    --------
    >>> mechanism = PrefixReports.of(3.0, "abc", 8, 4, [4, 8], [0.4, 0.6], [0.05, 0.001])
    >>> reports = mechanism.randomize(["abca"] * 600 + ["cc"] * 300 + ["b"] * 100, rng=1)
    >>> estimate = mechanism.estimate(reports)
    >>> estimate.strings, estimate.value.round(2).tolist()
    (('abca', 'cc', 'b'), [0.58, 0.34, 0.07])
    """

    type: ClassVar[str] = "prefix-hashing"
    quantity: ClassVar[str] = "the frequent texts and their shares"
    fields: ClassVar[tuple[str, ...]] = (
        "epsilon",
        "alphabet",
        "bits",
        "buckets",
        "other",
        "lengths",
        "groups",
        "alarms",
        "known",
        "total",
    )

    def __init__(
        self,
        epsilon: float,
        alphabet: str | Mapping[str, str],
        bits: int,
        buckets: int,
        other: int,
        lengths: Sequence[int],
        groups: Sequence[int],
        alarms: Sequence[float],
        known: Sequence[str] = (),
    ) -> None:
        self.epsilon = double_epsilon(epsilon)
        self.code = StringCode(alphabet, bits)
        self.bits, self.alphabet = self.code.bits, self.code.as_json()
        self.buckets = integer("buckets", buckets, 1, min(MOST_BUCKETS, 65 - self.bits))
        self.other = weight("other", other, 1, TOTAL >> self.buckets)
        self.lengths = tuple(wholes("lengths", lengths, 1).tolist())
        self.groups = tuple(int(group) for group in groups)
        self.alarms = tuple(finite_array("alarms", alarms, 1).tolist())
        self.known = tuple(known)
        self._require_levels()
        if not self.audit().holds:
            raise CertificateError("channel", f"not private as stated: {self.audit()}")
        if self.weights.own <= self.other:
            raise ParameterError(
                "epsilon",
                "is so small that reports contain no information about the answers",
                "give a larger one",
            )

    def _require_levels(self) -> None:
        """Raise unless lengths increase up to all bits, and groups and alarms fit them."""
        count = len(self.lengths)
        if not 1 <= count <= MOST_GROUPS or len(self.groups) != count or len(self.alarms) != count:
            raise ParameterError("lengths, groups, alarms", "are not lists of the same length", "rebuild it")
        steps = np.diff([0, *self.lengths])
        if (steps < 1).any() or self.lengths[-1] != self.bits:
            raise ParameterError("lengths", f"do not increase up to {self.bits} bits", "rebuild it")
        if (steps > MOST_STEP).any():
            what = f"{steps.max()} more bits at once, of which the server would need a table of all"
            raise ParameterError("lengths", what, f"give steps of at most {MOST_STEP} bits")
        if min(self.groups) < 1 or sum(self.groups) != TOTAL:
            raise CertificateError("groups", "weights do not sum to 2**62")
        if min(self.alarms) <= 0.0 or max(self.alarms) >= 1.0:
            raise ParameterError("alarms", "are not probabilities between 0 and 1", "rebuild it")
        for text in self.known:
            wrong = self.code.fault(text)
            if wrong is not None:
                raise ParameterError("known", *wrong)

    @classmethod
    def of(
        cls,
        epsilon: float,
        alphabet: str | Mapping[str, str],
        bits: int,
        buckets: int,
        lengths: Sequence[int],
        shares: Sequence[float],
        alarms: Sequence[float],
        known: Sequence[str] = (),
    ) -> Self:
        """Return the one that uses all of epsilon, with groups of these probabilities."""
        other = BucketWeights.of(privacy_epsilon(epsilon), integer("buckets", buckets, 1, MOST_BUCKETS)).other
        groups = [
            max(1, int(Fraction(share) * TOTAL)) for share in finite_array("shares", shares, 1).tolist()
        ]
        groups[-1:] = [TOTAL - sum(groups[:-1])]
        return cls(epsilon, alphabet, bits, buckets, other, lengths, groups, alarms, known)

    @cached_property
    def weights(self) -> BucketWeights:
        """The weights of the reported bucket."""
        return BucketWeights(self.buckets, self.other)

    @cached_property
    def codec(self) -> TextCodec:
        """Texts and their codes."""
        return TextCodec(self.code)

    # Client

    @cached_property
    def _group_ends(self) -> tuple[int, ...]:
        return tuple(accumulate(self.groups))

    @cached_property
    def _seed_masks(self) -> Words:
        """The bits of a seed of each group: those of its prefix and of the hash, less one."""
        return np.array([(1 << (length + self.buckets - 1)) - 1 for length in self.lengths], dtype=np.uint64)

    def draw(self, codes: Words, source: BitSource) -> NDArray[np.uint8]:
        """Return a report of 10 bytes for each code: the group, the seed, the bucket."""
        reports = np.empty((len(codes), REPORT_BYTES), dtype=np.uint8)
        ends = np.array(self._group_ends, dtype=np.int64)
        cuts = np.array([self.bits - length for length in self.lengths], dtype=np.uint64)
        for start in range(0, len(codes), BLOCK):
            part = codes[start : start + BLOCK]
            group = np.searchsorted(ends, source.integers(len(part)), side="right")
            seeds = source.words(len(part)) & self._seed_masks[group]
            own = hashes(seeds, part >> cuts[group], self.buckets)
            beyond = source.integers(len(part)) - (self.weights.own - self.other)
            # What is below own - other reports the own bucket; the rest are g equal shares, one a bucket.
            value = np.where(beyond < 0, own, np.maximum(beyond, 0) // self.other)
            rows = reports[start : start + BLOCK]
            rows[:, 0] = group
            rows[:, 1:9] = seeds.astype(">u8").view(np.uint8).reshape(-1, 8)
            rows[:, 9] = value
        return reports

    def written(self, reports: NDArray[np.uint8]) -> Values:
        return as_texts(reports)

    @property
    def _report_text(self) -> str:
        return f"'x' and {2 * REPORT_BYTES} hexadecimal digits: group, hash function and bucket"

    def _client_steps(self) -> Steps:
        return {
            "step": "prefix",
            "buckets": self.buckets,
            "lengths": list(self.lengths),
            "ends": row_hex(self._group_ends),
            "own": whole_hex(self.weights.own - self.other),
            "other": whole_hex(self.other),
        }

    # Server

    def read(self, reports: Any) -> tuple[NDArray[np.uint8], Words, Buckets]:
        """Return groups, seeds and buckets of reports; refuse one that no client sends, naming its row."""
        packed = read_sets(reports, 8 * REPORT_BYTES)
        group, value = packed[:, 0].copy(), packed[:, 9].copy()
        seeds = np.ascontiguousarray(packed[:, 1:9]).view(">u8").ravel().astype(np.uint64)
        wrong = (group >= len(self.lengths)) | (value >> self.buckets > 0)
        wrong |= seeds > self._seed_masks[np.minimum(group, len(self.lengths) - 1)]
        if wrong.any():
            raise RowError(
                "reports",
                int(np.argmax(wrong)),
                "no client of this mechanism sends such a report",
                "use the mechanism file the reports were made with",
            )
        return group, seeds, value

    def aggregator(self) -> PrefixCounts:
        return PrefixCounts(self)

    # Accuracy

    def forecast(self, users: int = USERS) -> Forecast:
        """Return the standard error of the share of a listed text with this many users."""
        count = user_count(users)
        own, other = (float(share) for share in self.weights.support_shares())
        size = count * self.groups[-1] / TOTAL
        rare = math.sqrt(other * (1.0 - other) / size) / (own - other)
        usual = math.sqrt(own * (1.0 - own) / size) / (own - other)
        return Forecast.of_shares(count, max(rare, usual, 0.0), rare, "if the text is rare")

    # Certificates and file

    def audit(self) -> ClassAudit:
        own, other = self.weights.own, self.other
        high, low = max(own, other), min(own, other)
        holds = low > 0 and high <= exp_lower(self.epsilon) * low
        worst = Fraction(high, low) if low > 0 else None
        return class_audit(
            self.epsilon, worst, holds, {"report": "a bucket that only one of two texts has"}, 2
        )

    def certificates(self) -> tuple[Certificate, ...]:
        sums = Certificate("normalization", True, True, {"row_sum": f"2**{BITS}"})
        return self.audit().certificate(), sums

    def _figures(self) -> str:
        lengths = ", ".join(map(str, self.lengths))
        return f"{self.bits} bits, groups of {lengths} bits, epsilon={self.epsilon:g}"

    def explained(self) -> tuple[str, ...]:
        own, other = (round(1000 * share) for share in self.weights.support_shares())
        groups = counted(len(self.lengths), "group")
        return (
            f"The device draws one of {groups} at random and reports only the beginning of the text that "
            "this group is for, replaced by a number that many texts share; the text itself is not kept.",
            f"Of 1000 users about {own} send a number that fits their text. Of 1000 users with another text "
            f"about {other} send one that fits it by chance.",
            "A text that few users have is never listed; only texts of many users stand out from chance.",
        )


@dataclass
class FollowedPrefixes:
    """Strings of bits that are followed: codes, supports, and which have passed all thresholds so far."""

    codes: Words
    supports: Counts
    passed: NDArray[np.bool_]


class PrefixCounts(Server["PrefixReports"]):
    """Reports by group: add reports, merge with others, estimate.

    Examples
    --------
    >>> from mechdesign.families.hitters import PrefixReports
    >>> mechanism = PrefixReports.of(3.0, "abc", 8, 4, [4, 8], [0.4, 0.6], [0.05, 0.001])
    >>> here, there = mechanism.aggregator(), mechanism.aggregator()
    >>> here.update(mechanism.randomize(["abc"] * 5, rng=1)); there.update(mechanism.randomize(["b"], rng=2))
    >>> here.merge(there); here.users
    6
    """

    kept: ClassVar[str] = "reports"
    merged: ClassVar[str] = "reports of one"

    def __init__(self, mechanism: PrefixReports) -> None:
        super().__init__(mechanism)
        groups = len(mechanism.lengths)
        self._seeds: list[list[Words]] = [[] for _ in range(groups)]
        self._values: list[list[Buckets]] = [[] for _ in range(groups)]
        self.users = 0

    def _count(self, reports: Any) -> None:
        group, seeds, values = self.mechanism.read(reports)
        require_users(self.users + len(group))
        for place in range(len(self._seeds)):
            rows = group == place
            self._seeds[place].append(seeds[rows])
            self._values[place].append(values[rows])
        self.users += len(group)

    def _merge(self, other: Self) -> None:
        require_users(self.users + other.users)
        for place in range(len(self._seeds)):
            seeds, values = other.reports_of(place)
            self._seeds[place].append(seeds)
            self._values[place].append(values)
        self.users += other.users

    def reports_of(self, place: int) -> tuple[Words, Buckets]:
        """Return the seeds and buckets of a group, sorted: in whatever order reports came, it is the same."""
        seeds = np.concatenate([*self._seeds[place], np.zeros(0, dtype=np.uint64)])
        values = np.concatenate([*self._values[place], np.zeros(0, dtype=np.uint8)])
        order = np.lexsort((values, seeds))
        self._seeds[place], self._values[place] = [seeds[order]], [values[order]]
        return self._seeds[place][0], self._values[place][0]

    # Files

    def _written(self) -> dict[str, Any]:
        groups = []
        for place in range(len(self._seeds)):
            seeds, values = self.reports_of(place)
            parts = (seeds.astype("<u8").tobytes(), values.tobytes())
            groups.append([base64.b64encode(part).decode("ascii") for part in parts])
        return {"users": self.users, "groups": groups}

    def _read(self, document: Mapping[str, Any]) -> None:
        groups, users = document.get("groups"), plain(document.get("users"))
        if not isinstance(groups, list) or len(groups) != len(self._seeds):
            raise self._damaged(f"not {counted(len(self._seeds), 'group')}")
        for place, group in enumerate(groups):
            if (
                not isinstance(group, list)
                or len(group) != 2
                or not all(isinstance(part, str) for part in group)
            ):
                raise self._damaged("a group is not two texts")
            try:
                first, second = (base64.b64decode(part, validate=True) for part in group)
            except (binascii.Error, ValueError):
                raise self._damaged("a group is not base64") from None
            if len(first) != 8 * len(second):
                raise self._damaged("seeds and buckets differ in their number")
            rows = np.empty((len(second), 10), dtype=np.uint8)
            rows[:, 0], rows[:, 9] = place, np.frombuffer(second, dtype=np.uint8)
            rows[:, 1:9] = np.frombuffer(first, dtype=np.uint8).reshape(-1, 8)[:, ::-1]
            self._count(rows)
        if users != self.users or isinstance(document.get("users"), bool):
            raise self._damaged("another number of users than of reports")

    def _damaged(self, why: str) -> DataError:
        return DataError("aggregator", f"the reports are damaged: {why}", "count the reports again")

    # Estimate

    def estimate(self, population: bool = False) -> StringEstimate:
        """Return the strings that pass the thresholds of all levels, and the known ones, with shares."""
        self.require_some()
        seeds, _ = self.reports_of(len(self._seeds) - 1)
        if not len(seeds):
            raise DataError("reports", "the last group has none", "give more reports")
        final, looked_at = self._walked()
        return self._asked(self._estimate_of(final, looked_at, len(seeds), population))

    def _walked(self) -> tuple[FollowedPrefixes, float]:
        """Return the strings that are followed to the end, and how many the last level has looked at."""
        mechanism = self.mechanism
        followed = FollowedPrefixes(
            np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.bool_)
        )
        known = mechanism.code.encode(mechanism.known) if mechanism.known else np.zeros(0, dtype=np.uint64)
        start, looked_at = 0, 1.0
        for place, length in enumerate(mechanism.lengths):
            if not len(followed.codes):
                break
            seeds, values = self.reports_of(place)
            looked_at = len(followed.codes) * 2.0 ** (length - start)
            tests = self._tests(place, len(seeds), looked_at)
            followed = _extended(mechanism, followed, (start, length), (seeds, values), tests, known)
            start = length
            if len(followed.codes) > MOST_PREFIXES:
                what = f"{len(followed.codes)} prefixes of {length} bits pass the threshold"
                raise DataError("reports", what, "build a mechanism for this many users")
        return followed, looked_at

    def _tests(self, place: int, reports: int, candidates: float) -> tuple[int, int]:
        """Return the threshold of a level, and a lower one above which prefixes are followed for guesses."""
        other = float(self.mechanism.weights.support_shares()[1])
        alarm = self.mechanism.alarms[place]
        loose = min(LOOSEST, alarm + BREADTH / candidates)
        first, second = (
            int(binomial_thresholds(reports, other, level)[0]) for level in (alarm, max(alarm, loose))
        )
        return first, second

    def _estimate_of(
        self, final: FollowedPrefixes, looked_at: float, reports: int, population: bool
    ) -> StringEstimate:
        mechanism = self.mechanism
        own, other = (float(share) for share in mechanism.weights.support_shares())
        texts = mechanism.code.decode(final.codes)
        known = [text in set(mechanism.known) for text in texts]
        listed = final.passed | np.array(known, dtype=np.bool_)
        order = [row for row in np.argsort(-final.supports, kind="stable").tolist() if listed[row]]
        limits = SupportLimits(final.supports[order], reports, own, other, looked_at)
        share = np.clip(limits.value, 0.0, 1.0)
        noise = share * own * (1.0 - own) + (1.0 - share) * other * (1.0 - other)
        sampled = 1.0 if population else 1.0 - reports / self.users
        variance = noise / (own - other) ** 2 + share * (1.0 - share) * sampled
        rest = [row for row in np.argsort(-final.supports, kind="stable").tolist() if not listed[row]]
        guesses = SupportLimits(final.supports[rest], reports, own, other).value
        nothing = () if order else ("no string has passed the thresholds of all levels",)
        if order:
            nothing = (f"all other answers have a share of about {1.0 - float(limits.value.sum()):.2g}",)
        return StringEstimate(
            limits.value,
            np.sqrt(variance / reports),
            self.users,
            tuple(texts[row] for row in order),
            tuple("known" if known[row] else "found" for row in order),
            reports,
            population,
            limits,
            (*few_users(self.users), *nothing, *((SELECTION,) if order else ())),
            tuple((texts[row], float(value)) for row, value in zip(rest, guesses, strict=True)),
        )


def _extended(
    mechanism: PrefixReports,
    followed: FollowedPrefixes,
    bits: tuple[int, int],
    reports: tuple[Words, Buckets],
    tests: tuple[int, int],
    known: Words,
) -> FollowedPrefixes:
    """Return the extensions whose support passes the lower threshold, and the prefixes of known strings."""
    start, length = bits
    seeds, values = reports
    step = length - start
    listed = np.unique(known >> np.uint64(mechanism.bits - length))

    def extensions(row: int) -> FollowedPrefixes:
        prefix = int(followed.codes[row])
        supports = extension_supports(seeds, values, prefix, step, length, mechanism.buckets)
        own = listed[listed >> np.uint64(step) == np.uint64(prefix)] & np.uint64((1 << step) - 1)
        ends = np.union1d(np.flatnonzero(supports >= tests[1]).astype(np.uint64), own)
        codes = ends | np.uint64(prefix << step)
        possible = mechanism.code.are_possible(codes, length)
        codes, counts = codes[possible], supports[ends[possible].astype(np.int64)]
        return FollowedPrefixes(codes, counts, (counts >= tests[0]) & bool(followed.passed[row]))

    workers = min(
        len(followed.codes), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    )
    with ThreadPoolExecutor(max(workers, 1)) as pool:
        parts = list(pool.map(extensions, range(len(followed.codes))))
    codes = np.concatenate([part.codes for part in parts])
    supports = np.concatenate([part.supports for part in parts])
    passed = np.concatenate([part.passed for part in parts])
    rest = np.flatnonzero(~passed & ~np.isin(codes, listed))
    best = rest[np.argsort(-supports[rest], kind="stable")[:BREADTH]]
    chosen = np.sort(np.concatenate([np.flatnonzero(passed | np.isin(codes, listed)), best]))
    return FollowedPrefixes(codes[chosen], supports[chosen], passed[chosen])
