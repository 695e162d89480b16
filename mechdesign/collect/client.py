"""The recipe of a client: how a report is drawn, step by step, in whole numbers.

A *recipe* states the answers that a client takes, the columns that a report fills, and the steps between the
two, in whole numbers only: clients in other languages are made from it. The steps are those that the
mechanism's own ``draw`` takes for a single user: fed with the same random bytes, a client and the mechanism
make the same report. Their meaning is stated in ``docs/reference/mechanism_file.md``.

A mechanism of another kind joins in with two methods: ``recipe()`` returns a :class:`Recipe`, and
``draw_recipe(answer, source)`` draws one report from a source of random bits. Where its steps are made of
steps that clients know already, as those of a survey of several questions are, nothing else is needed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import numpy as np

from mechdesign.collect.codec import AskedChoice, AskedNumber
from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.core.tables import Coded, Values

Steps = dict[str, Any]
"""A step and what it needs, as plain values; ``step`` names it."""

Answer = Any
"""A category or a number, or a list of them in the order of the inputs."""

DIGITS = 16
"""Hexadecimal digits of a whole number up to 2**62."""


@dataclass(frozen=True)
class Recipe:
    """Steps of a client that makes reports of a mechanism.

    Attributes
    ----------
    inputs : tuple of AskedChoice or AskedNumber
        What is asked.
    columns : tuple of str
        The columns of a table of reports; one carries the digest of mechanism and survey.
    steps : dict
        How a report is drawn.
    single : bool
        Whether the answer is one value, and not a list with a value for every input.
    several : bool
        Whether a report is a list of rows; else it is a row, or the value itself of a single column.
    """

    inputs: tuple[AskedChoice | AskedNumber, ...]
    columns: tuple[str, ...]
    steps: Steps
    single: bool = True
    several: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "inputs": [entry.as_json() for entry in self.inputs],
            "columns": list(self.columns),
            "single": self.single,
            "several": self.several,
            "steps": self.steps,
        }


def whole_hex(number: int) -> str:
    """Return a whole number up to 2**62 as 16 hexadecimal digits, which every language reads exactly.

    Examples
    --------
    >>> whole_hex(1 << 62)
    '4000000000000000'
    """
    return f"{int(number):016x}"


def row_hex(numbers: Sequence[int]) -> str:
    """Return integers as one string, 16 hexadecimal digits each.

    Examples
    --------
    >>> row_hex([1, 2])
    '00000000000000010000000000000002'
    """
    return "".join(map(whole_hex, numbers))


def plain_report(written: Values) -> int | str:
    """Return the one report of a column as a plain value: a whole number or a text."""
    column = written.values[written.codes] if isinstance(written, Coded) else written
    (report,) = np.asarray(column).tolist()
    result: int | str = report
    return result


def no_recipe(kind: str) -> MethodError:
    """Return the error for a mechanism whose reports are not drawn in integers: which one would do."""
    fault = f"'{kind}' has no client in integers"
    return MethodError("export", fault, EXACT.get(kind) or "build a mechanism whose audit is exact")


REAL, PLACES = "its reports are real numbers", "build 'finite-channel' on the places that are asked for"

EXACT = {
    "laplace": f"{REAL}: build 'duchi' or 'discrete-piecewise', which are exact",
    "piecewise": f"{REAL}: build 'discrete-piecewise', its exact form",
    "hybrid": f"{REAL}: build 'discrete-piecewise', which is exact",
    "square-wave": f"{REAL}: build 'grid-mean' or 'discrete-piecewise', which are exact",
    "planar-laplace": f"{REAL}: {PLACES}",
    "planar-lattice": f"its answers are places of the plane: {PLACES}",
    "contract-menu": "it collects no reports: build 'duchi' with the epsilon of the item that was chosen",
    "marginal-rival": "it is for comparisons only: build 'marginal-release'",
    "batch-shuffler": "it runs on a server: build 'kary-response' or another client, and shuffle its reports",
    "online-auction": "it pays for tasks, and no device randomizes: there is nothing to build",
    "direct-mechanism": "it decides for all agents at once: there is nothing to build",
    "screening-menu": "it sells quantities, and no device randomizes: there is nothing to build",
    **dict.fromkeys(
        ("spectrum-cloak", "spectrum-database", "spectrum-user"),
        f"it protects places of radio users: {PLACES}",
    ),
}
"""Which exact mechanism does what one without a client does."""


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
