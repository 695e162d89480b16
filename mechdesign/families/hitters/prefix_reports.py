"""The mechanism: a prefix of the answer is hashed by a random linear function, and the bucket is reported.

**Privacy.** The group and the seed are drawn without a look at the answer. Given both, the answer's prefix
has one bucket, which is reported with ``own`` of 2^62, and each other bucket with ``other`` of 2^62. So for
any two answers and any report the probabilities are in the ratio own/other at most, which is what is
audited, exactly.

A report is 10 bytes: the group, the seed (8 bytes, the highest first), and the reported bucket.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import ClassAudit, class_audit
from mechdesign.collect.asked import AskedText
from mechdesign.collect.codec import Codec
from mechdesign.collect.kernel import Steps, row_hex, whole_hex
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, ParameterError, RowError, counted
from mechdesign.core.validation import double_epsilon, finite_array, integer, privacy_epsilon, user_count
from mechdesign.core.values import USERS, Forecast
from mechdesign.data.intake import Coded, Values, array_of
from mechdesign.exact.bits import as_texts, read_sets
from mechdesign.exact.numbers import wholes
from mechdesign.exact.randomness import BITS, TOTAL, BitSource, exp_lower, weight
from mechdesign.families.hitters.prefix_hashing import MOST_STEP, Buckets, BucketWeights, Words, hashes
from mechdesign.families.hitters.server import HashedPrefixes, PrefixCounts
from mechdesign.families.hitters.string_code import StringCode

if TYPE_CHECKING:
    from mechdesign.families.hitters.strings import StringEstimate  # noqa: F401 (named in a text below)

MOST_BUCKETS = 8
"""The most bits of a hash: a report has a byte for them."""

MOST_GROUPS = 16

REPORT_BYTES = 10

BLOCK = 1 << 16
"""Reports that are drawn at a time."""

EXAMPLES = 8


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


class PrefixReports(HashedPrefixes):
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
