"""Estimates as text: with digits down to the second one of their standard error, and no fewer than usual."""

from __future__ import annotations

import math
from typing import Any

MOST = 17
"""Digits that a double has at most."""


def decimals_of(error: Any) -> int | None:
    """Return after which decimal a number with this standard error is noise; None where there is no error.

    Examples
    --------
    >>> decimals_of(0.354), decimals_of(0.0123), decimals_of(160.0), decimals_of(0.0), decimals_of(None)
    (2, 3, -1, None, None)
    """
    if not isinstance(error, (int, float)) or not math.isfinite(error) or error <= 0.0:
        return None
    return 1 - math.floor(math.log10(error))


def to_error(number: Any, error: Any, usual: str = ".6g") -> str:
    """Return a number as text, with digits down to the second one of its standard error.

    Parameters
    ----------
    number : float
    error : float or None
        The standard error.
    usual : str
        The format of numbers whose digits reach that far anyway: so many decimals (``.5f``), or so many
        significant digits (``.6g``).

    Examples
    --------
    >>> to_error(1700000050.1234, 0.354), to_error(0.25123, 0.0123), to_error(1700012345.0, 35000.0)
    ('1700000050.12', '0.25123', '1700012000')
    >>> to_error(0.25, 0.0000123, ".5f"), to_error(0.25, 0.0123, ".5f"), to_error(2.5, None)
    ('0.250000', '0.25000', '2.5')
    """
    decimals = decimals_of(error)
    if decimals is None or not math.isfinite(number):
        return f"{number:{usual}}"
    reach, kind = int(usual[1:-1]), usual[-1]
    if kind == "f":
        return f"{number:.{min(max(reach, decimals), MOST)}f}"
    leading = math.floor(math.log10(abs(number))) + 1 if number else 0
    digits = min(leading + decimals, MOST)
    if digits <= reach and (leading <= reach or digits <= 0):
        return f"{number:{usual}}"
    return f"{round(number, decimals):.0f}" if decimals < 0 else f"{number:.{max(digits, reach)}g}"
