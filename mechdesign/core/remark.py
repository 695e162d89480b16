"""A remark on a solution before anything is built or collected: the simplest outlook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from mechdesign.core.values import frozen_value


@frozen_value()
class Remark:
    """One sentence for those who build, and the figures in it.

    Parameters
    ----------
    text : str
    figures : mapping of str to object
        For JSON.

    Examples
    --------
    >>> remark = Remark("at most 20 users a slot", {"most_users": 20})
    >>> print(remark)
    at most 20 users a slot
    >>> remark.as_json()
    {'text': 'at most 20 users a slot', 'most_users': 20}
    """

    text: str
    figures: Mapping[str, Any] = attrs.field(factory=dict)

    def __str__(self) -> str:
        return self.text

    def as_json(self) -> dict[str, Any]:
        """Return the text and the figures."""
        return {"text": self.text, **self.figures}
