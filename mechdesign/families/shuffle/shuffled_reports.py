"""A local mechanism whose reports are shuffled: its own guarantee, and the central one of all reports.

The central guarantee needs three things that no audit of numbers can see: a shuffler that is trusted to mix
the reports and to keep nothing, a stated number of honest reports, and reports without names, times or
addresses. A user who trusts none of that still has the local guarantee.

The local mechanism for a central guarantee: any problem with an epsilon, solved with the local one.

The epsilon of the problem is read as what the *shuffled* reports have to keep. A local epsilon that is
proven to be enough for any randomizer is where the search begins; the channel that is then found is often
enough with more, as its own bound is smaller, so that the largest local epsilon is sought whose own optimal
mechanism passes. Nothing is assumed about how the optimal mechanisms depend on epsilon: the one that is
returned has passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.losses import LossCurve
from mechdesign.collect.base import CollectingMechanism, Mechanism, Randomizer, mechanism_type
from mechdesign.collect.collecting import ANYWAY, Operation, Settings, mark_in, mark_of, require_columns
from mechdesign.collect.kernel import Answer, Recipe, rng_alone
from mechdesign.collect.server import damage_refused
from mechdesign.collect.totals import Collected
from mechdesign.core.certificate import Certificate, format_figure
from mechdesign.core.errors import (
    CertificateError,
    DataError,
    MechDesignError,
    MethodError,
    ParameterError,
    counted,
    option,
)
from mechdesign.core.fields import fields_of, replace_parameters
from mechdesign.core.problem import Problem
from mechdesign.core.solution import Solution
from mechdesign.core.values import Counter, Estimate, Forecast, PrivacyVerdict, changed, encode
from mechdesign.data.about import About
from mechdesign.data.intake import Block, Intake, Source
from mechdesign.exact.randomness import BitSource
from mechdesign.families.shuffle.judge import bracket
from mechdesign.families.shuffle.promise import MARGIN, MOST_INPUTS, Promise, largest_local, proven
from mechdesign.solvers.solve import solve

OTHERWISE, TAKE = (
    "a {} is none in which all users draw reports in the same way",
    "take one for categories or means",
)

NEEDS = (
    "a shuffler that is trusted to mix, {honest} honest reports at least, and no names, times or addresses "
    "with them"
)


def known_randomizer(local: CollectingMechanism) -> Randomizer:
    """Return the facts about a mechanism that users run: its true epsilon, and its channel if it is finite.

    Raises
    ------
    ParameterError
        When users do not all run the same randomizer, or it has no epsilon with delta 0.
    """
    if not isinstance(local, CollectingMechanism):
        raise ParameterError("shuffled", OTHERWISE.format(local.type), TAKE)
    audit = local.audit()
    delta = getattr(local, "delta", 0.0) or getattr(audit, "delta", 0.0)
    facts = None if delta > 0.0 or getattr(audit, "metric", False) else local.common_randomizer()
    if facts is not None:
        return facts
    if delta > 0.0:
        raise ParameterError(
            "shuffled", f"the local mechanism has delta = {delta:g}, and the proofs are for 0", "omit it"
        )
    if getattr(audit, "metric", False):
        raise ParameterError("shuffled", "its epsilon is per unit of distance", "build it without a distance")
    raise ParameterError("shuffled", OTHERWISE.format(local.type), TAKE)


class Shuffled(CollectingMechanism):
    """A local mechanism with a guarantee for the shuffled reports of all users.

    Parameters
    ----------
    local : CollectingMechanism
        What every user runs: a mechanism for categories or means, with delta 0.
    promise : Promise
        The least number of users, the central epsilon and delta, and the fraction of honest users.

    Raises
    ------
    ParameterError
        For a mechanism that there is no proof for.
    CertificateError
        When the central guarantee is not proven.

    Examples
    --------
    >>> from mechdesign.families.mean import Duchi
    >>> mechanism = Shuffled(Duchi(4.0), Promise(users=100_000, epsilon=0.5, delta=1e-6))
    >>> mechanism
    Shuffled(epsilon=0.5, delta=1e-06 from 100000 users on, each by Duchi([-1, 1], epsilon=4))
    >>> mechanism.central.holds, mechanism.audit().holds
    (True, True)
    """

    type: ClassVar[str] = "shuffled"

    def __init__(self, local: CollectingMechanism, promise: Promise) -> None:
        self.local, self.promise = local, promise
        self.randomizer = known_randomizer(local)
        self.intake, self.about = local.intake, local.about
        if not self.central.holds:
            raise CertificateError("shuffled", f"not private as stated: {self.central}")

    @cached_property
    def central(self) -> Certificate:
        """The certificate of the shuffled reports of all users."""
        promise = self.promise
        bound, source = proven(promise.honest_users, self.randomizer, promise.epsilon, promise.delta)
        figures = {
            **promise.as_dict(),
            "honest_users": promise.honest_users,
            "local_epsilon": self.randomizer.epsilon,
        }
        holds = bound <= promise.delta
        needs = NEEDS.format(honest=promise.honest_users)
        note = f"proven for {source}; needs {needs}" if holds else f"only delta = {bound:.4g} is proven"
        return Certificate("central_privacy", holds, False, figures, {}, note, proof=promise.proof(bound))

    def certificates(self) -> tuple[Certificate, ...]:
        return *self.local.certificates(), self.central

    def loss_curve(self) -> LossCurve | None:
        """Return the curve of a user's own report."""
        return self.local.loss_curve()

    def collected(self, name: str, times: int = 1) -> Collected:
        users, size = self.promise.honest_users, self.randomizer.size
        return changed(super().collected(name, times), users=users, size=size)

    def audit(self) -> PrivacyVerdict:
        """Return the audit of a user's own reports; ``central`` is that of all reports."""
        return self.local.audit()

    def _figures(self) -> str:
        promise = self.promise
        honest = "" if promise.honest == 1.0 else f", {promise.honest_users} of them honest"
        return (
            f"epsilon={promise.epsilon:g}, delta={promise.delta:g} from "
            f"{counted(promise.users, 'user')} on{honest}, "
            f"each by {self.local!r}"
        )

    # Client and server are those of the local mechanism

    @rng_alone
    def randomize(self, answers: Any, *args: Any, **options: Any) -> NDArray[Any]:
        """Return the reports of the local mechanism, in the users' order: to be shuffled before use."""
        return self.local.randomize(answers, *args, **options)

    def aggregator(self) -> Counter:
        return self.local.aggregator()

    @rng_alone
    def estimate(self, reports: Any, population: bool = False, *args: Any, **options: Any) -> Estimate:
        """Return the estimates of the local mechanism: the order of reports does not matter to it."""
        return self.local.estimate(reports, population, *args, **options)

    def forecast(self, users: int | None = None) -> Forecast | None:
        """Return how good the estimates will be; by default for the users that are promised."""
        return self.local.forecast(self.promise.users if users is None else users)

    def bare_codes(self) -> tuple[tuple[str | None, int], ...]:
        return self.local.bare_codes()

    def _is_value(self, text: str) -> bool:
        return self.local._is_value(text)

    def _require_missing(self, rule: str) -> None:
        self.local._require_missing(rule)

    def for_data(self, intake: Intake, ranges: Sequence[tuple[float, float]] = ()) -> Self:
        mechanism = type(self)(self.local.for_data(intake, ranges), self.promise)
        return mechanism.replaced(about=self.about)

    def with_about(self, about: About) -> Self:
        return self.replaced(about=about, local=self.local.with_about(about))

    def stream(self) -> str:
        return self.local.stream()

    def recipe(self) -> Recipe:
        return self.local.recipe()

    def draw_recipe(self, answer: Answer, source: BitSource) -> Any:
        return self.local.draw_recipe(answer, source)

    # Tables

    @property
    def per_user(self) -> int:
        """Number of consecutive rows of reports that are one user's."""
        return int(getattr(self.local, "per_user", 1))

    def operations(self) -> tuple[Operation, ...]:
        """Return the operations of the local mechanism, and ``shuffle`` between them."""
        first, *rest = self.local.operations()
        shuffle = Operation(
            "shuffle",
            "reports of all users in sorted order, without other columns: only how often each was made",
            first.gives,
            first.gives,
            self._shuffle,
            (ANYWAY,),
            several=True,
        )
        return first, shuffle, *rest

    def _shuffle(self, sources: Sequence[Source], settings: Settings) -> Iterator[Block]:
        columns: dict[str, NDArray[Any]] = {}
        for source in sources:
            read = self._reports(source)
            if columns and list(columns) != list(read):
                raise DataError(source.name, f"has other columns of reports than {sources[0].name}")
            columns = {
                name: np.concatenate([columns[name], values]) if columns else values
                for name, values in read.items()
            }
        rows, each = len(next(iter(columns.values()))), self.per_user
        if rows % each:
            raise DataError(
                sources[0].name, f"{counted(rows, 'row')}, and {each} are a user's", "omit whole users"
            )
        if rows < self.promise.users * each and not settings["anyway"]:
            raise DataError(
                sources[0].name,
                f"reports of {rows // each} users, and the central guarantee is for {self.promise.users} or "
                "more",
                "add the others' files, or use " + option("anyway", True) + " and keep the local one",
            )
        parts = [values[place::each] for place in range(each) for values in columns.values()]
        order = np.lexsort(parts[::-1])
        settings.count("users shuffled", rows // each)
        places = (order[:, None] * each + np.arange(each)).ravel()
        yield {name: values[places] for name, values in columns.items()}

    def _reports(self, source: Source) -> dict[str, NDArray[Any]]:
        """Return the columns of this mechanism's reports, whole."""
        mark = mark_of(self.local.survey_digest)
        plain = [column.name for column in self.local.operations()[0].gives if not mark_in(column.name)]
        names = [name for name in source.columns if mark_in(name) == mark]
        if not names:
            raise DataError(source.name, f"has no reports of this mechanism: columns that end in {mark}")
        require_columns(source, [*plain, *names])
        blocks = list(source.blocks([*plain, *names]))
        return {name: np.concatenate([np.asarray(block[name]) for block in blocks]) for name in blocks[0]}

    # File

    def content(self) -> dict[str, Any]:
        local = {"type": self.local.type, "content": self.local.content()}
        return {**self.promise.as_dict(), "local": local}

    @classmethod
    @damage_refused
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        kind = mechanism_type(str(content["local"]["type"]))
        if kind is None or not issubclass(kind, CollectingMechanism):
            raise CertificateError("local", "is not a mechanism that users run")
        local: Mechanism = kind.from_content(content["local"]["content"])
        assert isinstance(local, CollectingMechanism)  # its class is one
        promise = Promise(*(content[name] for name in ("users", "epsilon", "delta", "honest")))
        return cls(local, promise)


LARGEST = 40.0
"""Larger local epsilons are not looked at."""

PRECISION = 1e-3
"""To which part of it the local epsilon of a channel of its own is sought: each step solves the problem."""


@dataclass(frozen=True, repr=False)
class ShuffledDesign:
    """A local mechanism for a central guarantee; ``print`` it for the certificates and the gain.

    Attributes
    ----------
    solution : Solution
        Of the problem with the local epsilon.
    unshuffled : Solution
        Of the problem as it was given, the same guarantee without a shuffler; it may be infeasible.
    promise : Promise
        What the shuffled reports keep, of how many users.
    any_epsilon : float
        The local epsilon that is proven to be enough for any randomizer.
    """

    solution: Solution
    unshuffled: Solution
    promise: Promise
    any_epsilon: float
    _mechanism: Shuffled

    @property
    def local_epsilon(self) -> float:
        """The epsilon of a user's own reports."""
        return float(vars(self.solution.problem)["epsilon"])

    def mechanism(self) -> Shuffled:
        """Return the mechanism that runs, with both guarantees."""
        return self._mechanism

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """Those of the mechanism, local and central privacy among them, and what the solution adds."""
        certificates = self._mechanism.certificates()
        known = {certificate.property for certificate in certificates}
        return (*certificates, *(item for item in self.solution.certificates if item.property not in known))

    @cached_property
    def gain(self) -> Mapping[str, float]:
        """Gain from the shuffler, in numbers.

        ``local_epsilon``, the problem's ``value`` with the shuffler and ``value_unshuffled`` without; where
        something is estimated, the largest standard error with the promised users, ``error`` and
        ``error_unshuffled``, and the users that would be needed without a shuffler for the same error, as a
        multiple: ``users_ratio``. Without a solution for the local guarantee only the first two.
        """
        figures = {"local_epsilon": self.local_epsilon, "value": self.solution.value}
        if not self.unshuffled.found or self.unshuffled.broken:
            return figures
        figures["value_unshuffled"] = self.unshuffled.value
        with_, without = self._error(self._mechanism), self._error(self.unshuffled.mechanism())
        if with_ is not None and without is not None:
            figures |= {"error": with_, "error_unshuffled": without, "users_ratio": (without / with_) ** 2}
        return figures

    def _error(self, mechanism: CollectingMechanism) -> float | None:
        forecast = mechanism.forecast(self.promise.users)
        return None if forecast is None or not forecast.largest else forecast.largest

    def __repr__(self) -> str:
        return f"ShuffledDesign({self._mechanism!r})"

    def gain_lines(self) -> list[str]:
        """Return the gain in words."""
        texts = {name: format_figure(value) for name, value in self.gain.items()}
        lines = [
            f"local epsilon {texts['local_epsilon']}, of any randomizer {format_figure(self.any_epsilon)}",
            f"value {texts['value']}, without a shuffler {texts.get('value_unshuffled', 'there is none')}",
        ]
        if "error" in texts:
            lines.append(
                f"largest standard error {texts['error']}, without a shuffler {texts['error_unshuffled']}: "
                f"equivalent to {self.gain['users_ratio']:.4g} times as many users"
            )
        return lines

    def __str__(self) -> str:
        head = f"{self.solution.problem.name} by {self.solution.method}, for shuffled reports"
        return "\n  ".join([head, *self.gain_lines(), *map(str, self.certificates)])

    def as_json(self) -> dict[str, Any]:
        """Return the guarantee, the gain and the certificates as plain values."""
        return {
            **self.promise.as_dict(),
            "any_epsilon": self.any_epsilon,
            "gain": encode(dict(self.gain)),
            "certificates": [encode(certificate.as_dict()) for certificate in self.certificates],
        }


def shuffled(
    problem: Problem,
    users: int,
    delta: float,
    honest: float = 1.0,
    method: str | None = None,
    refine: bool = True,
) -> ShuffledDesign:
    """Find the local mechanism for a guarantee that the shuffled reports of all users have to keep.

    Parameters
    ----------
    problem : Problem
        Any problem with an ``epsilon`` whose mechanism all users share: randomized response, channels for
        means, frequency oracles, marginal views. Its epsilon is read as the central one.
    users : int
        How many there are at least, from 2 to 10^9.
    delta : float
        Of the central guarantee.
    honest : float
        In (0, 1]: the fraction of users who follow the protocol, whatever the others do.
    method : str, optional
        The problem's method.
    refine : bool
        Whether to look for a larger local epsilon that the channel's own bound allows; each of some ten
        steps solves the problem.

    Returns
    -------
    ShuffledDesign

    Raises
    ------
    ParameterError
        For a problem without a single epsilon, and for a mechanism that there is no proof for.
    MethodError
        When the problem has no solution with the local epsilon that is proven.

    Notes
    -----
    The guarantee needs a shuffler that is trusted to mix, the promised number of honest reports, and reports
    without identifiers; docs/families/shuffle.md for the proofs.

    Examples
    --------
    >>> import mechdesign as md
    >>> survey = md.RandomizedResponse(prior=[0.5, 0.5], epsilon=0.5)
    >>> design = md.shuffled(survey, users=100_000, delta=1e-6)
    >>> round(design.any_epsilon, 2), round(design.local_epsilon, 2), round(design.gain["value"], 4)
    (6.6, 7.0, 0.9991)
    >>> print(design.mechanism().central.property, design.mechanism().central.holds)
    central_privacy True
    """
    promise = Promise(users, _central(problem), delta, honest)
    plain = solve(problem, method)
    any_epsilon = min(largest_local(promise.honest_users, promise.epsilon, promise.delta), LARGEST)
    design = _passing(problem, any_epsilon, promise, method)
    if design is None:
        raise MethodError(problem.name, f"nothing passes at local epsilon {any_epsilon:g}")
    randomizer = design[1].randomizer  # some have a bound of their own
    if refine and (randomizer.size >= 2 or 2 <= len(randomizer.rows) <= MOST_INPUTS):
        design = _refined(problem, any_epsilon, promise, method, design)
    return ShuffledDesign(design[0], plain, promise, any_epsilon, design[1])


Passing = tuple[Solution, Shuffled]


def _central(problem: Problem) -> float:
    """Return the epsilon of the problem."""
    if not isinstance(problem, Problem):
        raise ParameterError(
            "shuffled", f"expected a problem, got {type(problem).__name__}", "of a model take its .problem"
        )
    fields = {field.name for field in fields_of(problem)}
    if "epsilon" not in fields:
        raise ParameterError("shuffled", f"{problem.name} has no epsilon of a user's report to choose")
    if "protocol" in fields:
        raise ParameterError("shuffled", f"{problem.name} is about shuffled messages already", "solve it")
    if getattr(problem, "delta", 0.0):
        raise ParameterError(
            f"shuffled: {problem.name}",
            "its delta is of each report, and the proofs are for 0",
            "omit it and give that of the shuffled reports",
        )
    return float(vars(problem)["epsilon"])


def _solved(problem: Problem, method: str | None) -> Solution:
    solution = solve(problem, method)
    if not solution.found:
        raise MethodError(f"{problem.name}: {solution.status}", solution.message)
    if solution.broken:
        raise MethodError(f"{problem.name}: not built", solution.broken[0])
    return solution


def _passing(problem: Problem, local: float, promise: Promise, method: str | None) -> Passing | None:
    """Return the solution with a local epsilon and its mechanism; None where it does not keep the promise."""
    solution = _solved(replace_parameters(problem, {"epsilon": local}), method)
    stricter = changed(promise, delta=promise.delta * (1.0 - MARGIN))
    mechanism = solution.mechanism()
    try:
        Shuffled(mechanism, stricter)
    except CertificateError:
        return None
    return solution, Shuffled(mechanism, promise)


def _refined(problem: Problem, low: float, promise: Promise, method: str | None, first: Passing) -> Passing:
    """Return the passing solution with the largest local epsilon that bisection finds."""
    passed: dict[float, Passing] = {low: first}

    def enough(local: float) -> bool:
        try:
            passing = passed.get(local) or _passing(problem, local, promise, method)
        except MechDesignError:  # beyond what the problem allows
            return False
        if passing is not None:
            passed[local] = passing
        return passing is not None

    bracket(enough, low, LARGEST, low * 1.02, PRECISION)
    return passed[max(passed)]
