"""Text for people: exact numbers, numbers to their standard error, tables, notebooks; and values for JSON.

An exact number is a quotient where that is short, else decimals, rounded in the direction that is named. No
double and no text of all digits is made on the way: a number may have a million digits. HTML for notebooks
has no styles of its own, and every text in it is escaped.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from itertools import zip_longest
from typing import Any

from mechdesign.core.errors import printable

SHORT = 40
"""Characters of a quotient that is printed as it is."""

LONGEST = 4000
"""Digits of an integer that is ever written; Python itself refuses more than 4300."""

LOG_OF_TWO = math.log10(2.0)

DECIMALS = 20
"""Of the bounds that are printed."""


def decimal_context(digits: int, rounding: str | None = None) -> Context:
    """Return decimal arithmetic with so many significant digits and with exponents of every size."""
    return Context(prec=digits, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN)


def is_writable(number: int) -> bool:
    """Whether an integer has few enough digits to be written."""
    return number.bit_length() * 0.30103 < LONGEST


def quotient(value: Fraction, digits: int, rounding: str) -> Decimal:
    """Return a fraction as a decimal of this many significant digits, rounded as stated.

    Examples
    --------
    >>> from decimal import ROUND_FLOOR
    >>> quotient(Fraction(2, 3), 4, ROUND_FLOOR)
    Decimal('0.6666')
    """
    top, bottom = abs(value.numerator), value.denominator
    if not top:
        return Decimal(0)
    # Two digits more than are asked for, and a last one that says whether anything follows: integers of a
    # million digits are divided quickly where the quotient is short, and would take long as decimals.
    shift = digits + 2 - math.floor((top.bit_length() - bottom.bit_length() - 1) * LOG_OF_TWO)
    whole, rest = divmod(top * 10 ** max(0, shift), bottom * 10 ** max(0, -shift))
    decimal = Decimal(whole * 10 + (rest > 0)).scaleb(-shift - 1, decimal_context(2 * digits + 50, rounding))
    return decimal_context(digits, rounding).plus(decimal if value > 0 else decimal.copy_negate())


def quotient_text(value: Fraction, longest: int = LONGEST) -> str | None:
    """Return an exact number as an integer or a quotient of two; None where that is longer than ``longest``.

    Examples
    --------
    >>> quotient_text(Fraction(1, 3)), quotient_text(Fraction(10) ** 400, 40)
    ('1/3', None)
    """
    if not (is_writable(value.numerator) and is_writable(value.denominator)):
        return None
    whole = value.denominator == 1
    text = str(value.numerator) if whole else f"{value.numerator}/{value.denominator}"
    return text if len(text) <= longest else None


def rounded_text(value: Fraction, digits: int = 10) -> str:
    """Return a number to some significant digits, also one that no double holds.

    Examples
    --------
    >>> rounded_text(Fraction(1, 3)), rounded_text(Fraction(10) ** 400 / 3, 4), rounded_text(Fraction(0))
    ('0.3333333333', '3.333e+399', '0')
    """
    near = quotient(value, digits + 10, ROUND_HALF_EVEN)
    if not near or -300 < near.adjusted() < 300:
        return f"{float(near):.{digits}g}"
    power = near.adjusted()
    lead = decimal_context(digits, ROUND_HALF_EVEN).plus(
        near.scaleb(-power, decimal_context(digits + 10, ROUND_HALF_EVEN))
    )
    return f"{lead.normalize():f}e{power:+d}"


def short_text(value: Fraction) -> str:
    """Return an exact number as it is where that is short, else to ten digits.

    Examples
    --------
    >>> short_text(Fraction(20, 9)), short_text(Fraction(3) ** 1000)
    ('20/9', '1.322070819e+477')
    """
    return quotient_text(value, SHORT) or rounded_text(value)


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


NARROWEST = 8
"""No column of text is made narrower than this."""


def terminal_width() -> int:
    """Return how wide tables may be: the terminal's width, but 80 to 120; 100 where there is no terminal."""
    import shutil  # takes longer than most commands have text to align

    return min(120, max(80, shutil.get_terminal_size((100, 24)).columns))


def table(header: Sequence[str], rows: Sequence[Sequence[str] | str], width: int | None = None) -> str:
    """Align rows of text under a header; columns of numbers to the right.

    Parameters
    ----------
    header : sequence of str
    rows : sequence of sequence of str, or str
        A text instead of a row stands alone in its line, whatever its length, as a heading.
    width : int, optional
        The longest line allowed. The widest columns of text are then narrowed and their cells wrapped;
        numbers and the first column are never broken. By default lines are as long as they come.

    Examples
    --------
    >>> print(table(["name", "value"], [["a", "1.5"], ["bb", "10"]]))
    name  value
    ----  -----
    a       1.5
    bb       10
    >>> print(table(["name", "remark"], [["a", "a long remark"], ["b", "none"]], width=14))
    name  remark
    ----  --------
    a     a long
          remark
    b     none
    """
    header = [printable(cell) for cell in header]
    rows = [row if isinstance(row, str) else [printable(cell) for cell in row] for row in rows]
    cells = [list(row) for row in rows if not isinstance(row, str)]
    columns = list(zip(header, *cells, strict=True))
    widths = [max(len(cell) for cell in column) for column in columns]
    numeric = [len(column) > 1 and all(_is_number(cell) for cell in column[1:]) for column in columns]
    if width is not None:
        loose = [number for number in range(1, len(columns)) if not numeric[number]]
        for least in ([_longest_word(column) for column in columns], [NARROWEST] * len(columns)):
            widths = _narrowed(widths, least, loose, width)
    lines: list[str] = []
    for row in [list(header), ["-" * width for width in widths], *rows]:
        lines += [row] if isinstance(row, str) else _lines(row, widths, numeric)
    return "\n".join(lines)


def _longest_word(cells: Iterable[str]) -> int:
    return max(len(word) for cell in cells for word in [NARROWEST * "-", *cell.split()])


def _narrowed(widths: Sequence[int], least: Sequence[int], loose: Sequence[int], most: int) -> list[int]:
    """Return the widths with the widest loose columns narrowed, none below its least, until a line fits."""
    result = list(widths)
    while sum(result) + 2 * (len(result) - 1) > most:
        wide = [number for number in loose if result[number] > least[number]]
        if not wide:
            break
        result[max(wide, key=lambda number: result[number])] -= 1
    return result


def _lines(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> list[str]:
    """Return a row as one or more lines whose cells fit their widths."""
    from textwrap import wrap

    cells = [
        wrap(cell, width, break_on_hyphens=False) if len(cell) > width else [cell]
        for cell, width in zip(row, widths, strict=True)
    ]
    return [_aligned(part, widths, numeric) for part in zip_longest(*cells, fillvalue="")]


def _aligned(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    ]
    return "  ".join(padded).rstrip()


def _is_number(cell: str) -> bool:
    if cell in ("-", ""):
        return True
    try:
        float(cell.removeprefix("±").removesuffix(" points"))
    except ValueError:
        return False
    return True


SHOWN = 6
"""Most entries of a list that are shown; of a longer one the first few and how many there are."""


def abridged(value: Any) -> str:
    """Return a value in at most one short line, long lists and matrices abridged; for ``repr``.

    Examples
    --------
    >>> import numpy as np
    >>> abridged([0.5, 0.25, 0.25]), abridged("line"), abridged(np.zeros((20, 3)))
    ('[0.5, 0.25, 0.25]', "'line'", '<20 x 3 array>')
    >>> abridged(range(1000))
    '[0, 1, 2, ... 1000 in all]'
    """
    import numpy as np  # tables of texts, such as those of commands, are made without it

    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {abridged(item)}" for key, item in value.items()) + "}"
    if isinstance(value, np.ndarray) and value.ndim != 1:
        return f"<{' x '.join(map(str, value.shape))} array>"
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str):
        return "[" + listed([abridged(item) for item in value[: SHOWN + 1]], len(value)) + "]"
    if isinstance(value, np.generic):
        return abridged(value.item())
    return f"<function {getattr(value, '__name__', '')}>" if callable(value) else repr(value)


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


def edge_texts(edges: Iterable[float]) -> tuple[str, ...]:
    """Return numbers in few digits, or in all of them where two would look alike.

    Examples
    --------
    >>> edge_texts([0.0, 0.5, 2e6]), edge_texts([1700000000.0, 1700000030.0])
    (('0', '0.5', '2e+06'), ('1700000000', '1700000030'))
    """
    numbers = [float(edge) for edge in edges]
    short = tuple(f"{number:g}" for number in numbers)
    return short if len(set(short)) == len(set(numbers)) else tuple(map(_in_full, numbers))


def range_text(low: float, high: float) -> str:
    """Return a range as ``[low, high]``, in few digits where these are all of the digits.

    Examples
    --------
    >>> range_text(0.0, 100.0), range_text(1700000000.0, 1700000100.0)
    ('[0, 100]', '[1700000000, 1700000100]')
    """
    ends = [float(low), float(high)]
    short = [f"{end:g}" for end in ends]
    exact = all(float(text) == end for text, end in zip(short, ends, strict=True))
    return f"[{', '.join(short if exact else map(_in_full, ends))}]"


def outside_text(value: float, low: float, high: float) -> str:
    """Return that a value is outside a range, in digits that show it.

    Examples
    --------
    >>> outside_text(101.0, 0.0, 100.0), outside_text(100.00000000001, 0.0, 100.0)
    ('101 is outside [0, 100]', '100.00000000001 is outside [0, 100]')
    """
    text = f"{value:.10g}"
    if low <= float(text) <= high:
        text = _in_full(float(value))
    return f"{text} is outside {range_text(low, high)}"


def _in_full(number: float) -> str:
    """Return the shortest digits that are this double."""
    return repr(float(number)).removesuffix(".0")


def html_table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[Any]], notes: Iterable[str] = ()
) -> str:
    """Return a table; numbers stand to the right, None is an empty cell.

    Examples
    --------
    >>> html_table("2 < 3", ["name", "share"], [["a", 0.25]])
    '<table><caption>2 &lt; 3</caption><thead><tr><th>name</th><th>share</th></tr></thead><tbody>...'
    """
    head = "".join(f"<th>{_text(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    after = "".join(f"<p>{_text(note)}</p>" for note in notes)
    return (
        f"<table><caption>{_text(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{after}"
    )


def html_list(caption: str, lines: Iterable[str]) -> str:
    """Return a caption and a list of sentences.

    Examples
    --------
    >>> html_list("KaryResponse", ["An answer goes in."])
    '<p><strong>KaryResponse</strong></p><ul><li>An answer goes in.</li></ul>'
    """
    items = "".join(f"<li>{_text(line)}</li>" for line in lines)
    return f"<p><strong>{_text(caption)}</strong></p><ul>{items}</ul>"


class Explained:
    """Objects that a notebook shows as their ``repr`` and the sentences that explain them."""

    def explained(self) -> tuple[str, ...]:
        """Return an explanation of the object, in sentences."""
        return ()

    def _repr_html_(self) -> str:
        return html_list(repr(self), self.explained())


class TextInNotebooks:
    """Objects that a notebook shows line by line, as ``print`` does."""

    def _repr_html_(self) -> str:
        return html_list(type(self).__name__, str(self).splitlines())


class NumberText(str):
    """A number as text, which stands to the right in its cell."""


def _text(value: object) -> str:
    from html import escape  # its table of characters is for notebooks alone

    return escape(printable(str(value)))


def _cell(value: Any) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, bool) or not isinstance(value, (int, float, NumberText)):
        return f"<td>{_text(value)}</td>"
    text = _text(value) if isinstance(value, NumberText) else f"{value:.6g}"
    return f'<td style="text-align: right">{text}</td>'


LARGEST = Fraction(sys.float_info.max)


def json_object(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping as a JSON object; see :func:`encode`.

    Examples
    --------
    >>> import numpy as np
    >>> json_object({"value": np.array([0.5, np.nan])})
    {'value': [0.5, None]}
    """
    plain: dict[str, Any] = encode(values)
    return plain


def encode(value: Any) -> Any:
    """Turn arrays, numpy scalars, fractions and infinities into what ``json.dumps`` accepts.

    Infinity becomes the string ``"inf"`` (``"-inf"``), NaN becomes None; objects with a method
    ``as_json`` decide for themselves. A fraction that no double holds, or an integer of thousands of digits,
    becomes a string of ten of its digits.

    Examples
    --------
    >>> import numpy as np
    >>> encode({"a": float("inf"), "b": np.array([1.0, 2.0]), "c": (1, None)})
    {'a': 'inf', 'b': [1.0, 2.0], 'c': [1, None]}
    >>> encode([Fraction(1, 4), Fraction(10) ** 400, 3**10000])
    [0.25, '1e+400', '1.631350185e+4771']
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if hasattr(value, "as_json"):
        return encode(value.as_json())
    import numpy as np

    if isinstance(value, np.ndarray):
        return encode(value.tolist())
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, int):
        return value if is_writable(value) else rounded_text(Fraction(value))
    if isinstance(value, Fraction):
        is_double = abs(value) <= LARGEST
        return float(value) if is_double else rounded_text(value)
    if isinstance(value, float):
        number = float(value)
        if math.isnan(number):
            return None
        if math.isinf(number):
            return "inf" if number > 0 else "-inf"
        return number
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [encode(item) for item in value]
    raise TypeError(f"a value of type {type(value).__name__} has no JSON form")
