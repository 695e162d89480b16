"""The errors of the toolkit: each text says where, what, and what to do, in one line."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from mechdesign.core.printable import printable

LONGEST = 2000
"""Characters of a message; of a longer one the middle is left out."""


class MechDesignError(Exception):
    """Base class of every error the toolkit raises on purpose.

    Each subclass also derives from the fitting builtin, so that ``except ValueError`` keeps
    working in programs that do not know this package. The text is one printable line, whatever names of
    files, labels and columns it holds.
    """

    def __str__(self) -> str:
        text = super().__str__()
        if len(text) > LONGEST:  # the name of a file begins it, what to do ends it
            text = f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
        return printable(text)


class ParameterError(MechDesignError, ValueError):
    """A parameter of a problem or a mechanism has an impossible value."""


class UnknownNameError(MechDesignError, LookupError):
    """A problem, method, model, parameter or label that does not exist."""


class ModelFileError(MechDesignError, ValueError):
    """A model file or a mechanism file cannot be read as what it says it is."""


class DataError(MechDesignError, ValueError):
    """Data given to a mechanism do not fit it: unknown category, empty file, impossible report."""


class RowError(DataError):
    """Data that do not fit at one row; whoever knows where the rows come from can move it there.

    Parameters
    ----------
    what : str
        What the rows are: answers, values, reports.
    row : int
        Counted from 0; the text counts from 1.
    text : str
        What is wrong and what to do, with its leading punctuation.

    Examples
    --------
    >>> print(RowError("answers", 4, ": 'x' is no category; give one"))
    answers: row 5: 'x' is no category; give one
    """

    def __init__(self, what: str, row: int, text: str) -> None:
        super().__init__(f"{what}: row {row + 1}{text}")
        self.what, self.row, self.text = what, row, text

    def __reduce__(self) -> tuple[type[RowError], tuple[str, int, str]]:
        """Travel from one process to another."""
        return type(self), (self.what, self.row, self.text)


class CertificateError(MechDesignError, ValueError):
    """A certificate that must hold does not: the mechanism is refused."""


class EstimationError(MechDesignError, ArithmeticError):
    """The reports do not determine what was asked for, for instance a singular channel."""


class MethodError(MechDesignError, RuntimeError):
    """A method cannot be used on this problem, or its solver failed."""


class MissingPackageError(MechDesignError, ImportError):
    """An optional package is needed for this step and is not installed."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the closest known names, or all of them when there are few.

    Examples
    --------
    >>> suggestion("epsilom", ["epsilon", "delta"])
    "did you mean 'epsilon'?"
    >>> suggestion("zzz", ["epsilon", "delta"])
    'known: delta, epsilon'
    """
    names = sorted(set(known))
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    shown = ", ".join(name if len(name) <= 40 else f"{name[:37]}..." for name in names[:12])
    return f"known: {shown}{', ...' if len(names) > 12 else ''}"
