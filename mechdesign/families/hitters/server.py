"""The server: it keeps the reports of each group, and walks from the shortest prefixes to whole strings.

How many reports support a string is known only when the string is: so reports are followed, 9 bytes each,
sorted, and not counted. A count file holds them; merging joins them. For each prefix that was followed, the
supports of all its extensions are computed at once (:mod:`mechdesign.families.hitters.prefix_hashing`),
prefix by prefix on all cores, so that memory is that of the reports and of one table a core.
"""

from __future__ import annotations

import base64
import binascii
import os
from abc import abstractmethod
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.collector import AnswerMechanism
from mechdesign.collect.scores import few_users
from mechdesign.collect.server import Server, require_users
from mechdesign.core.errors import DataError, counted
from mechdesign.exact.numbers import plain
from mechdesign.families.hitters.detection import binomial_thresholds
from mechdesign.families.hitters.prefix_hashing import (
    Buckets,
    BucketWeights,
    Counts,
    Words,
    extension_supports,
)
from mechdesign.families.hitters.string_code import StringCode
from mechdesign.families.hitters.strings import SELECTION, StringEstimate, SupportLimits

BREADTH = 64
"""Prefixes below a threshold that are followed for guesses, in addition to all above it."""

MOST_PREFIXES = 1 << 18
"""More kept prefixes than that are refused: the reports are hardly those of this design."""

LOOSEST = 0.2


class HashedPrefixes(AnswerMechanism["StringEstimate"]):
    """What the server uses of the mechanism."""

    code: StringCode
    bits: int
    buckets: int
    lengths: tuple[int, ...]
    alarms: tuple[float, ...]
    known: tuple[str, ...]

    @property
    @abstractmethod
    def weights(self) -> BucketWeights: ...

    @abstractmethod
    def read(self, reports: Any) -> tuple[NDArray[np.uint8], Words, Buckets]: ...


@dataclass
class FollowedPrefixes:
    """Strings of bits that are followed: codes, supports, and which have passed all thresholds so far."""

    codes: Words
    supports: Counts
    passed: NDArray[np.bool_]


class PrefixCounts(Server["HashedPrefixes"]):
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

    def __init__(self, mechanism: HashedPrefixes) -> None:
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
    mechanism: HashedPrefixes,
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
