"""Contents that are damaged: whatever reading them raises is an error of this package."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

from mechdesign.core.errors import CertificateError, MechDesignError

Given = ParamSpec("Given")
Made = TypeVar("Made")

DAMAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError, RecursionError)
"""What wrong types, missing keys and matrices that cannot be inverted raise."""


def damage_refused(read: Callable[Given, Made]) -> Callable[Given, Made]:
    """Return a reader of a content whose errors are all of this package.

    Examples
    --------
    >>> read = damage_refused(lambda content: 1 / content["parts"])
    >>> read({"parts": 0})
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.CertificateError: content: is damaged (division by zero); rebuild it
    """

    @wraps(read)
    def checked(*given: Given.args, **named: Given.kwargs) -> Made:
        try:
            with np.errstate(all="ignore"):  # what overflows fails the checks of the content
                return read(*given, **named)
        except MechDesignError:
            raise
        except DAMAGE as error:
            reason = repr(error) if isinstance(error, LookupError) else str(error)
            raise CertificateError("content", f"is damaged ({reason})", "rebuild it") from None

    return checked
