"""The problems of choosing a protocol: what they have in common, and their methods.

A candidate is one kind of protocol with one calibration, fitted to what a problem requires. ``Choosing`` has
the guarantee and judges candidates. Further bases add limits of bits, a delta of 0 and a user's own epsilon
(``Limited``, ``LocallyLimited``), and categories with their names (``Categorised``). The methods are the best
protocol of all that fit, and each one by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from mechdesign.collect.codec import Labels
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import checked, choice, flag, frozen_problem, real, related, whole
from mechdesign.core.problem import Method, Outcome, Problem, Sense, Variables
from mechdesign.core.solution import Solution
from mechdesign.core.validation import privacy_epsilon
from mechdesign.exact.numbers import text_of
from mechdesign.families.shuffle.promise import (
    LARGEST_EPSILON,
    LEAST_DELTA,
    LEAST_EPSILON,
    USERS_LIMIT,
    OutOfReachError,
    Promise,
    checked_delta,
)
from mechdesign.families.shuffle.protocol import Protocol
from mechdesign.families.shuffle.tasks import MOST_CATEGORIES

BEST = "best"

FOR_PURE = "it is for delta 0, which costs error"


Reason = str


@dataclass(frozen=True)
class ProtocolSetting:
    """Requirements that a protocol must fit.

    Attributes
    ----------
    promise : Promise
    max_messages : int or None
        The most messages that a user may send.
    local_cap : float or None
        The largest epsilon of a user's own messages before they are shuffled.
    setting : tuple of (str, value)
        What the protocol has to know of users' values: the steps of a sum, the categories of a histogram and
        their names, the chance of a wrong answer of a test.
    max_bits : int or None
        The most bits of all messages of a user.
    pure : bool
        Whether delta has to be proven to be 0.
    """

    promise: Promise
    max_messages: int | None = None
    local_cap: float | None = None
    setting: tuple[tuple[str, Any], ...] = ()
    max_bits: int | None = None
    pure: bool = False


@dataclass(frozen=True)
class Kind:
    """One protocol with one calibration.

    Attributes
    ----------
    name : str
        The method's name: the protocol's, with ``-published`` for the constants of its paper.
    protocol : type
    summary : str
    local : bool
        Whether a user's messages are private by themselves.
    flexible : bool
        Whether its noise depends on how many messages are allowed.
    by_name : str
        Why it is a candidate only when it is asked for; empty when it always is one.
    """

    name: str
    protocol: type[Protocol]
    summary: str
    local: bool = False
    flexible: bool = False
    by_name: str = ""

    @property
    def is_published(self) -> bool:
        """Whether the noise is that of the paper's constants."""
        return self.name.endswith("-published")


def with_published(
    name: str, protocol: type[Protocol], summary: str, published: str, **options: Any
) -> tuple[Kind, Kind]:
    """Return a protocol with exact noise, and with the constants of its paper; both have the options."""
    return (
        Kind(name, protocol, summary, **options),
        Kind(f"{name}-published", protocol, published, **options),
    )


@lru_cache(maxsize=256)
def _calibrated(kind: Kind, case: ProtocolSetting) -> Protocol | Reason:
    build = kind.protocol.published if kind.is_published else kind.protocol.calibrated
    allowed = {"max_messages": case.max_messages, "local_cap": case.local_cap}
    try:
        return build(case.promise, **dict(case.setting), **allowed)
    except (OutOfReachError, ParameterError) as error:  # what is too large to be proven
        return str(error)


@dataclass(frozen=True)
class Limit:
    """A figure of a protocol, the most that a problem allows, and why a protocol beyond it does not fit."""

    certified: str
    figure: str
    value: float
    allowed: float | None
    refusal: str

    @property
    def excess(self) -> float:
        """By how much the figure exceeds what is allowed."""
        return 0.0 if self.allowed is None else max(0.0, self.value - self.allowed)

    def certificates(self) -> tuple[Certificate, ...]:
        """Return the certificate of a limit that is asked for."""
        if self.allowed is None:
            return ()
        figures = {self.figure: self.value, **({"allowed": self.allowed} if self.allowed else {})}
        exact = self.figure != "least_delta"
        return (Certificate(self.certified, self.excess == 0.0, exact, figures),)


def protocol_limits(protocol: Protocol, case: ProtocolSetting) -> tuple[Limit, ...]:
    """Return the limits of messages and bits, a delta that must be 0 and the local epsilon."""
    most, bits, sends = (
        protocol.most_messages,
        most_bits(protocol),
        "it sends up to {} {} a user; allow as many",
    )
    delta, local = protocol.least_delta, protocol.local_epsilon
    too_local = f"its local epsilon is {local:.4g}; allow as much"
    return (
        Limit("messages", "messages", most, case.max_messages, sends.format(most, "messages")),
        Limit("bits", "bits", bits, case.max_bits, sends.format(bits, "bits")),
        Limit("purity", "least_delta", delta, 0.0 if case.pure else None,
              f"delta is not 0 but {delta:.3g}; omit pure"),
        Limit("local_privacy", "local_epsilon", local, case.local_cap, too_local),
    )  # fmt: skip


def fitted(kind: Kind, case: ProtocolSetting) -> Protocol | Reason:
    """Return a protocol with its noise, or why there is none."""
    if case.local_cap is not None and not kind.local:
        return "a user's own messages are not private before they are shuffled; omit local_cap"
    protocol = _within_bits(kind, case)
    if not isinstance(protocol, Protocol):
        return protocol
    messages, _, pure, local = protocol_limits(protocol, case)
    if pure.excess > 0.0:
        return pure.refusal
    if protocol.least_delta > case.promise.delta:
        return f"its constants are not enough here: delta is only proven to be {protocol.least_delta:.3g}"
    return next((limit.refusal for limit in (messages, local) if limit.excess > 0.0), protocol)


def _within_bits(kind: Kind, case: ProtocolSetting) -> Protocol | Reason:
    """Return the protocol that sends at most ``case.max_bits`` bits per user, or why there is none."""
    cap = case.local_cap
    if case.pure and kind.local and not kind.protocol.is_pure:  # what is private by itself needs no delta
        cap = case.promise.epsilon if cap is None else min(cap, case.promise.epsilon)
    requirements = replace(case, local_cap=cap, max_bits=None, pure=False)
    sent = 0
    while True:
        protocol = _calibrated(
            kind, requirements if kind.flexible else replace(requirements, max_messages=None)
        )
        if sent and not isinstance(protocol, Protocol):  # fewer messages will not do: more bits are needed
            return f"it sends up to {sent} bits a user; allow as many"
        if (
            case.max_bits is None
            or not isinstance(protocol, Protocol)
            or most_bits(protocol) <= case.max_bits
        ):
            return protocol
        sent, fewer = most_bits(protocol), case.max_bits // protocol.message_bits
        # What sends more than it was allowed to (a stated precision decides) will not send fewer.
        is_deaf = requirements.max_messages is not None and protocol.most_messages > requirements.max_messages
        if not kind.flexible or fewer < 1 or is_deaf:
            return f"it sends up to {sent} bits a user; allow as many"
        requirements = replace(requirements, max_messages=min(fewer, protocol.most_messages - 1))


def most_bits(protocol: Protocol) -> int:
    """Return the most bits of all messages of a user."""
    return protocol.most_messages * protocol.message_bits


def protocol_field(meaning: str, kinds: Sequence[Kind]) -> Any:
    """Return the field ``protocol`` of a problem: the best one, or one of its kinds by name."""
    names = [kind.name for kind in kinds if not kind.is_published]
    return choice(meaning, [BEST, *names], form="str", default=BEST)


@frozen_problem()
class Choosing(Problem[Protocol]):
    """Base of the problems of protocols: which protocol, with which noise.

    The concrete class names its ``kinds``, and states ``protocol`` again with them.
    """

    sense: ClassVar[Sense] = "min"
    trivial: ClassVar[float | None] = 0.0
    compared_with: ClassVar[str] = "the protocols that are built in and fit the limits"
    kinds: ClassVar[tuple[Kind, ...]]
    share: ClassVar[str]
    """What the error is one of when it is divided by the number of users."""

    users: int = whole("From 2 to 1e9; their number is public.", low=2, high=USERS_LIMIT)
    epsilon: float = real("From 2**-20 to 40.", low=LEAST_EPSILON, high=LARGEST_EPSILON)
    delta: float = checked(
        "From 1e-30 to below 1.",
        checked_delta,
        form="float",
        limits={"minimum": LEAST_DELTA, "exclusiveMaximum": 1},
    )
    protocol: str = protocol_field("The best one.", ())
    max_messages: int | None = whole(
        "The most messages that a user may send.", low=1, high=1 << 30, default=None
    )
    honest: float = real(
        "In (0, 1]: the fraction of users who follow the protocol, whatever the others do. The error is "
        "stated for the case that all users follow it.",
        low=0.0,
        high=1.0,
        low_open=True,
        default=1.0,
    )

    @cached_property
    def promise(self) -> Promise:
        """Guarantee that the shuffled messages must keep."""
        return Promise(self.users, self.epsilon, self.delta, self.honest)

    @property
    def wants_pure(self) -> bool:
        """Whether delta is to be 0."""
        return False

    @property
    def case(self) -> ProtocolSetting:
        """Requirements that protocols must fit."""
        return ProtocolSetting(self.promise, self.max_messages, setting=tuple(self.setting.items()))

    @property
    def public_parameters(self) -> dict[str, Any]:
        """Parameters that were given, of those that protocols otherwise draw when they are built."""
        return {}

    @property
    def requested_kinds(self) -> list[Kind]:
        """The kinds that are asked for, each with exact noise."""
        kinds = [kind for kind in self.kinds if not kind.is_published]
        if self.protocol == BEST:
            return [kind for kind in kinds if not self.only_by_name(kind)]
        return [kind for kind in kinds if kind.name == self.protocol]

    def only_by_name(self, kind: Kind) -> bool:
        """Whether a kind has to be asked for; those with delta 0 need not where that is wanted."""
        return bool(kind.by_name) and not (self.wants_pure and kind.protocol.is_pure)

    def candidates(self) -> dict[str, Protocol | Reason]:
        """Return for each kind that is asked for its protocol, or why there is none."""
        return {kind.name: fitted(kind, self.case) for kind in self.requested_kinds}

    def built(self, variables: Variables) -> Protocol:
        """Return the protocol that the variables describe."""
        parameters = dict(variables)
        name = parameters.pop("protocol")
        known = {kind.protocol.type: kind.protocol for kind in self.kinds}
        if name not in known:
            raise ParameterError("protocol", f"{text_of(name)} is none of {', '.join(known)}")
        parameters.update(self.setting)
        public_seeds = known[name].public_seeds
        parameters.update(
            {public: value for public, value in self.public_parameters.items() if public in public_seeds}
        )
        return known[name](self.case.promise, parameters.pop("calibration"), **parameters)

    def mechanism(self, solution: Solution[Any]) -> Protocol:
        return self.built(solution.variables).require()

    @property
    def setting(self) -> dict[str, Any]:
        """Setting of the users' values; it is not a variable."""
        return {}

    def error_of(self, protocol: Protocol) -> float:
        """Return the error that is minimised; by default the protocol's at its worst."""
        return protocol.rmse

    @property
    def planned_users(self) -> int:
        return self.users

    def planned_error(self, solution: Solution[Any]) -> tuple[float, str, str]:
        """Return the error as a part of the users, whose number is public."""
        return solution.value / self.planned_users, "root mean squared error", self.share

    def messages_of(self, protocol: Protocol) -> float:
        """Return the expected messages of a user, by default at their largest over the values."""
        return protocol.mean_messages

    # Judging candidates

    def objective(self, variables: Variables) -> float:
        return self.error_of(self.built(variables))

    def residuals(self, variables: Variables) -> dict[str, float]:
        """Return by how much messages, bits, local epsilon and a delta that must be 0 exceed their limits."""
        messages, bits, delta, local = protocol_limits(self.built(variables), self.case)
        return {
            "messages": messages.excess,
            "bits": bits.excess,
            "local_epsilon": local.excess,
            "delta": delta.excess,
        }

    def certificates(self, solution: Solution[Any]) -> tuple[Certificate, ...]:
        """Return the protocol's own certificates, those of what was asked for, and a claimed optimum."""
        protocol = self.built(solution.variables)
        certificates = list(protocol.certificates())
        for limit in protocol_limits(protocol, self.case):
            certificates += limit.certificates()
        if solution.status != "optimal":
            return tuple(certificates)
        best = [self.error_of(item) for item in self.candidates().values() if isinstance(item, Protocol)]
        least = min(best, default=math.nan)
        note = f"least error of the {len(best)} protocol(s) that fit, each with its calibrated noise"
        figures = {"candidates": len(best), "least": least}
        certificates.append(
            Certificate("optimality", self.error_of(protocol) <= least, False, figures, {}, note)
        )
        return tuple(certificates)


def variables_of(protocol: Protocol) -> dict[str, Any]:
    """Return the variables that describe a protocol, but for what is drawn when it is built."""
    variables = {"protocol": protocol.type, "calibration": protocol.calibration}
    steps = protocol.setting().get("precision")
    chosen = {
        name: value for name, value in protocol.parameters().items() if name not in protocol.public_seeds
    }
    return {**variables, **({} if steps is None else {"precision": steps}), **chosen}


def notes_of(protocol: Protocol) -> Mapping[str, Any]:
    """Return the figures next to the error: messages, bits, what was proven."""
    notes: dict[str, Any] = {
        "messages": protocol.mean_messages,
        "bits": protocol.mean_messages * protocol.message_bits,
        "least_delta": protocol.least_delta,
    }
    if math.isfinite(protocol.local_epsilon):
        notes["local_epsilon"] = protocol.local_epsilon
    return notes


LEAST_CAP, LARGEST_CAP = 2.0**-20, 40.0


@frozen_problem()
class Limited(Choosing):
    """The tasks whose protocols may be limited in bits, or to a delta of 0."""

    max_bits: int | None = whole(
        "The most bits of all messages of a user.", low=1, high=1 << 50, default=None
    )
    pure: bool = flag(
        "Whether delta has to be 0: only protocols with a proof for that, such as randomized response that "
        "is private by itself. ``delta`` is then not used up."
    )

    @property
    def wants_pure(self) -> bool:
        return self.pure

    @property
    def case(self) -> ProtocolSetting:
        return replace(super().case, max_bits=self.max_bits, pure=self.pure)


def _cap(field: str, value: Any) -> float:
    cap = privacy_epsilon(value, field)
    if not LEAST_CAP <= cap <= LARGEST_CAP:
        raise ParameterError(field, f"{cap:g} is not from 2**-20 to 40", "give such a number")
    return cap


@frozen_problem()
class LocallyLimited(Limited):
    """The tasks in which a user's own messages may also have to be private."""

    local_cap: float | None = checked(
        "The largest epsilon of a user's messages before they are shuffled.",
        _cap,
        form="float",
        default=None,
        limits={"minimum": LEAST_CAP, "maximum": LARGEST_CAP},
    )

    @property
    def case(self) -> ProtocolSetting:
        return replace(super().case, local_cap=self.local_cap)


def _labels(problem: Categorised, field: str, names: Any) -> tuple[str, ...] | None:
    if not isinstance(names, (list, tuple)):
        raise ParameterError(field, f"expected a list of names, got {names!r}")
    return Labels(problem.categories, tuple(names)).names


@frozen_problem()
class Categorised(Choosing):
    """The tasks about categories."""

    categories: int = whole("From 2 to 2**20.", low=2, high=MOST_CATEGORIES)
    labels: Sequence[str] | None = related(
        "Names of the categories.", _labels, form="sequence of str", default=None
    )

    @property
    def setting(self) -> dict[str, Any]:
        return {"categories": self.categories, "labels": self.labels}


def nothing_fits(problem: Choosing) -> Reason | None:
    """Return why none of the protocols asked for fits, if so."""
    candidates = problem.candidates()
    if any(isinstance(item, Protocol) for item in candidates.values()):
        return None
    return "; ".join(f"{name}: {reason}" for name, reason in candidates.items())


def best_protocol(problem: Choosing) -> Outcome:
    """Return the protocol of least error of all that fit."""
    reason = nothing_fits(problem)
    if reason is not None:
        return Outcome(status="infeasible", solver="enumeration", message=reason)
    fits = [item for item in problem.candidates().values() if isinstance(item, Protocol)]
    chosen = min(fits, key=problem.error_of)
    return Outcome(
        status="optimal",
        variables=variables_of(chosen),
        bound=problem.error_of(chosen),
        bound_source=f"the least of {len(fits)} protocol(s), each with its calibrated noise",
        solver="enumeration",
        notes=notes_of(chosen),
    )


def fitted_kind(problem: Choosing, kind: Kind) -> Outcome:
    """Return one kind of protocol; it claims no optimum among the others."""
    candidate = fitted(kind, problem.case)
    if not isinstance(candidate, Protocol):
        return Outcome(status="infeasible", solver="calibration", message=candidate)
    return Outcome(
        status="feasible",
        variables=variables_of(candidate),
        solver="constants" if kind.is_published else "bisection",
        notes=notes_of(candidate),
    )


def why_not(problem: Choosing, kind: Kind) -> Reason | None:
    """Return why a kind does not apply where others do, if so."""
    protocol = kind.name.removesuffix("-published")
    if problem.protocol not in (BEST, protocol):
        return f"the protocol is to be {problem.protocol}"
    if problem.protocol == BEST and problem.only_by_name(kind):
        return f"{kind.by_name}; ask for it by its name"
    candidate = fitted(kind, problem.case)
    if isinstance(candidate, Protocol) or nothing_fits(problem) is not None:
        return None
    return candidate


def protocol_methods(problem: type[Choosing]) -> tuple[Method, ...]:
    """Return the best of all protocols that fit, then each with its own noise, in the order of the kinds."""
    best = Method(BEST, problem, "analytic", "the protocol of least error of all that fit", best_protocol)
    return (best, *(protocol_method(problem, kind) for kind in problem.kinds if not kind.is_published))


def protocol_method(problem: type[Choosing], kind: Kind) -> Method:
    """Return the method of one protocol with one calibration."""
    return Method(
        name=kind.name,
        problem=problem,
        kind="heuristic" if kind.is_published else "numeric",
        summary=kind.summary,
        run=lambda instance: fitted_kind(instance, kind),
        why_not=lambda instance: why_not(instance, kind),
    )
