"""How good an answer will be, said before anything is collected.

A remark on a solution before anything is built or collected: the simplest outlook.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from mechdesign.core.values import frozen_value

USERS = 10_000
"""The number of users that forecasts are for where nobody says."""


@frozen_value()
class Forecast:
    """Whether reports determine what is asked for, and with which standard error.

    Attributes
    ----------
    quantity : str
        What is estimated: frequencies, a mean.
    users : int
    possible : bool
        Whether it can be estimated at all.
    largest : float or None
        The largest standard error over all data these users may have (and all categories).
    typical : float or None
        The standard error for typical data, which ``typical_data`` names.
    typical_data : str
    reason : str
        Why nothing can be estimated, and what would help.
    of : str
        What the standard error is of: a share, the mean, a cell.

    Examples
    --------
    >>> print(Forecast("mean", 400, True, largest=0.05, of="the mean"))
    mean: can be estimated; with 400 users the standard error of the mean is at most 0.05
    >>> print(Forecast("frequencies", 400, False, reason="epsilon is 0; give a larger one"))
    frequencies: CANNOT be estimated: epsilon is 0; give a larger one
    """

    quantity: str
    users: int
    possible: bool
    largest: float | None = None
    typical: float | None = None
    typical_data: str = ""
    reason: str = ""
    of: str = ""

    @classmethod
    def of_shares(
        cls, users: int, largest: float, typical: float, typical_data: str, of: str = "a share"
    ) -> Forecast:
        """Return the forecast of frequencies: an error above 1 says nothing about a share between 0 and 1."""
        figures = (largest, typical, typical_data)
        if largest <= 1.0:
            return cls("frequencies", users, True, *figures, of=of)
        reason = (
            f"with {users} users the standard error of {of} is up to {largest:.4g}, but a share lies "
            "between 0 and 1; collect from more users, or build with a larger epsilon"
        )
        return cls("frequencies", users, False, *figures, reason, of)

    def __str__(self) -> str:
        if not self.possible:
            return f"{self.quantity}: CANNOT be estimated: {self.reason}"
        whose = f" of {self.of}" if self.of else ""
        head = f"{self.quantity}: can be estimated; with {self.users} users the standard error{whose} is"
        usual = "" if self.typical is None else f" {self.typical:.4g} {self.typical_data} and"
        return f"{head}{usual} at most {self.largest:.4g}"

    def as_json(self) -> dict[str, Any]:
        """Return the forecast as plain values."""
        return dict(vars(self))


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
