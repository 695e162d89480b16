"""The client for R: base R has no reader of JSON, so that the tables are literals of the language."""

from __future__ import annotations

from typing import Any

from mechdesign.collect.base import Mechanism
from mechdesign.export.clients import ExportSettings, filled, header, sheet, template

LINE = 100
"""Characters after which a list of values goes on in a new line."""


def literal(value: Any) -> str:
    r"""Return a plain value as an expression of R; numbers are doubles, exact in hexadecimal digits.

    Examples
    --------
    >>> literal({"a": [1, 2], "b": None, "c": ["é", 0.5]})
    'list("a"=c(1,2),"b"=NULL,"c"=list("\\u{e9}",0x1.0000000000000p-1))'
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return f"list({_joined([f'{_text(str(key))}={literal(each)}' for key, each in value.items()])})"
    kinds = {str if isinstance(each, str) else float for each in value if _is_scalar(each)}
    single = bool(value) and len(kinds) == 1 and all(map(_is_scalar, value))
    return f"{'c' if single else 'list'}({_joined([literal(each) for each in value])})"


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (int, float, str)) and not isinstance(value, bool)


def _text(text: str) -> str:
    """Return a string in ASCII."""
    if text.isascii() and text.isprintable() and not set(text) & set('"\\'):
        return f'"{text}"'
    parts = []
    for letter in text:
        plain = letter.isascii() and letter.isprintable() and letter not in '"\\'
        wide = f"\\u{{{ord(letter):x}}}" if ord(letter) < 1 << 16 else f"\\U{{{ord(letter):x}}}"
        parts.append(letter if plain else f"\\{letter}" if letter in '"\\' else wide)
    return f'"{"".join(parts)}"'


def _joined(parts: list[str]) -> str:
    """Return parts with commas, in lines."""
    lines, line = [], ""
    for part in parts:
        if line and len(line) + len(part) > LINE:
            lines.append(line)
            line = ""
        line += f"{part},"
    return "\n".join([*lines, line]).removesuffix(",")


def r_client(mechanism: Mechanism, settings: ExportSettings) -> str:
    """Return the client for R, a script."""
    made = sheet(mechanism)
    parts = {
        "FINGERPRINT": made["fingerprint"],
        "HEADER": header("r", settings),
        "SHEET": literal(made),
    }
    return filled(template("client.R"), parts)
