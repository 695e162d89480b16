"""Candidates: one kind of protocol with one calibration, fitted to what a problem requires.

A kind has what its protocols need to know of users' values next to the guarantee: the steps of a sum, the
categories of a histogram, the error of a test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from mechdesign.core.errors import ParameterError
from mechdesign.families.shuffle import Protocol
from mechdesign.families.shuffle.promise import OutOfReachError, Promise

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
    size : int
        Categories of a histogram, steps of a sum; 0 where there is none.
    labels : tuple of str or None
        Names of the categories.
    max_bits : int or None
        The most bits of all messages of a user.
    pure : bool
        Whether delta has to be proven to be 0.
    error : float
        The chance of a wrong answer of a test; 0 where nothing is tested.
    """

    promise: Promise
    max_messages: int | None = None
    local_cap: float | None = None
    size: int = 0
    labels: tuple[str, ...] | None = None
    max_bits: int | None = None
    pure: bool = False
    error: float = 0.0


def _no_domain(case: ProtocolSetting) -> dict[str, Any]:
    """Return the setting of a count: nothing."""
    return {}


@dataclass(frozen=True)
class Kind:
    """One protocol with one calibration.

    Attributes
    ----------
    name : str
        The method's name: the protocol's, with ``-published`` for the constants of its paper.
    protocol : type
    summary : str
    setting : callable
        From a case to what the protocol has to know of people's values.
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
    setting: Callable[[ProtocolSetting], dict[str, Any]] = _no_domain
    local: bool = False
    flexible: bool = False
    by_name: str = ""

    @property
    def is_published(self) -> bool:
        """Whether the noise is that of the paper's constants."""
        return self.name.endswith("-published")

    def fitted(self, case: ProtocolSetting) -> Protocol:
        """Return the protocol with its noise; raise OutOfReachError with the reason and the remedy."""
        build = self.protocol.published if self.is_published else self.protocol.calibrated
        allowed = {"max_messages": case.max_messages, "local_cap": case.local_cap}
        return build(case.promise, **self.setting(case), **allowed)


def with_published(
    name: str,
    protocol: type[Protocol],
    summary: str,
    published: str,
    setting: Callable[[ProtocolSetting], dict[str, Any]] = _no_domain,
    **options: Any,
) -> tuple[Kind, Kind]:
    """Return a protocol with exact noise, and with the constants of its paper; both have the options."""
    return (
        Kind(name, protocol, summary, setting, **options),
        Kind(f"{name}-published", protocol, published, setting, **options),
    )


@lru_cache(maxsize=256)
def _calibrated(kind: Kind, case: ProtocolSetting) -> Protocol | Reason:
    try:
        return kind.fitted(case)
    except (OutOfReachError, ParameterError) as error:  # what is too large to be proven
        return str(error)


def fitted(kind: Kind, case: ProtocolSetting) -> Protocol | Reason:
    """Return a protocol with its noise, or why there is none."""
    if case.local_cap is not None and not kind.local:
        return "a user's own messages are not private before they are shuffled; omit local_cap"
    protocol = _within_bits(kind, case)
    if not isinstance(protocol, Protocol):
        return protocol
    if case.pure and protocol.least_delta > 0.0:
        return f"delta is not 0 but {protocol.least_delta:.3g}; omit pure"
    if protocol.least_delta > case.promise.delta:
        return f"its constants are not enough here: delta is only proven to be {protocol.least_delta:.3g}"
    if case.max_messages is not None and protocol.most_messages > case.max_messages:
        return f"it sends up to {protocol.most_messages} messages a user; allow as many"
    if case.local_cap is not None and protocol.local_epsilon > case.local_cap:
        return f"its local epsilon is {protocol.local_epsilon:.4g}; allow as much"
    return protocol


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


def steps(case: ProtocolSetting) -> dict[str, Any]:
    """Return the parameters of a sum: its steps, or 0."""
    return {"precision": case.size}


def domain(case: ProtocolSetting) -> dict[str, Any]:
    """Return the parameters of a histogram."""
    return {"categories": case.size, "labels": case.labels}


def tested_domain(case: ProtocolSetting) -> dict[str, Any]:
    """Return the parameters of a test of uniformity."""
    return {**domain(case), "error": case.error}
