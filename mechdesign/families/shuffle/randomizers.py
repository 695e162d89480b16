"""What users run before the shuffler: any randomizer, k-ary response, or a finite channel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mechdesign.core.errors import ParameterError, suggestion
from mechdesign.core.fields import call_named
from mechdesign.core.validation import PRIOR_TOLERANCE, integer
from mechdesign.exact.numbers import doubles, frozen, text_of
from mechdesign.exact.randomness import float_up, log_ratio

LARGEST = 100.0
"""Larger local epsilons are not looked at: e^epsilon is far beyond any number of users."""

MOST_SIZE = 10**9
"""The most values of k-ary response."""

MOST_REPORTS = 64
"""The most inputs and reports of a channel that is written down."""


@dataclass(frozen=True)
class KnownRandomizer:
    """Facts about the local randomizer.

    Attributes
    ----------
    kind : {"any", "k-ary", "channel"}
    size : int
        k of k-ary response; the number of inputs of a channel; 0 for any.
    rows : tuple of tuples of Fraction
        Of a channel: Pr[report | input], a row an input, each sums to 1 exactly.
    """

    kind: str
    size: int = 0
    rows: tuple[tuple[Fraction, ...], ...] = ()

    @property
    def ratio(self) -> Fraction | None:
        """The largest ratio of two entries of a column of a channel; None where it is infinite."""
        worst = Fraction(1)
        for column in zip(*self.rows, strict=True):
            if max(column) > 0:
                if min(column) == 0:
                    return None
                worst = max(worst, max(column) / min(column))
        return worst

    @property
    def epsilon(self) -> float:
        """The least local epsilon of a channel, rounded up; infinite where a report excludes an input."""
        ratio = self.ratio
        return math.inf if ratio is None else float_up(log_ratio(ratio.numerator, ratio.denominator))

    def __str__(self) -> str:
        if self.kind == "any":
            return "any randomizer"
        return f"{self.size}-ary response" if self.kind == "k-ary" else f"a channel of {self.size} inputs"


def _kary(size: Any) -> KnownRandomizer:
    return KnownRandomizer("k-ary", integer("randomizer: size", size, 2, MOST_SIZE))


def _channel(channel: Any) -> KnownRandomizer:
    matrix = doubles("randomizer: channel", channel, 2, rounded=True)
    inputs, reports = matrix.shape
    if inputs < 2 or reports < 1 or max(inputs, reports) > MOST_REPORTS:
        raise ParameterError(
            "randomizer: channel",
            f"is {inputs} x {reports}",
            f"give 2 to {MOST_REPORTS} inputs and at most {MOST_REPORTS} reports",
        )
    rows = []
    lists: list[list[float]] = matrix.tolist()
    for place, row in enumerate(lists):
        if not all(0.0 <= entry < math.inf for entry in row):
            raise ParameterError(
                "randomizer: channel", f"row {place} is not a list of probabilities", "correct it"
            )
        total = sum(map(Fraction, row), Fraction(0))
        if abs(total - 1) > PRIOR_TOLERANCE:
            raise ParameterError(
                "randomizer: channel", f"row {place} sums to {float(total):.10g}, not 1", "divide by the sum"
            )
        rows.append(tuple(Fraction(entry) / total for entry in row))
    return KnownRandomizer("channel", inputs, tuple(rows))


NAMED = {"k-ary": _kary, "channel": _channel}
"""Randomizers that are given as a table ``{name = ..., ...}``."""


def randomizer_of(value: Any) -> KnownRandomizer:
    """Return the randomizer that a parameter describes.

    Parameters
    ----------
    value : "any" or mapping
        ``{name = "k-ary", size = k}`` or ``{name = "channel", channel = [[...], ...]}``.

    Raises
    ------
    ParameterError
        Naming what is wrong.

    Examples
    --------
    >>> print(randomizer_of({"name": "k-ary", "size": 3}), randomizer_of("any"), sep="; ")
    3-ary response; any randomizer
    """
    if value == "any" and isinstance(value, str):
        return KnownRandomizer("any")
    if not isinstance(value, Mapping):
        raise ParameterError(
            "randomizer",
            f"{text_of(value)} is none",
            'give "any", {name = "k-ary", size = k} or {name = "channel", channel = [[...], ...]}',
        )
    name = value.get("name")
    if name == "any" and len(value) == 1:
        return KnownRandomizer("any")
    if not isinstance(name, str) or name not in NAMED:
        raise ParameterError("randomizer", f"no {text_of(name)}", suggestion(str(name), [*NAMED, "any"]))
    arguments = {word: argument for word, argument in value.items() if word != "name"}
    randomizer: KnownRandomizer = call_named(f"randomizer: '{name}'", NAMED[name], arguments)
    return randomizer


def frozen_parameter(value: Any) -> Any:
    """Return the parameter as something that nobody can change: a text, or a mapping of plain values."""
    randomizer = randomizer_of(value)
    if randomizer.kind == "any":
        return "any"
    if randomizer.kind == "k-ary":
        return FrozenTable({"name": "k-ary", "size": randomizer.size})
    return FrozenTable({"name": "channel", "channel": frozen(doubles("channel", value["channel"], 2, True))})


class FrozenTable(Mapping[str, Any]):
    """A mapping that cannot be changed."""

    def __init__(self, entries: Mapping[str, Any]) -> None:
        self._entries = dict(entries)

    def __getitem__(self, key: str) -> Any:
        return self._entries[key]

    def __iter__(self) -> Any:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return repr(
            {key: getattr(value, "tolist", lambda value=value: value)() for key, value in self.items()}
        )

    def __hash__(self) -> int:
        return hash(repr(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and repr(self) == repr(FrozenTable(other))
