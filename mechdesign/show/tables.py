"""Tables of text and HTML, numbers to their standard error, and ranges, for people.

HTML for notebooks has no styles of its own, and every text in it is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from mechdesign.core.errors import decimals_of, html_text, printable

MOST = 17
"""Digits that a double has at most."""


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
    head = "".join(f"<th>{html_text(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    after = "".join(f"<p>{html_text(note)}</p>" for note in notes)
    return (
        f"<table><caption>{html_text(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{after}"
    )


class NumberText(str):
    """A number as text, which stands to the right in its cell."""


def _cell(value: Any) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, bool) or not isinstance(value, (int, float, NumberText)):
        return f"<td>{html_text(value)}</td>"
    text = html_text(value) if isinstance(value, NumberText) else f"{value:.6g}"
    return f'<td style="text-align: right">{text}</td>'
