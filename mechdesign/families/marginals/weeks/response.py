"""The mechanism of weekly reports: a permanent set for each cell, kept, and a weekly set drawn from it.

The device keeps the permanent sets and not the answer. What all its reports together reveal is what the
permanent sets reveal; where answers change, these are as many as the user had distinct cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import ClassAudit
from mechdesign.collect.codec import Codec, Codes
from mechdesign.collect.collecting import Operation
from mechdesign.collect.estimate import FrequencyEstimate
from mechdesign.collect.kernel import Steps, rng_alone, whole_hex
from mechdesign.collect.report_scores import ReportScores, question_of, require_room
from mechdesign.core.certificate import Certificate, PrivacyFinding
from mechdesign.core.errors import DataError, ParameterError, RowError, counted
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.core.validation import (
    as_written,
    double_epsilon,
    integer,
    one_of,
    privacy_epsilon,
    user_count,
)
from mechdesign.core.values import USERS, Forecast, changed, frozen_value
from mechdesign.data.identifiers import identifiers
from mechdesign.data.intake import Values
from mechdesign.exact.bits import Packed, as_texts, read_sets
from mechdesign.exact.numbers import require_no_mask
from mechdesign.exact.randomness import BITS, BitSource, Rng, exp_lower, exp_written, log_ratio, true_bound
from mechdesign.families.marginals.oracles.blocks import set_sizes
from mechdesign.families.marginals.oracles.support import ReportClass, audit_classes
from mechdesign.families.marginals.weeks.cells import KINDS, AnswerCells, cell_map
from mechdesign.families.marginals.weeks.device import PermanentSets, WeeklyReports, weekly_operations
from mechdesign.families.marginals.weeks.estimates import (
    ChangeEstimate,
    WeeklyScores,
    linked_estimate,
    user_spread,
)
from mechdesign.families.marginals.weeks.law import WeeklyLaw, composed_within
from mechdesign.families.marginals.weeks.numbers import (
    Binned,
    are_pairs,
    bin_edges,
    limits_of_pairs,
    number_estimate,
    pair_counts,
    single_counts,
    steps_of,
    sums_of,
)
from mechdesign.primitives.oracle import Moments, Shares

MOST_WEEKS = 1 << 20

WITNESS = "every week the set that the first answer's permanent set makes likely"


@frozen_value(repr=False)
class WeeklyAudit(PrivacyFinding):
    """Result of the audit of weekly reports.

    Attributes
    ----------
    proof : Proof
        The guarantee of all weekly reports of a user, however many.
    single : Proof
        The guarantee of each of them alone.
    figures : mapping
        How many permanent reports a user may need, and the least epsilon of one of them.
    """

    single: Proof
    figures: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def holds(self) -> bool:
        return self.proof.holds and self.single.holds

    def certificate(self) -> Certificate:
        certificate = super().certificate()
        if self.single.holds:
            return certificate
        return changed(certificate, holds=False, note=f"of one week {self.single.reason}")

    def _figures(self) -> dict[str, Any]:
        week = {"week_epsilon": float(self.single.promise.epsilon), "one_week": self.single.true_up()}
        return {**super()._figures(), **week, **self.figures}


class WeeklyResponse(WeeklyReports):
    """Report a set of answers every week, drawn from a permanent set that the device keeps.

    Parameters
    ----------
    categories : int
    epsilon : float
        The promise for all weekly reports of a user, audited here.
    week_epsilon : float
        The promise for each of them, audited here.
    permanent_size, weekly_size : int
        Cells of a permanent and of a weekly set.
    include, near : int
        Weights out of 2**62: of the permanent sets around the own cell, and of weekly ones that are as near
        to it as their size allows.
    weeks : int
        Number of weeks that are planned: a device makes no more reports.
    distinct : int
        The most different cells of one user; the device counts them where there are more than this.
    kind : {"answers", "hashed", "bins"}
        What has a permanent set.
    cells : int
        Number of answers, buckets or named bins.
    labels : sequence of str, optional
    edges : sequence of float, optional
        Of the bins that the answers are: then people give a number.

    Notes
    -----
    Source: docs/families/weekly.md; the two levels are those of RAPPOR (Erlingsson et al. 2014), the buckets
    those of LOLOHA (Arcolezi et al. 2023), the bins those of d-bit flip (Ding et al. 2017).

    Examples
    --------
    >>> mechanism = WeeklyResponse.of(3, 4.0, 2.0, 1, 1, weeks=26)
    >>> print(mechanism.audit())
    privacy: holds (exact); epsilon = 4, true_epsilon = 4, week_epsilon = 2, one_week = 2, ...
    >>> memory = mechanism.remember([0, 0, 1], rng=1)
    >>> memory.report(rng=2).tolist(), memory.weeks_of(0)
    (['x80', 'x40', 'x40'], 1)
    """

    type: ClassVar[str] = "weekly-response"
    users_alike: ClassVar[bool] = False  # reports of one user in two weeks are not independent
    fields: ClassVar[tuple[str, ...]] = ("categories", "epsilon", "week_epsilon", "labels", "total")

    def __init__(
        self,
        categories: int,
        epsilon: float,
        week_epsilon: float,
        permanent_size: int,
        weekly_size: int,
        include: int,
        near: int,
        weeks: int,
        distinct: int = 1,
        kind: str = "answers",
        cells: int | None = None,
        labels: Sequence[str] | None = None,
        edges: Sequence[float] | None = None,
    ) -> None:
        super().__init__(categories, epsilon, labels)
        self.edges = None if edges is None else tuple(bin_edges("edges", edges, self.labels.size).tolist())
        if self.edges is not None:
            self.labels = Binned(self.edges).labels
        self.week_epsilon = double_epsilon(week_epsilon, "week_epsilon")
        number = self.labels.size if cells is None else integer("cells", cells, 1)
        self.cells = cell_map(one_of("kind", kind, KINDS), self.labels.size, number)
        if isinstance(self.cells, AnswerCells) and number != self.labels.size:
            raise ParameterError("cells", f"{number} for {self.labels.size} answers", "give as many")
        self.law = WeeklyLaw(self.cells.count, permanent_size, weekly_size, include, near)
        self.weeks = integer("weeks", weeks, 1, MOST_WEEKS)
        self.distinct = integer("distinct", distinct, 1, self.labels.size)
        self._require_private()

    @classmethod
    def of(
        cls,
        categories: int,
        epsilon: float,
        week_epsilon: float,
        permanent_size: int,
        weekly_size: int,
        weeks: int,
        distinct: int = 1,
        kind: str = "answers",
        cells: int | None = None,
        labels: Sequence[str] | None = None,
        edges: Sequence[float] | None = None,
    ) -> Self:
        """Return the one with these sizes that uses both promises, rounded so that they hold exactly."""
        number = integer("categories", categories, 2)
        count = number if cells is None else integer("cells", cells, 1)
        map_of = cell_map(one_of("kind", kind, KINDS), number, count)
        size, week_size = (
            integer(name, value, 1, map_of.count - 1)
            for name, value in (("permanent_size", permanent_size), ("weekly_size", weekly_size))
        )
        times = min(integer("distinct", distinct, 1, number), map_of.count)
        each = exp_lower(as_written(privacy_epsilon(epsilon)) / times)
        while not composed_within(each, times, as_written(epsilon)):
            each -= Fraction(1, 1 << 120)
        law = WeeklyLaw.of(map_of.count, size, week_size, each, exp_written(week_epsilon))
        return cls(
            number, privacy_epsilon(epsilon), privacy_epsilon(week_epsilon, "week_epsilon"),
            size, week_size, law.include, law.near, weeks, distinct, kind, count, labels, edges,
        )  # fmt: skip

    # What it is

    def weights(self) -> dict[str, int]:
        return {"include": self.law.include, "near": self.law.near}

    def parameters(self) -> dict[str, Any]:
        return {
            "permanent_size": self.law.size,
            "weekly_size": self.law.week_size,
            "weeks": self.weeks,
            "distinct": self.distinct,
            "kind": self.cells.kind,
            "cells": self.cells.count - (self.cells.kind == "bins"),
        }

    def content(self) -> dict[str, Any]:
        edges = {} if self.edges is None else {"labels": None, "edges": list(self.edges)}
        return {**super().content(), **edges}

    @cached_property
    def codec(self) -> Codec:
        return super().codec if self.edges is None else Binned(self.edges)

    def _figures(self) -> str:
        sizes = f"sets of {self.law.size} and {self.law.week_size} of {counted(self.law.cells, 'cell')}"
        changes = "" if self.distinct == 1 else f", {self.distinct} distinct answers"
        promises = f"epsilon={self.epsilon:g}, {self.week_epsilon:g} a week"
        weeks = counted(self.weeks, "week")
        return f"{counted(self.labels.size, 'category')}, {sizes}, {weeks}{changes}, {promises}"

    def support_shares(self) -> Shares:
        return self.scores.chances

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """Names of the answers."""
        return tuple(self.labels.shown())

    @cached_property
    def scores(self) -> WeeklyScores:
        """Scores of one week."""
        return WeeklyScores(self.law, self.cells)

    def scores_of(self, weeks: int) -> WeeklyScores:
        """Return the scores of so many weeks of a user whose answer does not change."""
        return WeeklyScores(self.law, self.cells, integer("weeks", weeks, 1, MOST_WEEKS))

    def law_variance(self, weeks: int | None) -> Fraction:
        """Return users times the variance of a rare answer over that many weeks (None: any number)."""
        one = self.scores.moments(False)[0]
        if weeks == 1:
            return one
        last = 2 * self.scores_of(2).moments(False)[0] - one
        return last if weeks is None else last + (one - last) / weeks

    def _report_classes(self) -> tuple[ReportClass, ...]:
        return self.law.week_classes()

    def supported(self, cells: int) -> tuple[Moments, Moments] | None:
        return None if self.cells.share < 1 else super().supported(cells)

    # Client

    def draw(self, codes: Codes, source: BitSource) -> Packed:
        """Return one report for each answer; the permanent set is forgotten.

        For one report only: a second call draws another permanent set. See :meth:`remember`.
        """
        front = self.cells.draw(len(codes), source)
        permanent = self.law.draw_permanent(self.cells.of(front, codes), source)
        return np.concatenate([front, self.law.draw_weekly(permanent, source)], axis=1)

    def written(self, reports: Packed) -> Values:
        return as_texts(reports)

    def remember(self, answers: Any, rng: Rng = None, users: Sequence[Any] | None = None) -> PermanentSets:
        """Return the permanent sets of users, which each device keeps for all weeks.

        Parameters
        ----------
        answers : array
            One a user.
        rng : None, int or numpy Generator
        users : sequence, optional
            What tells them apart; numbers from 0 by default.
        """
        codes, memory = self.codec.codes(answers), PermanentSets(self)
        names = identifiers(range(len(codes)) if users is None else users)
        memory.draw(names, codes, self.source(rng, "remember"))
        return memory

    def _client_steps(self) -> Steps:
        shape = {"count": self.cells.count, "size": self.law.size, "weekly_size": self.law.week_size}
        weights = {name: whole_hex(number) for name, number in self.weights().items()}
        limits = {"weeks": self.weeks, "most": self.permanent_reports}
        answers = {"categories": self.labels.size, **self.cells.steps()}
        return {"step": "weekly", **answers, **shape, **weights, **limits}

    @property
    def _report_text(self) -> str:
        digits = 2 * (self.cells.front + (self.cells.count + 7) // 8)
        return f"'x' and {digits} hexadecimal digits: a bit a cell"

    # Server

    def read(self, reports: Any) -> Packed:
        packed = read_sets(reports, self.report_bits)
        front, sets = self.parts_of(packed)
        sizes = set_sizes(np.ascontiguousarray(sets))
        wrong = sizes != self.law.week_size
        if wrong.any():
            row, remedy = int(np.argmax(wrong)), "use the mechanism file the reports were made with"
            what = f"a set of {counted(int(sizes[row]), 'cell')}, not of {self.law.week_size}"
            raise RowError("reports", row, what, remedy)
        self.cells.require_front(front)
        return packed

    def report_scores(self, reports: Any) -> tuple[ReportScores, ...]:
        read, names = self.read(reports), tuple(map(str, self.labels.shown()))
        require_room(len(read), len(names))
        values, likelihood = self.report_tables(read)
        return (ReportScores(question_of(self), names, values, np.ones(len(read)), likelihood),)

    def report_tables(self, reports: Packed) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return scores and likelihoods of the answers, (n, D) each, of reports that were read."""
        front, sets = self.parts_of(reports)
        fits, about = self.cells.supports(front, np.ascontiguousarray(sets))
        named = np.ones_like(fits) if about is None else about
        scores = self.scores.values(fits, named, 1)
        cells, ratio = self.law.cells, 1.0 / float(self.law.week_ratio())
        if about is not None:  # of answers that are not named, the set may hold the cell of all others
            rest = np.unpackbits(sets, axis=1, count=cells)[:, cells - 1 :].astype(np.bool_)
            fits = np.where(about, fits, rest)
        return scores, np.where(fits, 1.0, ratio)

    @property
    def counters(self) -> int:
        return self.cells.counters if self.edges is None else self.cells.counters**2

    def supports(self, counts: Codes, users: int) -> Codes:
        return counts if self.edges is None else single_counts(counts)

    def count(self, reports: Packed) -> Codes:
        total = np.zeros(self.counters, dtype=np.int64)
        rows = max(1, (1 << 22) // self.labels.size)
        for start in range(0, len(reports), rows):
            front, sets = self.parts_of(reports[start : start + rows])
            packed = np.ascontiguousarray(sets)
            if self.edges is None:
                total += self.cells.counts(front, packed)
            else:
                total += pair_counts(*self.cells.supports(front, packed))
        return total

    def _require_counts(self, counts: Sequence[int], users: int) -> None:
        size, damaged = self.labels.size, False
        if self.edges is not None:
            pairs = np.array(counts, dtype=np.int64)
            counts, damaged = single_counts(pairs).tolist(), not are_pairs(pairs)
        if isinstance(self.cells, AnswerCells):
            damaged = damaged or sum(counts) != self.law.week_size * users
        if len(counts) > size:
            parts = zip(counts[:size], counts[size:], strict=True)
            damaged = damaged or any(fits > about for fits, about in parts)
        if damaged:
            raise DataError(
                "aggregator", "the counts are damaged: no such reports exist", "count the reports again"
            )

    def estimate_from_counts(self, counts: Codes, users: int, population: bool = False) -> FrequencyEstimate:
        require_no_mask(counts, "counts")
        shares = self.scores.estimate(self.supports(counts, users), users, self._names, population)
        if not isinstance(self.codec, Binned):
            return shares
        sums, low = sums_of(self.codec.edges), float(self.scores.chances[1])
        limits = limits_of_pairs(counts, users, sums, low, self.scores.scale)
        return number_estimate(shares, self.codec, limits)

    @rng_alone
    def estimate_weeks(self, tables: Sequence[Any], population: bool = False) -> FrequencyEstimate:
        """Return the mean share over weeks from the reports of the same users, in the same order.

        Parameters
        ----------
        tables : sequence
            The reports of each week.
        population : bool

        Raises
        ------
        DataError
            When the weeks have different numbers of users, or there are more than were planned.

        Examples
        --------
        >>> mechanism = WeeklyResponse.of(2, 4.0, 2.0, 1, 1, weeks=8)
        >>> memory = mechanism.remember([0] * 700 + [1] * 300, rng=1)
        >>> estimate = mechanism.estimate_weeks([memory.report(rng=week) for week in range(8)])
        >>> bool(abs(estimate.value[0] - 0.7) < 4 * estimate.standard_error[0])
        True
        """
        read = self._weeks_of(tables)
        parts = [self.parts_of(packed) for packed in read]
        weights = [1.0 / len(read)] * len(read)
        if self.distinct == 1:
            counts = [self.supports(self.count(packed), len(packed)) for packed in read]
            scores = self.scores_of(len(read))
            result = scores.estimate(np.sum(counts, axis=0), len(read[0]), self._names, population)
        else:
            linked = linked_estimate(self.scores, parts, weights, self._names, population)
            assert isinstance(linked, FrequencyEstimate)
            result = linked
        if not isinstance(self.codec, Binned):
            return result
        sums = sums_of(self.codec.edges)
        steps = steps_of(sums, self.scores.scale * len(read))
        _, limits = user_spread(self.scores, parts, weights, sums).limits(steps)
        return number_estimate(result, self.codec, limits)

    @rng_alone
    def estimate_change(self, before: Any, after: Any, population: bool = False) -> ChangeEstimate:
        """Return the change of each share between two weeks of the same users, in the same order.

        Raises
        ------
        ParameterError
            When the mechanism is for answers that do not change.
        """
        if self.distinct == 1:
            what = "this mechanism keeps one permanent report of each user, so answers cannot change"
            raise ParameterError("change", what, "build with distinct = 2 or more")
        read = [self.parts_of(packed) for packed in self._weeks_of([before, after])]
        result = linked_estimate(self.scores, read, [-1.0, 1.0], self._names, population)
        assert isinstance(result, ChangeEstimate)
        return result

    def _weeks_of(self, tables: Sequence[Any]) -> list[Packed]:
        """Return the reports of weeks, which have to be of as many users each."""
        read = [self.read(table) for table in tables]
        if not read or not len(read[0]):
            raise DataError("reports", "there are none", "give the reports of at least one week")
        if len(read) > self.weeks:
            what = f"{counted(len(read), 'week')}, and {self.weeks} were planned"
            raise DataError("reports", what, "give each week once")
        for number, packed in enumerate(read):
            if len(packed) != len(read[0]):
                what = f"week {number + 1} has {counted(len(packed), 'user')}, the first {len(read[0])}"
                raise DataError("reports", what, "give the same users in the same order")
        return read

    # Accuracy

    def variance(self, frequency: float = 0.0, weeks: int = 1) -> float:
        """Return users times the variance of an answer of this frequency, over so many weeks."""
        if self.law.own == self.law.other:
            return math.inf
        return float(self.scores_of(weeks).variance(Fraction(frequency)))

    def forecast(self, users: int = USERS) -> Forecast:
        """Return the standard error of a share over all planned weeks with this many users."""
        count = user_count(users)
        rare, all_of_them, even = (
            self.variance(share, self.weeks) for share in (0.0, 1.0, 1.0 / self.labels.size)
        )
        scenario = f"over {counted(self.weeks, 'week')}, if all answers are equally frequent"
        largest = math.sqrt(max(rare, all_of_them) / count)
        return Forecast.of_shares(count, largest, math.sqrt(even / count), scenario)

    # Tables, certificates and file

    def operations(self) -> tuple[Operation, ...]:
        return weekly_operations(self, super().operations())

    def audit(self) -> WeeklyAudit:  # type: ignore[override]
        """Return the exact audit: of the permanent sets for all weeks, of one week's sets for one."""
        ratio, times = self.law.ratio(), self.permanent_reports
        promise = Guarantee(self.epsilon, covers="all weekly reports of a kept state")
        one = log_ratio(ratio.numerator, ratio.denominator)
        digits = one if times == 1 else Decimal(times) * one
        true = true_bound(digits, promise.epsilon, composed_within(ratio, times, promise.epsilon))
        single: ClassAudit = audit_classes(self.law.week_classes(), self.week_epsilon)
        figures: dict[str, Any] = {"permanent_reports": times}
        if times > 1:
            figures["one_permanent_report"] = float(one)
        witness = {"input": 0, "other": 1, "report": WITNESS}
        return WeeklyAudit(Proof(promise, true, pairs=2), witness, single.proof, figures)

    def certificates(self) -> tuple[Certificate, ...]:
        return self.audit().certificate(), Certificate("normalization", True, True, {"row_sum": f"2**{BITS}"})

    def explained(self) -> tuple[str, ...]:
        own, other = (round(1000 * share) for share in self.support_shares())
        what = {"answers": "your answer", "hashed": "a group of answers", "bins": "a few of the answers"}
        first = f"A random set for {what[self.cells.kind]} is drawn once and kept; the answer itself is not."
        again = "Every week a new random set is drawn from it, and only that is sent."
        lasting = "All of them together reveal no more than the kept sets, however many weeks there are."
        if self.counts_cells:
            lasting = f"The guarantee is for {self.permanent_reports} different answers of one user."
        fits = (
            f"Of 1000 users with an answer about {own} send a set that fits it in a week; of 1000 with "
            f"another answer about {other} do."
        )
        return first, again, lasting, fits
