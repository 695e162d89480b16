"""The problem ``heavy-hitters``: which strings are frequent, when nobody has listed them before.

Users are divided at random into groups; group j reports the first l_j bits of a string by local hashing. The
server extends the prefixes that it has kept by the bits of the next group. See
:mod:`mechdesign.families.hitters.detection` for what is certified and why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError, counted
from mechdesign.core.fields import Kept, checked, frozen_problem, real, related, whole
from mechdesign.core.problem import Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import MOST_USERS, integer, privacy_epsilon
from mechdesign.exact.numbers import text_of
from mechdesign.families.hitters.detection import Detection, design_levels, single_test_bound
from mechdesign.families.hitters.prefix_hashing import MOST_STEP, BucketWeights
from mechdesign.families.hitters.prefix_reports import MOST_BUCKETS, PrefixReports
from mechdesign.families.hitters.search import SearchSetting
from mechdesign.families.hitters.string_code import (
    LEAST_BITS,
    MOST_BITS,
    UTF8,
    StringCode,
    alphabet_field,
    bits_of_length,
)

LEAST_EPSILON, LARGEST_EPSILON = 0.01, 12.0

MOST_KNOWN = 4096


def _epsilon(field: str, value: Any) -> float:
    epsilon = privacy_epsilon(value, field)
    if epsilon and not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise ParameterError(
            field, f"{epsilon:g} is outside [{LEAST_EPSILON}, {LARGEST_EPSILON:g}]", "give another"
        )
    return epsilon


def _length(problem: HeavyHitters, field: str, value: Any) -> int:
    length = integer(field, value, 0)
    if length and bits_of_length(problem.alphabet, length) > MOST_BITS:
        most = MOST_BITS // bits_of_length(problem.alphabet, 1)
        raise ParameterError(
            field,
            f"{length} symbols take more than {MOST_BITS} bits",
            f"give at most {most}, or fewer symbols",
        )
    return length


def _bits(problem: HeavyHitters, field: str, value: Any) -> int:
    if problem.length:
        needed = max(LEAST_BITS, bits_of_length(problem.alphabet, problem.length))
        if value and value != needed:
            raise ParameterError(field, f"{value} is not {needed}, that of the length", "give one of them")
        return needed
    if not value:
        raise ParameterError(field, "is missing", "give the bits of a string, or its length in symbols")
    return integer(field, value, LEAST_BITS, MOST_BITS)


def _known(problem: HeavyHitters, field: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise ParameterError(field, f"expected a list of strings, got {text_of(value)}")
    return known_strings(field, value, problem.code)


def known_strings(field: str, value: Sequence[Any], code: StringCode) -> tuple[str, ...]:
    """Return a list of known strings that all have a code and differ.

    Raises
    ------
    ParameterError
        For an empty list, a string without a code, or one that appears twice.
    """
    if not value:
        raise ParameterError(field, "is an empty list", "omit it, or list a string")
    if len(value) > MOST_KNOWN:
        raise ParameterError(field, f"{len(value)} strings", f"give at most {MOST_KNOWN}")
    for text in value:
        wrong = code.fault(text)
        if wrong is not None:
            raise ParameterError(field, *wrong)
    texts = code.decode(code.encode(value))
    if len(set(texts)) != len(texts):
        double = next(text for text in texts if texts.count(text) > 1)
        raise ParameterError(field, f"{double!r} appears twice", "name it once")
    return tuple(texts)


@frozen_problem()
class HeavyHitters(Problem[PrefixReports]):
    r"""Groups, prefix lengths and thresholds that list the frequent strings, although nobody has listed them.

    ::

        minimize    f    such that every string of share f is listed with probability 1 - failure
        over        lengths l_1 < ... < l_g = bits, probabilities of the groups, false alarms a_j
        subject to  expected listed strings that nobody has <= false_strings
                    expected additions of the server <= work

    The loss of every level is an exact binomial tail, summed over the sizes of its group; the losses of the
    levels are added up. Reports are private with epsilon whatever the design.

    Raises
    ------
    ParameterError
        Naming the field, what is wrong and the remedy.

    Notes
    -----
    Source: prefix extension as in Wang, Li, Jha (2019) and Bassily, Nissim, Stemmer, Thakurta (2017); groups,
    lengths, thresholds, hash functions and certificate are designed here.

    Examples
    --------
    >>> import mechdesign as md
    >>> solution = md.solve(md.HeavyHitters(users=20_000, epsilon=2.0, bits=16))
    >>> solution.variables["lengths"], round(solution.value, 4)
    ([16], 0.0335)
    """

    name: ClassVar[str] = "heavy-hitters"
    example: ClassVar[Mapping[str, Any]] = {"users": 20000, "epsilon": 2.0, "bits": 16}
    sense: ClassVar[Sense] = "min"
    levers: ClassVar[tuple[str, ...]] = ("users", "epsilon")
    value_name: ClassVar[str] = "least share that is found"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "the frequent strings of users' answers, when nobody has listed them before"
    compared_with: ClassVar[str] = "all designs of levels, whatever the work of the server"
    optimal_within: ClassVar[float] = 1e-3
    unstated: ClassVar[str] = (
        "it is a choice of whole lengths, with quantiles and tails of binomial numbers in them"
    )

    users: int = whole("Number of users who report.", low=100, high=MOST_USERS)
    epsilon: float = checked(
        f"Privacy of a report, from {LEAST_EPSILON} to {LARGEST_EPSILON:g}; with 0 it says nothing.",
        _epsilon,
        limits={"minimum": 0, "maximum": LARGEST_EPSILON},
        form="float",
    )
    alphabet: Kept[str | dict[str, str], str | Mapping[str, str]] = checked(
        "``utf-8`` (bytes of 8 bits), a text of all symbols, each once, or a table of a word of bits for "
        'each symbol, such as ``{a = "1", b = "01"}``: a public prefix code. Texts are brought into '
        "Unicode's composed form (NFC).",
        alphabet_field,
        form="str or mapping",
        default=UTF8,
    )
    length: int = related(
        "The most symbols of a string (of UTF-8, bytes); or give ``bits``.", _length, form="int", default=0
    )
    bits: int = related(
        f"Bits of a string, at most {MOST_BITS}; by default those of ``length`` symbols.",
        _bits,
        form="int",
        default=0,
    )
    work: float = real(
        "Additions that the server may need; 1e10 take about half a minute.", low=1e4, high=1e15, default=1e10
    )
    failure: float = real(
        "Probability that a string of the least share is missed.", low=1e-6, high=0.5, default=0.1
    )
    false_strings: float = real(
        "Listed strings that nobody has, on average at most.", low=1e-6, high=1e3, default=1.0
    )
    known: Kept[tuple[str, ...] | None, Sequence[str] | None] = related(
        "Strings that are known beforehand: they are estimated in any case.",
        _known,
        form="list of str",
        default=None,
    )

    @cached_property
    def code(self) -> StringCode:
        """The code of strings."""
        return StringCode(self.alphabet, self.bits)

    @cached_property
    def most_buckets(self) -> int:
        """The most bits of a hash: so that a seed has at most 64 bits."""
        return min(MOST_BUCKETS, 65 - self.bits)

    def weights(self, buckets: int) -> BucketWeights:
        """Return the integer weights of a report with so many bits of a hash."""
        return BucketWeights.of(self.epsilon, buckets)

    def setting(self, buckets: int) -> SearchSetting:
        """Return what a search needs to know."""
        own, other = (float(share) for share in self.weights(buckets).support_shares())
        return SearchSetting(
            self.users,
            own,
            other,
            buckets,
            self.bits,
            self.work,
            self.failure,
            self.false_strings,
            len(self.known or ()),
        )

    def detection(self, variables: Variables) -> Detection:
        """Return what a design finds, from its variables."""
        buckets = integer("buckets", variables["buckets"], 1, self.most_buckets)
        setting = self.setting(buckets)
        levels = design_levels(variables["lengths"], variables["shares"], variables["alarms"])
        return Detection(self.users, setting.own, setting.other, buckets, levels, setting.known)

    @cached_property
    def _bound(self) -> float:
        alarm = min(self.false_strings / 2.0**self.bits, 1.0)
        bounds = []
        for buckets in range(1, self.most_buckets + 1):
            setting = self.setting(buckets)
            bounds.append(single_test_bound(self.users, setting.own, setting.other, self.failure, alarm))
            if len(bounds) > 1 and bounds[-1] > 1.5 * min(bounds):
                break  # the variance grows with the buckets from here on
        return min(bounds)

    def lower_bound(self) -> float:
        """Return a share below which no design finds a string: the least bound over numbers of buckets."""
        return self._bound

    # Judging candidates

    def objective(self, variables: Variables) -> float:
        """Return the least share that is found, by exact tails; infinity where none is."""
        return self.detection(variables).least_share(self.failure)

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how much limits are exceeded, relative to them, and whether the levels fit the bits."""
        lengths = [int(length) for length in variables["lengths"]]
        shares, alarms = (np.asarray(variables[name], dtype=np.float64) for name in ("shares", "alarms"))
        steps = np.diff([0, *lengths])
        unfit = float(lengths[-1] != self.bits) + float((steps < 1).any()) + float((steps > MOST_STEP).any())
        signs = float(max(0.0, -shares.min(), -alarms.min(), alarms.max() - 1.0))
        judged = self.detection(variables)
        return {
            "lengths": unfit,
            "shares": abs(math.fsum(shares.tolist()) - 1.0) + signs,
            "false_strings": max(0.0, judged.false_strings / self.false_strings - 1.0),
            "work": max(0.0, judged.work / self.work - 1.0),
        }

    def mechanism(self, solution: Solution[Any]) -> PrefixReports:
        """Return the mechanism with exact integer weights."""
        variables = solution.variables
        return PrefixReports.of(
            self.epsilon,
            self.alphabet,
            self.bits,
            int(variables["buckets"]),
            [int(length) for length in variables["lengths"]],
            [float(share) for share in variables["shares"]],
            [float(alarm) for alarm in variables["alarms"]],
            self.known or (),
        )

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return privacy and sums of what would run, detection of the least share, and the gap."""
        mechanism = solution.mechanism()
        judged = self.detection(solution.variables)
        value = self.objective(solution.variables)
        losses = judged.losses(min(value, 1.0))
        figures = {
            "share": value,
            "missed": math.fsum(losses),
            "failure": self.failure,
            "false_strings": judged.false_strings,
            "work": judged.work,
            "users": float(self.users),
        }
        holds = (
            math.fsum(losses) <= self.failure * (1.0 + 1e-9)
            and judged.false_strings <= self.false_strings * (1.0 + 1e-9)
            and judged.work <= self.work * (1.0 + 1e-9)
        )
        note = f"exact binomial tails, added over {counted(len(losses), 'level')}"
        detection = Certificate("detection", holds, False, figures, note=note)
        return (*mechanism.certificates(), detection, self.optimality(solution))

    def why_no_statement(self) -> str | None:
        return "its constraints are binomial tails of the variables, neither convex nor linear"
