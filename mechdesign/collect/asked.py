"""What a client asks: one of several categories, a number, or a text; plain values, known to every client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mechdesign.core.values import frozen_value

if TYPE_CHECKING:
    from mechdesign.collect.codec import Labels


@frozen_value()
class AskedChoice:
    """An answer that is one of several categories: names, or without names the numbers from 0.

    Examples
    --------
    >>> AskedChoice("smokes", 2, ("no", "yes")).as_json()
    {'name': 'smokes', 'size': 2, 'labels': ['no', 'yes']}
    """

    name: str | None
    size: int
    labels: tuple[str, ...] | None = None

    @classmethod
    def of(cls, labels: Labels, name: str | None = None) -> AskedChoice:
        """Return the choice of one of these categories."""
        return cls(name, labels.size, labels.names)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        labels = None if self.labels is None else list(self.labels)
        return {"name": self.name, "size": self.size, "labels": labels}

    def examples(self) -> list[Any]:
        """Return answers for test vectors: all, or those at both ends of many."""
        last = self.size
        places = range(last) if last <= 64 else [*range(32), *range(last - 32, last)]
        return [place if self.labels is None else self.labels[place] for place in places]


@frozen_value()
class AskedNumber:
    """An answer that is a number from low to high.

    Examples
    --------
    >>> AskedNumber("age", 18.0, 99.0).as_json()
    {'name': 'age', 'low': 18.0, 'high': 99.0}
    >>> AskedNumber("age", 18.0, 99.0, skip=True).as_json()["skip"]
    True
    """

    name: str | None
    low: float
    high: float
    skip: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values; whether None stands for no answer, where it does."""
        skip = {"skip": True} if self.skip else {}
        return {"name": self.name, "low": self.low, "high": self.high, **skip}

    def examples(self) -> list[Any]:
        """Return answers for test vectors: both ends, some between, and no answer where it may be skipped."""
        inside = [self.low + (self.high - self.low) * part / 7 for part in range(1, 7)]
        middle = [number for number in inside if self.low <= number <= self.high]
        return [self.low, self.high, *middle, *([None] if self.skip else [])]


@frozen_value()
class AskedText:
    """An answer that is a text, coded in bits by a word for each symbol; of UTF-8 (None) for each byte."""

    name: str | None
    bits: int
    words: Mapping[str, str] | None
    samples: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"name": self.name, "bits": self.bits, "words": self.words and dict(self.words)}

    def examples(self) -> list[Any]:
        """Return texts for test vectors."""
        return list(self.samples)


Asked = AskedChoice | AskedNumber | AskedText
