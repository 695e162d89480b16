"""The problem ``joint-distribution``: the most likely joint distribution, given one-hot reports; its methods.

The first method that applies is the default.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import Mechanism
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import DataError, ParameterError, UnknownNameError, counted, suggestion
from mechdesign.core.fields import call_named, checked, choice, frozen_problem, related
from mechdesign.core.problem import Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import in_range
from mechdesign.exact.numbers import rational, text_of, wholes
from mechdesign.families.joint.likelihood import (
    FLOOR,
    Likelihood,
    LikelihoodMaximum,
    judged,
)
from mechdesign.families.joint.one_bit import TWO, bit_starts, single_channel
from mechdesign.families.joint.one_hot import (
    GENERATORS,
    AttributeBits,
    BitNoise,
    Codes,
    FileReports,
    PackedBits as Packed,
    SimulatedReports,
    attribute_bits,
    bits_of,
    grouped,
)
from mechdesign.families.joint.penalized import (
    DISTANCE,
    LEAST_PENALTY,
    MOST_PENALTY,
    REFERENCES,
    Penalized,
    judged_penalized,
    relative_entropy,
)
from mechdesign.families.joint.report_origin import maker_note, require_maker
from mechdesign.families.joint.response import channel
from mechdesign.primitives.attributes import Attributes

if TYPE_CHECKING:
    import cvxpy

    from mechdesign.show.figure import Figure

Array = NDArray[np.float64]

GAP = 1e-6
"""A distribution is certified optimal when no cell has a mean likelihood ratio above 1 plus this."""

MOST_CELLS = 1 << 22
FAR = 10.0
"""Standard errors by which the reports may miss that every user has one value of each attribute."""

LEAST_DIFFERENCE = 1e-9
"""How much the chances of a 1 differ at least, for a 1 and for a 0: shares are differences over this."""

LEAST_CHANCE = 1e-30
"""Probability of a wrong bit; products of likelihood ratios over attributes stay within double precision."""


EITHER = "reports: give either patterns, with counts, or reports"


def _attributes(field: str, value: Any) -> tuple[int, ...]:
    sizes = Attributes(value, field=field).sizes
    cells = math.prod(sizes)
    if cells > MOST_CELLS:
        raise ParameterError(
            field, f"{cells} joint cells; the limit is {MOST_CELLS}", "take fewer attributes together"
        )
    return sizes


def _chance(field: str, value: Any) -> float:
    number = rational(field, value)
    if not 0 <= number <= 1:
        raise ParameterError(field, f"{text_of(value)} is outside [0, 1]", "give a probability")
    return float(number)


def _single_chance(problem: JointDistribution, field: str, value: Any) -> float:
    if TWO not in problem.attributes:
        raise ParameterError(field, "no attribute has two values", "omit it")
    return _chance(field, value)


def _patterns(problem: JointDistribution, field: str, value: Any) -> Codes:
    rows = wholes(field, value, 2)
    width = bit_starts(problem.attributes, problem.one_bit)[-1]
    if not len(rows):
        raise DataError(field, "there are none", "give at least one report")
    if rows.shape[1] != width:
        raise ParameterError(
            field,
            f"rows of {rows.shape[1]} bits",
            f"these attributes have {width}, one per value" + (", or one for two" if problem.one_bit else ""),
        )
    if ((rows < 0) | (rows > 1)).any():
        place = int(np.argmax(((rows < 0) | (rows > 1)).any(axis=1)))
        raise ParameterError(field, f"row {place} has a number that is neither 0 nor 1", "correct it")
    return rows


def _counts(problem: JointDistribution, field: str, value: Any) -> Any:
    if problem.patterns is None:
        return value  # refused once it is known whether there are reports
    counts = wholes(field, value, 1)
    if len(counts) != len(problem.patterns):
        raise ParameterError(
            field, f"{len(counts)} for {counted(len(problem.patterns), 'pattern')}", "give one each"
        )
    if (counts < 0).any() or not counts.any():
        raise ParameterError(field, "must be >= 0 and not all 0", "give how many users sent each pattern")
    return counts


def _reports(problem: JointDistribution, field: str, entry: Any) -> FileReports | SimulatedReports:
    if problem.patterns is not None:
        raise ParameterError(EITHER)
    if isinstance(entry, Mapping):
        name = str(entry.get("name"))
        if name not in GENERATORS:
            raise UnknownNameError(field, f"no generator '{name}'", suggestion(name, GENERATORS))
        arguments = {word: value for word, value in entry.items() if word != "name"}
        entry = call_named(f"{field}: generator '{name}'", GENERATORS[name], arguments)
    if not isinstance(entry, (FileReports, SimulatedReports)):
        raise ParameterError(field, "expected a table with a name, 'file' or 'simulated'")
    cells = math.prod(problem.attributes)
    shares = entry.distribution if isinstance(entry, SimulatedReports) else "no shares"
    if not isinstance(shares, str) and len(shares) != cells:
        raise ParameterError(
            field,
            f"distribution has {counted(len(shares), 'number')} for {cells} joint cells",
            "give one each",
        )
    return entry


def _penalty(field: str, value: Any) -> float:
    penalty = in_range(field, value, 0.0, MOST_PENALTY)
    if 0.0 < penalty < LEAST_PENALTY:
        raise ParameterError(field, f"{penalty:g} is below {LEAST_PENALTY:g}", "give more, or 0 for none")
    return penalty


@frozen_problem(eq=False)
class JointDistribution(Problem[Mechanism]):
    r"""The joint distribution of several attributes that makes given one-hot reports most likely.

    ::

        minimize    -(1/N) sum_i ln sum_v P(v) Pr[T_i | v]
        over        distributions P on the joint cells v = (v_1, ..., v_d)

    With a penalty the objective has the further term (lambda/N) KL(P || Q); see ``penalty``.

    The program is convex. With G(v) the mean over users of Pr[T_i | v] / sum_w P(w) Pr[T_i | w], no
    distribution is better than P by more than ln max G: that is the bound.

    Raises
    ------
    ParameterError, DataError
        Naming the field, what is wrong and the remedy; also for reports that these redraw, keep and add
        cannot have caused, but with a negligible chance.

    Notes
    -----
    Source: Chu, Long, Liu (2022), algorithm 2, whose EM algorithm climbs to this maximum.

    Examples
    --------
    >>> import mechdesign as md
    >>> problem = md.JointDistribution(
    ...     attributes=[2], redraw=0.0, keep=0.75, add=0.25, patterns=[[1, 0], [0, 1]], counts=[60, 40])
    >>> md.solve(problem).variables["distribution"].round(4).tolist()
    [0.625, 0.375]
    """

    name: ClassVar[str] = "joint-distribution"
    example: ClassVar[Mapping[str, Any]] = {
        "attributes": [2],
        "redraw": 0.0,
        "keep": 0.75,
        "add": 0.25,
        "patterns": [[1, 0], [0, 1]],
        "counts": [60, 40],
    }
    sense: ClassVar[Sense] = "min"
    value_name: ClassVar[str] = "negative log-likelihood per user (nats)"
    trivial: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "the most likely joint distribution of several attributes, from one-hot reports"
    compared_with: ClassVar[str] = "all distributions of the attributes"
    generators: ClassVar[Mapping[str, Mapping[str, Callable[..., Any]]]] = {"reports": GENERATORS}
    renamed: ClassVar[Mapping[str, str]] = {"f": "redraw", "q": "keep", "p": "add"}

    attributes: Sequence[int] = checked(
        "Number of values of each attribute, at least 2.", _attributes, form="sequence of int"
    )
    redraw: float = checked(
        "Probability with which a permanent bit is drawn again, half of the time 1; the paper's f.",
        _chance,
        limits={"minimum": 0, "maximum": 1},
        form="float",
    )
    keep: float = checked(
        "Probability that a kept 1 is reported as 1; the paper's q.",
        _chance,
        limits={"minimum": 0, "maximum": 1},
        form="float",
    )
    add: float = checked(
        "Probability that a kept 0 is reported as 1; the paper's p.",
        _chance,
        limits={"minimum": 0, "maximum": 1},
        form="float",
    )
    bit_redraw: float | None = related(
        "Redraw of the one bit of an attribute with two values; without it every value has a bit. Where no "
        "attribute has more values, redraw, keep and add are those of the bit.",
        _single_chance,
        limits={"minimum": 0, "maximum": 1},
        form="float",
        default=None,
    )
    bit_keep: float | None = related(
        "Probability that this bit is reported as it is kept.",
        _single_chance,
        limits={"minimum": 0, "maximum": 1},
        form="float",
        default=None,
    )
    patterns: Sequence[Sequence[int]] | None = related(
        "Different reports, one bit a value (or one for two values), attribute after attribute.",
        _patterns,
        form="rows of 0 and 1",
        default=None,
    )
    counts: Sequence[int] | None = related(
        "Number of users who sent each; one each by default.", _counts, form="sequence of int", default=None
    )
    reports: FileReports | SimulatedReports | None = related(
        "In place of patterns: a table with a ``name``. Redraw, keep and add are compared with ``mechanism``,"
        " the file that made them.",
        _reports,
        form="FileReports or SimulatedReports",
        default=None,
    )
    penalty: float = checked(
        "lambda: minimized is the negative log-likelihood per user plus (lambda / N) KL(P || Q); 0 by "
        "default.",
        _penalty,
        limits={"minimum": 0, "maximum": MOST_PENALTY},
        form="float",
        default=0.0,
    )
    reference: str = choice(
        "Q: even shares, or the product of the debiased shares of single attributes, moved up to 1e-4.",
        REFERENCES,
        form='{"uniform", "product"}',
        default="uniform",
    )

    def __attrs_post_init__(self) -> None:
        _require_noise(self._exact, self.shares, ("redraw", "keep", "add"))
        if (self.bit_redraw is None) != (self.bit_keep is None):
            raise ParameterError("bit_redraw, bit_keep", "one is missing", "give both, or neither")
        if self.bit is not None:
            _require_noise(self._exact_bit, (self.bit.own, self.bit.other), ("bit_redraw", "bit_keep"))
            if set(self.attributes) == {TWO} and self._exact != self._exact_bit:
                raise ParameterError(
                    "redraw, keep, add",
                    "no attribute has one-hot bits",
                    "set redraw = bit_redraw, keep = bit_keep and add = 1 - bit_keep",
                )
        if self.patterns is None and self.reports is None:
            raise ParameterError(EITHER)
        if self.patterns is None and self.counts is not None:
            raise ParameterError("counts", "belong to patterns", "omit them with reports")
        Likelihood.require_room(self.attributes, len(self.different[0]), self.one_bit)
        if isinstance(self.reports, FileReports) and self.reports.mechanism is not None:
            stated = {"redraw": self.redraw, "keep": self.keep, "add": self.add}
            if self.bit_redraw is not None and self.bit_keep is not None:
                stated |= {"bit_redraw": self.bit_redraw, "bit_keep": self.bit_keep}
            require_maker(self.reports, self.reports.mechanism, self.attributes, stated)
        self._require_plausible()

    # As a program

    def statement(self) -> cvxpy.Problem:
        import cvxpy as cp

        model = (
            self.model
        )  # Pr[T_i | v] = chances times a factor of T_i, whose mean logarithm is the constant
        chances = model.columns(np.arange(model.cells), np.arange(len(model.counts)))
        point = cp.Variable(model.cells, name="distribution", nonneg=True)
        loss = -(model.counts / model.users) @ cp.log(chances @ point) - model.constant
        if self.penalty:
            loss += self.penalty / model.users * cp.sum(cp.rel_entr(point, self.shares_drawn_to))
        return cp.Problem(cp.Minimize(loss), [(cp.sum(point) == 1).set_label("shares")])

    def statement_size(self) -> int:
        return len(self.model.counts) + self.model.cells

    def from_statement(self, values: Mapping[str, Any]) -> Variables:
        from mechdesign.solvers.statement import nonnegative_shares

        return {"distribution": nonnegative_shares(values["distribution"])}

    # The reports

    @cached_property
    def _exact(self) -> tuple[Fraction, Fraction, Fraction]:
        return channel(self.redraw, self.keep, self.add)

    @property
    def shares(self) -> tuple[float, float]:
        """q* and p*: the probability that a reported bit is 1 where the true one is 1, and where it is 0."""
        return _shares(self._exact)

    @property
    def one_bit(self) -> bool:
        """Whether an attribute with two values has one bit."""
        return self.bit_keep is not None

    @cached_property
    def _exact_bit(self) -> tuple[Fraction, Fraction, Fraction]:
        return single_channel(self.bit_redraw, self.bit_keep)

    @cached_property
    def bit(self) -> BitNoise | None:
        """The noise of the one bit of an attribute with two values; None where they have two bits."""
        return BitNoise(*_shares(self._exact_bit)) if self.one_bit else None

    @cached_property
    def attribute_bits(self) -> tuple[AttributeBits, ...]:
        """The bits of each attribute."""
        return attribute_bits(self.attributes, BitNoise(*self.shares), self.bit)

    @cached_property
    def different(self) -> tuple[Packed, Codes]:
        """The different reports, packed, and how many users sent each."""
        if self.reports is not None:
            return self.reports.patterns(self.attribute_bits)
        rows = np.asarray(self.patterns)
        counts = np.ones(len(rows), dtype=np.int64) if self.counts is None else np.asarray(self.counts)
        used = counts > 0
        return grouped(np.packbits(rows[used].astype(np.uint8), axis=1), counts[used].astype(np.int64))

    @property
    def users(self) -> int:
        """Number of users who reported."""
        return int(self.different[1].sum())

    @cached_property
    def model(self) -> Likelihood:
        """The likelihood of the reports."""
        packed, counts = self.different
        bits = bits_of(packed, self.attributes, range(len(self.attributes)), self.one_bit)
        return Likelihood(bits, counts, self.attributes, *self.shares, bit=self.bit)

    @cached_property
    def debiased(self) -> Array:
        """The debiased shares of all values: unbiased estimates of the single attributes' frequencies."""
        packed, counts = self.different
        ones = np.zeros(bit_starts(self.attributes, self.one_bit)[-1])
        for start in range(0, len(packed), 1 << 16):
            rows = slice(start, start + (1 << 16))
            ones += counts[rows] @ np.unpackbits(packed[rows], axis=1, count=len(ones)).astype(np.float64)
        shares = ones[None] / self.users
        return np.concatenate([bits.debiased(shares)[0] for bits in self.attribute_bits])

    @cached_property
    def shares_drawn_to(self) -> Array:
        """Q: what the penalty draws towards."""
        if self.reference == "uniform":
            return np.full(self.model.cells, 1.0 / self.model.cells)
        product, start = np.ones(1), 0
        for size in self.attributes:
            single = self.debiased[start : start + size]
            single = np.maximum(single - (single.sum() - 1.0) / size, FLOOR)
            product = np.multiply.outer(product, single / single.sum()).ravel()
            start += size
        return product

    def _require_plausible(self) -> None:
        """Refuse reports in which the values of an attribute do not add up to one per user."""
        own, other = self.shares
        start = 0
        for place, size in enumerate(self.attributes):
            total = float(self.debiased[start : start + size].sum())
            spread = (own * (1.0 - own) + (size - 1) * other * (1.0 - other)) / (own - other) ** 2
            errors = abs(total - 1.0) / math.sqrt(spread / self.users)
            if errors > FAR:
                raise DataError(
                    "reports",
                    f"by redraw, keep and add attribute {place} has {total:.4g} values a user, {errors:.0f} "
                    "standard errors from 1",
                    "give the redraw, keep and add that the reports were made with",
                )
            start += size

    # Judging candidates

    def _distribution(self, variables: Variables) -> Array:
        return np.asarray(variables["distribution"], dtype=np.float64).ravel()

    def why_no_mechanism(self) -> str:
        return (
            "it estimates from reports that were collected: build a joint-collection model, and use estimate "
            "on its reports"
        )

    def objective(self, variables: Variables) -> float:
        """Return the (penalized) negative log-likelihood per user, in natural logarithms."""
        distribution = self._distribution(variables)
        densities = self.model.densities(distribution)
        if not (densities > 0.0).all():
            return math.inf
        value = self.model.value(densities)
        if self.penalty:
            value += self.penalty / self.users * relative_entropy(distribution, self.shares_drawn_to)
        return value

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how much the distribution misses the sum 1, and its most negative entry."""
        distribution = self._distribution(variables)
        return {
            "sum": abs(math.fsum(distribution) - 1.0),
            "negative": max(0.0, -float(distribution.min())),
        }

    def judge(self, variables: Variables) -> LikelihoodMaximum:
        """Return a distribution's value and its largest mean likelihood ratio."""
        return judged(self.model, self._distribution(variables))

    def judge_penalized(self, variables: Variables) -> Penalized:
        """Return a distribution's penalized value and its proven distance from the minimum."""
        return judged_penalized(self.model, self._distribution(variables), self.shares_drawn_to, self.penalty)

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        residuals = self.residuals(solution.variables)
        if self.penalty:
            near = self.judge_penalized(solution.variables)
            return (
                self._sums(residuals),
                Certificate(
                    "optimality",
                    near.distance <= DISTANCE,
                    False,
                    {"gap": near.gap, "distance": near.distance},
                    note="bound from the mean likelihood ratios and the penalty",
                ),
            )
        judgement = self.judge(solution.variables)
        figures = {"largest_ratio": judgement.ratio, "log_likelihood_gap": judgement.value - judgement.bound}
        return (
            self._sums(residuals),
            Certificate(
                "optimality",
                judgement.ratio <= 1.0 + GAP,
                False,
                figures,
                note="bound from the largest mean likelihood ratio of a cell",
            ),
        )

    def _sums(self, residuals: Mapping[str, float]) -> Certificate:
        """Return whether it is a distribution, with a note on whose reports these are."""
        holds = max(residuals.values()) <= 1e-9
        note = maker_note(self.reports) if isinstance(self.reports, FileReports) else ""
        return Certificate("distribution", holds, False, residuals, note=note)


def _shares(exact: tuple[Fraction, Fraction, Fraction]) -> tuple[float, float]:
    """Return the probabilities of a reported 1 for a true 1 and a true 0, of redraw, keep and add."""
    noise, own, other = exact
    half = noise / 2
    return float((1 - half) * own + half * other), float(half * own + (1 - half) * other)


def _require_noise(
    exact: tuple[Fraction, Fraction, Fraction], chances: tuple[float, float], names: Sequence[str]
) -> None:
    """Refuse bits that are certain, and bits that say almost nothing."""
    noise, own, other = exact
    redraw, keep = names[:2]
    if noise == 0 and (own == 1 or other == 0):
        raise ParameterError(
            redraw,
            f"with 0, and {keep} = 1 or add = 0, some bits are certain and a report can exclude cells",
            f"give {keep} below 1 and add above 0",
        )
    if min(chances[1], 1.0 - chances[0]) < LEAST_CHANCE:
        raise ParameterError(
            ", ".join(names),
            f"a bit is wrong with probability below {LEAST_CHANCE:g}",
            "likelihood ratios are beyond double precision then: give more noise",
        )
    if chances[0] - chances[1] < LEAST_DIFFERENCE:
        raise ParameterError(
            ", ".join(names),
            f"a 1 and a 0 are reported as 1 with probabilities less than {LEAST_DIFFERENCE:g} apart",
            "such reports say almost nothing: give less noise",
        )


def outcome(
    problem: JointDistribution, distribution: Array, solver: str, notes: Mapping[str, Any] | None = None
) -> Outcome:
    """Return a distribution: ``optimal`` where its likelihood ratios prove it, else ``feasible``."""
    distribution = distribution / distribution.sum()
    if problem.penalty:
        near = problem.judge_penalized({"distribution": distribution})
        return Outcome(
            status="optimal" if near.distance <= DISTANCE else "feasible",
            variables={"distribution": distribution},
            bound=near.value - near.gap,
            bound_source="the mean likelihood ratios and the penalty",
            solver=solver,
            notes={"distance": near.distance, **(notes or {})},
        )
    judged = problem.judge({"distribution": distribution})
    return Outcome(
        status="optimal" if judged.ratio <= 1.0 + GAP else "feasible",
        variables={"distribution": distribution},
        bound=judged.bound,
        bound_source="the largest mean likelihood ratio of a cell",
        solver=solver,
        notes={"largest_ratio": judged.ratio, **(notes or {})},
    )


def no_penalty(problem: JointDistribution) -> str | None:
    """Return why a method does not apply that knows no penalty, if so."""
    return "it has no penalty" if problem.penalty else None


MOST_BARS = 40


def figures(problem: JointDistribution, solution: Solution[Any]) -> list[Figure]:
    """Return the share of each cell; nothing of many cells."""
    from mechdesign.show.figure import Bars, Figure, Panel

    shares = np.asarray(solution.variables["distribution"], dtype=np.float64).ravel()
    if len(shares) > MOST_BARS:
        return []
    names = [" ".join(map(str, cell)) for cell in product(*(range(size) for size in problem.attributes))]
    marks = [Bars(x=np.arange(len(shares)), y=shares, label="estimated share")]
    panel = Panel("values of the attributes, from 0", "share of the users", marks, x_names=names)
    return [Figure("The estimated joint distribution", [panel])]
