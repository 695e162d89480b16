"""Kernels: the integer weights that reports are drawn with, and how a report is drawn from them.

A kernel is the second of the three parts of a collecting mechanism (:mod:`mechdesign.collect.collector`).

A client draws by a recipe: step by step, in whole numbers. A *recipe* states the answers that a client
takes, the columns that a report fills, and the steps between the two, in whole numbers only: clients in
other languages are made from it. The steps are those that the mechanism's own ``draw`` takes for a single
user: fed with the same random bytes, a client and the mechanism make the same report. Their meaning is
stated in ``docs/project/mechanism_file.md``.

A mechanism of another kind joins in with two methods: ``recipe()`` returns a :class:`Recipe`, and
``draw_recipe(answer, source)`` draws one report from a source of random bits. Where its steps are made of
steps that clients know already, as those of a survey of several questions are, nothing else is needed.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import Sealed
from mechdesign.core.errors import ParameterError
from mechdesign.core.values import frozen_value
from mechdesign.data.intake import Coded, Values
from mechdesign.exact.numbers import frozen
from mechdesign.exact.randomness import BITS

if TYPE_CHECKING:
    from mechdesign.collect.codec import Labels

Codes = NDArray[np.int64]


MAX_TABLE = 1 << 20
"""Entries of the search table; more would leave the cache."""


class Kernel(Sealed):
    """Integer weights out of 2**62 of the reports of every code, and how a report is drawn from them.

    Reports have numbers from 0. What is drawn is what is audited: of the 2**62 integers that :meth:`draw` may
    get for a code, as many lead to a report as :meth:`row` says.

    Class attributes
    ----------------
    block : int
        So many users are drawn for at a time: their tables stay in the processor's cache.
    """

    block: ClassVar[int] = 1 << 62

    @property
    @abstractmethod
    def reports(self) -> int:
        """Number of reports, those that are never made included."""

    @abstractmethod
    def row(self, code: int) -> Codes:
        """Return the weights of all reports for a code; they sum to 2**62."""

    @abstractmethod
    def draw(self, codes: Codes, uniform: Codes) -> Codes:
        """Return the number of a report for each code, from one uniform integer below 2**62 each."""

    @abstractmethod
    def client_steps(self) -> dict[str, Any]:
        """Return how a report is drawn for a code, as plain values for clients in other languages."""

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        """Which reports are possible; by default all."""
        return frozen(np.ones(self.reports, dtype=np.bool_))


class Rows(Kernel):
    """A row of weights for every code, searched by a table of leading bits.

    Parameters
    ----------
    weights : (n, m) int64 array
        Row x holds the weights of the m reports of code x; every row sums to 2**62.

    Examples
    --------
    >>> from mechdesign.exact.randomness import TOTAL
    >>> half = 1 << 61
    >>> Rows(np.array([[half, half], [TOTAL, 0]])).draw(np.array([0, 0, 1]), np.array([0, half, half]))
    array([0, 1, 0])
    """

    block = 1 << 16

    def __init__(self, weights: Codes) -> None:
        self.weights = weights

    @property
    def reports(self) -> int:
        return int(self.weights.shape[1])

    def row(self, code: int) -> Codes:
        row: Codes = self.weights[code]
        return row

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        return frozen(self.weights.max(axis=0) > 0)

    @cached_property
    def cumulative(self) -> Codes:
        """Cumulative rows; the last entry of each is 2**62."""
        return np.cumsum(self.weights, axis=1, dtype=np.int64)

    @cached_property
    def _start(self) -> tuple[NDArray[np.int32], int]:
        """Where the search may begin, by the leading bits of the drawn integer, and how many bits."""
        rows, reports = self.weights.shape
        bits = min(12, max(1, (4 * reports - 1).bit_length()))
        while rows << bits > MAX_TABLE and bits > 1:
            bits -= 1
        edges = np.arange(1 << bits, dtype=np.int64) << (BITS - bits)
        table = np.empty((rows, 1 << bits), dtype=np.int32)
        for row in range(rows):
            table[row] = np.searchsorted(self.cumulative[row], edges, side="right")
        return table.ravel(), bits

    def draw(self, codes: Codes, uniform: Codes) -> Codes:
        """Return the first report whose cumulative weight exceeds the integer."""
        table, bits = self._start
        cumulative, width = self.cumulative.ravel(), self.weights.shape[1]
        base = codes * width
        place = base + table[(codes << bits) + (uniform >> (BITS - bits))]
        ahead = np.flatnonzero(uniform >= cumulative[place])
        steps = 0
        while len(ahead) and steps < 8:
            place[ahead] += 1
            ahead = ahead[uniform[ahead] >= cumulative[place[ahead]]]
            steps += 1
        for index in ahead.tolist():  # long runs of tiny weights inside one cell of the table: rare
            row = self.cumulative[codes[index]]
            place[index] = base[index] + np.searchsorted(row, uniform[index], side="right")
        result: Codes = place - base
        return result

    def client_steps(self) -> dict[str, Any]:

        return {"step": "row", "rows": [row_hex(row) for row in self.cumulative.tolist()]}


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
"""What a client asks: one of several categories, a number, or a text; plain values, known to every client."""

Steps = dict[str, Any]
"""A step and what it needs, as plain values; ``step`` names it."""

Answer = Any
"""A category or a number, or a list of them in the order of the inputs."""

DIGITS = 16
"""Hexadecimal digits of a whole number up to 2**62."""


@frozen_value()
class Recipe:
    """Steps of a client that makes reports of a mechanism.

    Attributes
    ----------
    inputs : tuple of Asked
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

    inputs: tuple[Asked, ...]
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
