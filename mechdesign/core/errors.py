"""The errors of the toolkit: where, what, and what to do, in one printable line; numbers in text."""

from __future__ import annotations

import math
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar


def printable(text: object) -> str:
    r"""Return a text with everything that is not a printable character escaped: one line, no terminal codes.

    What comes from a file passes through this before a terminal shows it. Joiners of scripts and emoji stay.

    Examples
    --------
    >>> print(printable("a\n\x1b[2Jb"))
    a\n\x1b[2Jb
    """
    letters = str(text)
    if letters.isprintable():
        return letters
    pairs = zip(letters, f" {letters}", strict=False)
    return "".join(now if _is_shown(now, before) else ascii(now)[1:-1] for now, before in pairs)


def _is_shown(letter: str, before: str) -> bool:
    """Whether a letter is printable, or a joiner behind a printable letter or sign that is not ASCII."""
    return letter.isprintable() or (letter in "\u200c\u200d" and before > "\x7f" and before.isprintable())


def html_text(value: object) -> str:
    """Return a text for a page, on one line, escaped."""
    from html import escape  # its table of characters is for notebooks alone

    return escape(printable(str(value)))


def one_line(value: Any) -> Any:
    r"""Return a nested value with every text, also keys, on one printable line; white space becomes a space.

    Examples
    --------
    >>> one_line({"title": "a long\n  title", "size": 3})
    {'title': 'a long title', 'size': 3}
    """
    if isinstance(value, str):
        return printable(" ".join(value.split()))
    if isinstance(value, Mapping):
        return {one_line(key): one_line(item) for key, item in value.items()}
    return [one_line(item) for item in value] if isinstance(value, list) else value


SHOWN = 6
"""Most entries of a list that are shown; of a longer one the first few and how many there are."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1.

    Examples
    --------
    >>> counted(1, "row"), counted(0, "row"), counted(1200, "user"), counted(2, "entry")
    ('1 row', '0 rows', '1200 users', '2 entries')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith(("ry", "ty")) else f"{number} {noun}s"


def listed(texts: Sequence[str], count: int | None = None) -> str:
    """Join texts by commas, all of them up to six, else the first three and how many there are.

    Examples
    --------
    >>> listed(["a", "b"]), listed(list("abcdefgh"))
    ('a, b', 'a, b, c, ... 8 in all')
    """
    total = len(texts) if count is None else count
    return ", ".join(texts if total <= SHOWN else [*texts[:3], f"... {total} in all"])


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


NORMAL = 1.959963984540054
"""Standard errors in the margin of error: half the width of a normal 95% interval."""


def margin_text(margin: Any, is_share: bool) -> str:
    """Return a margin of error with two digits: of a share in percentage points.

    Examples
    --------
    >>> margin_text(0.0752, True), margin_text(0.1342, True), margin_text(321.0, False)
    ('±7.5 points', '±13 points', '±320')
    """
    factor, unit = (100.0, " points") if is_share else (1.0, "")
    decimals = decimals_of(None if margin is None else factor * float(margin))
    if decimals is None:
        return "-" if margin is None or not math.isfinite(margin) else f"±0{unit}"
    return f"±{round(factor * margin, decimals):.{max(0, decimals)}f}{unit}"


def percent_with_margin(share: float, margin: float) -> str:
    """Return a share in percent with its margin of error, as whole numbers where that is exact enough.

    Examples
    --------
    >>> percent_with_margin(0.2714, 0.0612), percent_with_margin(0.5, 0.0004)
    ('27% ±6', '50.00% ±0.04')
    """
    decimals = decimals_of(100.0 * margin)
    digits = 0 if decimals is None else max(0, decimals - 1)
    return f"{round(100.0 * share, digits) + 0.0:.{digits}f}% ±{100.0 * margin:.{digits}f}"


class Wording(str):
    """A text that names options: as arguments in Python; its ``shell`` has them as commands write them.

    Adding texts before and after keeps both; a format string keeps that of Python.

    Examples
    --------
    >>> text = "name one with " + option("column") + ", x before y"
    >>> print(text)
    name one with column=, x before y
    >>> print(text.shell)
    name one with --column, x before y
    """

    shell: str

    def __new__(cls, python: str, shell: str) -> Self:
        """Return the text in both forms."""
        text = super().__new__(cls, python)
        text.shell = shell
        return text

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return str(self), self.shell

    def __add__(self, other: str) -> Wording:
        return Wording(str(self) + str(other), self.shell + shell_text(other))

    def __radd__(self, other: str) -> Wording:
        return Wording(str(other) + str(self), shell_text(other) + self.shell)


def shell_text(text: str) -> str:
    """Return a text as the command line writes it."""
    return text.shell if isinstance(text, Wording) else text


def option(name: str, value: object = None) -> Wording:
    """Return an option in a text, with its value where it has one; ``True`` is that of a flag.

    Examples
    --------
    >>> option("most_cells"), option("clip", True), option("missing", "drop")
    ('most_cells=', 'clip=True', "missing='drop'")
    >>> [option("most_cells").shell, option("clip", True).shell, option("missing", "drop").shell]
    ['--most-cells', '--clip', '--missing drop']
    """
    shell = named_option(name).shell
    if value is None or value is True:
        return Wording(f"{name}={value or ''}", shell)
    return Wording(f"{name}={value!r}", f"{shell} {value}")


def named_option(name: str) -> Wording:
    """Return the bare name of an option, such as where an error is.

    Examples
    --------
    >>> print(ParameterError(named_option("most_cells"), "0 is not at least 1").for_shell())
    --most-cells: 0 is not at least 1
    """
    return Wording(name, f"--{name.replace('_', '-')}")


LONGEST = 2000
"""Characters of a message; of a longer one the middle is left out."""

ErrorT = TypeVar("ErrorT", bound="MechDesignError")


class MechDesignError(Exception):
    """Base class of every error the toolkit raises on purpose.

    Each subclass also derives from the fitting builtin, so that ``except ValueError`` keeps
    working in programs that do not know this package. The text is one printable line, whatever names of
    files, labels and columns it holds.

    Parameters
    ----------
    where : str or path
        The parameter, file, row or option it is about. With a single argument that is what is wrong.
    what : str, optional
        What is wrong, or what says it, such as a certificate.
    remedy : str
        What to do.
    switch : str
        The argument with which one may insist; it ends the remedy, as Python or the shell writes it.

    Examples
    --------
    >>> error = ParameterError("epsilon", "-1 is negative", "give a number >= 0")
    >>> print(error)
    epsilon: -1 is negative; give a number >= 0
    >>> print(error.within("survey.toml"))
    survey.toml: epsilon: -1 is negative; give a number >= 0
    >>> far = DataError("values", "11 is above 10", "correct it, or move it to the nearest end", "clip")
    >>> print(far)
    values: 11 is above 10; correct it, or move it to the nearest end with clip=True
    >>> print(far.for_shell())
    values: 11 is above 10; correct it, or move it to the nearest end with --clip
    """

    def __init__(self, where: object, what: object = None, remedy: object = "", switch: str = "") -> None:
        self.where = "" if what is None else _text(where)
        self.what = _text(where if what is None else what)
        self.remedy, self.switch, self.in_shell = _text(remedy), switch, False
        super().__init__(self.where, self.what, self.remedy, switch)

    def __str__(self) -> str:
        remedy = self.remedy + " with " + option(self.switch, True) if self.switch else self.remedy
        parts = (shell_text(part) if self.in_shell else part for part in (self.located, remedy))
        text = "; ".join(part for part in parts if part)
        if len(text) > LONGEST:  # the name of a file begins it, what to do ends it
            text = f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
        return printable(text)

    @property
    def place(self) -> str:
        """Where it is, as far as it is known."""
        return self.where

    @property
    def located(self) -> str:
        """Where and what, without the remedy."""
        return self.place + ": " + self.what if self.place else self.what

    def changed(self, **parts: Any) -> Self:
        """Return the same error with other parts: ``where``, ``what``, ``remedy``."""
        other = type(self).__new__(type(self), *self.args)  # copy() may be taught to share attributes
        vars(other).update(vars(self), **parts)
        return other

    def is_about(self, *places: str) -> bool:
        """Whether it is about one of these places or a part of it."""
        return (self.where or self.what).startswith(places)

    def within(self, place: str) -> Self:
        """Return the same error, seen from further out: in this file, table or column."""
        return self.changed(where=f"{place}: " + self.where if self.where else place)

    def inside(self, table: str) -> Self:
        """Return the same error about an entry of a table: ``[sweep] epsilon``."""
        return self.changed(where=f"{table} " + self.where if self.where else table)

    def as_a(self, kind: type[ErrorT]) -> ErrorT:
        """Return an error of another class with the same parts."""
        return kind(self.place, self.what, self.remedy, self.switch)

    def for_shell(self) -> Self:
        """Return the same error with its options as the command line writes them."""
        return self.changed(in_shell=True)


def _text(value: object) -> str:
    return value if isinstance(value, str) else str(value)


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
    where : str
        What the rows are: answers, values, reports.
    row : int
        Counted from 0; the text counts from 1.
    what, remedy, switch : str
    column : str

    Examples
    --------
    >>> error = RowError("answers", 4, "'x' is not a category", "give one")
    >>> print(error)
    answers: row 5: 'x' is not a category; give one
    >>> print(error.moved("people.csv", 11))
    people.csv: answers: row 12: 'x' is not a category; give one
    """

    def __init__(
        self, where: str, row: int, what: str, remedy: str = "", switch: str = "", column: str = ""
    ) -> None:
        super().__init__(where, what, remedy, switch)
        self.row, self.column = int(row), column
        self.args = (where, self.row, what, remedy, switch, column)

    @property
    def place(self) -> str:
        column = f", column '{self.column}'" if self.column else ""
        return self.where + f": row {self.row + 1}{column}"

    def moved(self, place: str, row: int) -> Self:
        """Return the same error at a row of this file, counted from 0."""
        return self.changed(row=row).within(place)


class CertificateError(MechDesignError, ValueError):
    """A certificate that must hold does not: the mechanism is refused."""


class EstimationError(MechDesignError, ArithmeticError):
    """The reports do not determine what was asked for, for instance a singular channel."""


class MethodError(MechDesignError, RuntimeError):
    """A method cannot be used on this problem, or its solver failed."""


class SealedError(MechDesignError, AttributeError):
    """A finished mechanism was to be changed."""


class MissingPackageError(MechDesignError, ImportError):
    """A package is needed for this step and is not installed."""


COMPLETE = frozenset({"clarabel", "cvxpy", "highspy", "joblib", "narwhals", "pulp", "rich", "scipy"})
"""What a complete installation has besides numpy and attrs, which a server or a device needs."""


def missing_from_light(error: ImportError) -> MissingPackageError | None:
    """Return what to do where a light installation lacks a package; None for any other failed import.

    Examples
    --------
    >>> print(missing_from_light(ModuleNotFoundError("No module named 'scipy'", name="scipy.optimize")))
    scipy: is needed for this step, and this installation is a light one; pip install mechdesign adds the rest
    """
    name = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or name not in COMPLETE:
        return None
    what = "is needed for this step, and this installation is a light one"
    return MissingPackageError(name, what, "pip install mechdesign adds the rest")


def unread(error: OSError) -> str:
    """Return why a file could not be read, without an operating system's jargon where it is missing.

    Examples
    --------
    >>> unread(FileNotFoundError())
    'file not found'
    """
    return "file not found" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"


MOST_LISTED = 16
"""Known names that a hint lists."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the closest known names, or all of them when there are few.

    Names that differ in case, blanks, Unicode form or the order of their parts come first.

    Examples
    --------
    >>> suggestion("epsilom", ["epsilon", "delta"])
    "did you mean 'epsilon'?"
    >>> suggestion("views", ["frequency-oracle", "marginal-views"])
    "did you mean 'marginal-views'?"
    >>> suggestion("no", ["Prefer not to say", "No"]), suggestion("network+disk", ["disk+network", "network"])
    ("did you mean 'No'?", "did you mean 'disk+network'?")
    >>> suggestion("yes ", ["no", "yes"])
    "did you mean 'yes', without blanks around it?"
    >>> suggestion("zzz", ["epsilon", "delta"])
    'known: delta, epsilon'
    """
    names = sorted(set(known))
    if (alike := _alike(name, names)) is not None:
        return alike
    text = ", ".join(name if len(name) <= 40 else f"{name[:37]}..." for name in names[:MOST_LISTED])
    close = _close(name, names)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"known: {text}{', ...' if len(names) > MOST_LISTED else ''}"


def _alike(name: str, names: list[str]) -> str | None:
    """Return a hint to a name of the same letters: with other blanks, case, form or order."""
    import re  # only an error needs them
    from unicodedata import normalize

    def forms(text: str) -> list[object]:
        same = normalize("NFKC", text)
        bare = same.strip()
        parts = sorted(re.split(r"[^\w]+|_+", bare.casefold()))
        return [same, bare, bare.casefold(), parts]

    own = forms(name)
    for place, end in enumerate(
        ("; its letters are in another Unicode form", ", without blanks around it", "", "")
    ):
        for one in names:
            if one != name and forms(one)[place] == own[place] and any(map(str.isalnum, name)):
                if place == 0:
                    return f"did you mean '{one}'{end}, rename one of them"
                blanks = place == 2 and name != name.strip() and one == one.strip()
                return f"did you mean '{one}'{', without blanks around it' if blanks else end}?"
    return None


def _close(name: str, names: list[str]) -> list[str]:
    """Return the names that one may have meant: those of which it is a part, or the closest one."""
    from difflib import get_close_matches  # only an error needs it

    parts = [one for one in names if name and one.startswith(f"{name}-")]
    if 1 < len(parts) <= 3:
        return parts
    matches = get_close_matches(name, names, n=1, cutoff=0.6)
    lower = {one.casefold(): one for one in names}
    matches = matches or [lower[one] for one in get_close_matches(name.casefold(), lower, n=1, cutoff=0.6)]
    return matches or [one for one in names if len(name) > 2 and name in one][:1]


PACKAGE = Path(__file__).resolve().parent.parent
"""The folder of the package, above which places in its code are not named."""

CALLER = str(PACKAGE / "solvers" / "solve.py")
"""The file that only calls methods: errors do not come from there."""

LONGEST_FAILURE = 400
"""Letters of an error's own text; some solvers print whole matrices."""


def is_failure(error: BaseException) -> bool:
    """Whether an error is a failure of the code that was run, and not the wish to end the program.

    Solvers written in Rust raise ``PanicException``, which does not derive from ``Exception``.

    Examples
    --------
    >>> is_failure(TypeError("x")), is_failure(KeyboardInterrupt())
    (True, False)
    """
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def failure_text(error: BaseException) -> str:
    """Return an error as one line: its class, its text, and where in the package it came from.

    Examples
    --------
    >>> failure_text(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero'
    """
    if isinstance(error, ImportError) and (missing := missing_from_light(error)):
        return str(missing)
    text = printable(" ".join(str(error).split()))
    line = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if len(line) > LONGEST_FAILURE:
        line = f"{line[:LONGEST_FAILURE]}..."
    place = _place(error)
    return f"{line} (in {place})" if place else line


def _place(error: BaseException) -> str:
    """Return the innermost line of the package that led to the error, or the first of a user's method."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != CALLER]
    for frame in reversed(frames):
        path = Path(frame.filename)
        if path.is_relative_to(PACKAGE):
            return f"{path.relative_to(PACKAGE.parent).as_posix()}, line {frame.lineno}"
    return f"{Path(frames[0].filename).name}, line {frames[0].lineno}" if frames else ""
