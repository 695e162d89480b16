"""Mechanism files as entries of an account: what a user reveals who answers all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mechdesign.collect.base import Mechanism
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import MechDesignError, ParameterError
from mechdesign.core.guarantee import Exact, Guarantee, Proof
from mechdesign.core.values import changed
from mechdesign.exact.decimals import probability_text, written_number
from mechdesign.families.shuffle.shuffled_reports import Shuffled
from mechdesign.ledger.account import Collected, Total, total

PROPERTY = "privacy"


def collected_of(mechanism: Mechanism, name: str, times: int = 1) -> Collected:
    """Return the privacy loss of a user who answers a mechanism ``times`` times.

    Parameters
    ----------
    mechanism : Mechanism
    name : str
        The path of its file.
    times : int

    Raises
    ------
    ParameterError
        For a mechanism without an epsilon, with one per unit of distance, or one that is not private.

    Examples
    --------
    >>> from mechdesign.collect import KaryResponse
    >>> collected_of(KaryResponse.of(3, epsilon=0.5), "m.json", times=7)
    Collected(name='m.json', epsilon=0.5, delta=0.0, times=7, exact=True, users=0, size=0, ...)
    """
    found = [item for item in mechanism.certificates() if item.property == PROPERTY]
    if not found or "epsilon" not in found[0].figures:
        raise ParameterError(name, f"a {mechanism.type} states no epsilon", "name mechanisms that collect")
    (certificate, *_) = found
    if certificate.metric:
        raise ParameterError(
            name,
            "its epsilon is per unit of distance",
            "name mechanisms whose epsilon is for any two answers",
        )
    if not certificate.holds or certificate.proof is None:
        raise ParameterError(name, "is not private as stated", "rebuild it")
    users, size = 0, 0
    if isinstance(mechanism, Shuffled):
        users, size = mechanism.promise.honest_users, mechanism.randomizer.size
    one = _counted(certificate.proof, certificate)
    others = {"times": times, "exact": certificate.exact, "users": users, "size": size}
    return Collected.of(name, one, promise=_pair(certificate.proof), **others)


def _pair(proof: Proof) -> Guarantee | None:
    """Return the promised epsilon with the delta that it needs, where one report counts without a delta."""
    if proof.true_epsilon is None or proof.promise.notion != "ldp" or proof.promise.delta == 0:
        return None
    found = proof.as_written
    return found if found.delta > 0 else None


def _counted(proof: Proof, certificate: Certificate) -> Guarantee:
    """Return what one report counts for in an account.

    A finite true epsilon counts with delta 0. Where there is none, epsilon counts as it was written, with the
    least delta for it; of reports that are private entry by entry, with that over sets of reports.
    """
    promise, true = proof.promise, proof.true_epsilon
    written = written_number(promise.epsilon)
    if true is not None:
        least = true if proof.exact else min(true, written)
        return changed(promise, epsilon=least, delta=Fraction(0), notion="ldp")
    if promise.notion == "entry-wise":
        delta = Fraction(float(certificate.figures["least_delta"]))
        return changed(promise, delta=delta, notion="ldp").at(written)
    return proof.as_written


@dataclass(frozen=True)
class Account:
    """The totals of several mechanisms.

    Attributes
    ----------
    collected : tuple of Collected
    own : Total
        Of the reports themselves.
    after : Total or None
        Of what is known after the shufflers, where there are some.
    """

    collected: tuple[Collected, ...]
    own: Total
    after: Total | None

    @property
    def is_within(self) -> bool:
        """Whether a finite epsilon is proven, with a delta below 1."""
        composed = math.isfinite(self.own.composed)
        return composed or (math.isfinite(self.own.epsilon) and self.own.delta < 1.0)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        after = None if self.after is None else self.after.as_json()
        return {
            "collected": [one.as_json() for one in self.collected],
            "total": self.own.as_json(),
            "shuffled": after,
        }

    def __str__(self) -> str:
        lines = []
        for one in self.collected:
            times = "" if one.times == 1 else f" {one.times} times"
            delta = f", delta = {probability_text(one.delta)}" if one.delta else ""
            mixed = f"; reports of {one.users} honest users are shuffled" if one.users else ""
            lines.append(f"{one.name}{times}: epsilon = {one.epsilon:g}{delta}{mixed}")
        lines.append(f"all reports of a user together: {said(self.own)}")
        if self.after is not None:
            lines.append(f"after the shufflers: {said(self.after)}")
        return "\n".join(lines)


def said(found: Total) -> str:
    """Return a total in words.

    Examples
    --------
    >>> said(total([Collected("m.json", 0.1, times=365)], 1e-6))
    'epsilon = 36.5, delta = 0 (exact); epsilon = 10.31, delta = 1e-06 (distribution of the total loss)'
    """
    exact = " (exact)" if found.exact and found.delta == 0.0 else " (the sum)"
    text = f"epsilon = {found.epsilon:g}, delta = {probability_text(found.delta)}{exact}"
    if found.within > 0.0 and found.composed < found.epsilon > float(_up(found.composed)):
        text += f"; epsilon = {_up(found.composed)}, delta = {probability_text(found.within)} ({found.by})"
    return text


def _up(epsilon: float) -> str:
    """Return a number with four digits, rounded up: it is a bound."""
    if not math.isfinite(epsilon) or epsilon == 0.0:
        return f"{epsilon:g}"
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 3)
    rounded = f"{epsilon:.4g}"
    return rounded if float(rounded) >= epsilon else f"{epsilon + unit / 2.0:.4g}"


def account(collected: Sequence[Collected], within: Exact) -> Account:
    """Return the account of mechanisms that one user answers.

    Parameters
    ----------
    collected : sequence of Collected
    within : number or str
        The delta that the totals may have.
    """
    try:
        own = total(collected, within)
        mixed = any(one.users for one in collected)
        return Account(tuple(collected), own, total(collected, within, shuffled=True) if mixed else None)
    except MechDesignError as error:
        raise error.changed(where="--delta") from None
