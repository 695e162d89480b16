"""One name for the randomness of a method: ``rng``; what other packages call it is named in a line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from mechdesign.core.errors import ParameterError

Given = ParamSpec("Given")
Result = TypeVar("Result")

OTHER_NAMES = ("seed", "random_state", "random_seed", "generator")
"""Names of the same argument in other packages."""


def rng_alone(method: Callable[Given, Result]) -> Callable[Given, Result]:
    """Return a method that says ``rng=`` where its randomness is given under another name.

    Examples
    --------
    >>> @rng_alone
    ... def toss(rng: int = 0) -> int:
    ...     return rng
    >>> toss(rng=1)
    1
    >>> toss(seed=1)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: toss: unknown argument 'seed'; give rng=1, a number, or ...
    """

    @functools.wraps(method)
    def checked(*args: Given.args, **options: Given.kwargs) -> Result:
        for name in OTHER_NAMES if options else ():
            if name in options:
                raise ParameterError(method.__name__, f"unknown argument '{name}'", _remedy(method))
        return method(*args, **options)

    return checked


def _remedy(method: Callable[..., object]) -> str:
    """Return what to write instead."""
    if method.__name__ == "estimate":
        return "omit it: an estimate draws nothing; reports are drawn by randomize, with rng="
    return "give rng=1, a number, or a generator of numpy; without it the operating system draws"
