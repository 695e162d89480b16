"""Where the shipped models are, and which there are.

Read a TOML file, with messages that name the key and the line.

What a list of the models shows, read from the heads of their files: no problem is built for it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from mechdesign.core.errors import ModelFileError, UnknownNameError, one_line, suggestion, unread
from mechdesign.work.files import date_in, parse_toml, read_text

SOURCES = "sources"
"""The folder next to those of families that lists the items of sources; its files are not models."""


@cache
def models_folder() -> Path:
    """Return the folder of the shipped models: inside the installed package, or next to it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "models", package.parent / "models"):
        if folder.is_dir():
            return folder
    if not package.is_dir():  # inside an archive
        what = "the shipped models cannot be read from a zip archive"
        raise ModelFileError("models", what, "install the package")
    raise ModelFileError("models", "the folder of the shipped models is missing", "reinstall the package")


def models(family: str | None = None) -> list[str]:
    """Return the slugs of all shipped models, or of one family.

    Examples
    --------
    >>> "response/zhou2019_survey" in models("response")
    True
    """
    folder = models_folder()
    families = [path for path in folder.iterdir() if path.is_dir() and path.name != SOURCES]
    folders = [path for path in families if family in (None, path.name)]
    paths = [model for path in folders for model in path.rglob("*.toml")]
    return sorted(model.relative_to(folder).with_suffix("").as_posix() for model in paths)


def model_files() -> list[Path]:
    """Return the files of the shipped models, of the items of sources, and of the bibliography.

    Examples
    --------
    >>> "references.toml" in [path.name for path in model_files()]
    True
    """
    return sorted(models_folder().rglob("*.toml"))


def is_model(slug: str) -> bool:
    """Whether a shipped model has this slug; the family's folder is read again only for an unknown slug.

    Examples
    --------
    >>> is_model("response/zhou2019_survey"), is_model("response/zhou2019")
    (True, False)
    """
    family = slug.partition("/")[0]
    return slug in _seen(family) or slug in models(family)


@lru_cache(maxsize=64)
def _seen(family: str) -> frozenset[str]:
    return frozenset(models(family))


LARGEST_FILE = 1 << 24
"""A model file with more bytes is refused; every model that can be solved is much smaller."""

TWICE = "Cannot overwrite a value"
KEY = r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*="""
AT_LINE = r"at line (\d+)"
TABLE_TWICE = r"Cannot declare \((.*?),?\) twice \(at (line \d+)"

MOST_TRIED = 50
"""Number of lines that are tried for the beginning of the statement that repeats a key."""


def read_toml(path: Path, exact: bool = True) -> dict[str, Any]:
    """Return the content of a TOML file; without ``exact``, decimals of many digits are doubles alone.

    Raises
    ------
    ModelFileError
        When the file cannot be read or is not valid TOML; a key that is there twice is named with its line.
    """
    number: Callable[[str], float] = float
    if exact:
        from mechdesign.core.validation import written_float as number  # a list of models needs no numbers
    text = ""
    try:
        text = read_text(path, LARGEST_FILE, ModelFileError).removeprefix(BYTE_ORDER_MARK)
        document = parse_toml(text, number)
        date = date_in(document)
        if date is not None:
            raise ModelFileError(f"{path}: {date[0]}", f"{date[1]} is a date or a time", "put it in quotes")
        return document
    except ModelFileError:
        raise
    except OSError as error:
        raise ModelFileError(path, unread(error), "check the path") from None
    except ValueError as error:
        raise ModelFileError(path, toml_problem(error, text)) from None


def is_survey(document: Mapping[str, Any]) -> bool:
    """Whether a document states a survey at its top level."""
    return "survey" in document or "questions" in document


BYTE_ORDER_MARK = "\ufeff"
"""What Windows writes before a text in UTF-8; it is no part of the text."""

CURLY = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2018\u2019\u201a\u201b"
"""Quotes of word processors."""

DECIMAL_COMMA = re.compile(r"=\s*([+-]?[0-9]+,[0-9]+)\s*(?:[,}#]|$)")


def toml_problem(error: ValueError, text: str) -> str:
    r"""Return what is wrong with a text that is not valid TOML, and what to do.

    Examples
    --------
    >>> import tomllib
    >>> for text in ('a = \u201cx\u201d', "epsilon = 1,0"):
    ...     try:
    ...         tomllib.loads(text)
    ...     except ValueError as error:
    ...         print(toml_problem(error, text))
    line 1: has curly quotes (\u201c), as word processors write them; use straight ones: "
    line 1: 1,0 has a decimal comma; write 1.0
    """
    if isinstance(error, UnicodeDecodeError):
        return _undecoded(error)
    place = re.search(AT_LINE, str(error))
    lines = text.split("\n")
    number = int(place[1]) if place else len(lines)
    line = lines[number - 1] if number <= len(lines) else ""
    quote = next((letter for letter in line.partition("#")[0] if letter in CURLY), "")
    if quote:
        what = f"has curly quotes ({quote}), as word processors write them"
        return f'line {number}: {what}; use straight ones: "'
    comma = DECIMAL_COMMA.search(line.rstrip())
    if comma:
        return f"line {number}: {comma[1]} has a decimal comma; write {comma[1].replace(',', '.')}"
    return _explained(str(error), text)


def _undecoded(error: UnicodeDecodeError) -> str:
    """Return what is wrong with a file that is not text in UTF-8."""
    if error.object[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "is text in UTF-16; save it as UTF-8"
    line = error.object[: error.start].count(b"\n") + 1
    byte = error.object[error.start]
    what = f"line {line}: is not text in UTF-8 (byte 0x{byte:02x})"
    return f"{what}; if it was saved as 'ANSI' (Windows-1252), save it as UTF-8"


def _explained(message: str, text: str) -> str:
    if message.startswith(TWICE):
        repeat = repeated_key(text)
        if repeat is not None:
            return f"line {repeat[1]}: the key '{repeat[0]}' is there twice in its table; drop one of them"
    table = re.match(TABLE_TWICE, message)
    if table:
        name = ".".join(part.strip(" '\"") for part in table[1].split(","))
        several = f"put its keys into one, or write [[{name}]] where there may be several"
        return f"{table[2]}: the table [{name}] is there twice; {several}"
    return f"is not valid TOML: {message}"


def repeated_key(text: str) -> tuple[str, int] | None:
    r"""Return the key that its table has twice, and the line where it comes again, counted from 1.

    The parser names the line in which the second value ends. Its statement begins at the last line before
    with a key up to which the text is valid TOML of its own: inside a value of several lines it is not.

    Examples
    --------
    >>> repeated_key('[model]\ntitle = "a"\nproblem = "b"\ntitle = "c"\n')
    ('title', 4)
    """
    message = _error(text) or ""
    if not message.startswith(TWICE):
        return None
    lines, place = text.replace("\r\n", "\n").split("\n"), re.search(AT_LINE, message)
    last = int(place[1]) if place else len(lines)
    starts = [number for number in range(last) if re.match(KEY, lines[number])]
    for start in starts[: -MOST_TRIED - 1 : -1]:
        match = re.match(KEY, lines[start])
        if match is not None and _error("\n".join(lines[:start])) is None:
            return match[1], start + 1
    return None


def _error(text: str) -> str | None:
    try:
        tomllib.loads(text)  # a part of a document that is neither too deep nor too large
    except (ValueError, RecursionError) as error:
        return str(error)
    return None


def check_keys(path: Path, table: str, entries: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse a key that a table does not have, with a suggestion."""
    for key in entries:
        if key not in known:
            place = f"[{table}] " if table else ""
            raise UnknownNameError(path, f"{place}unknown key '{key}'", suggestion(key, known))


HEAD = "[model]\n"
NEXT = re.compile(r"^\[[a-z]", re.MULTILINE)
CLAIM = re.compile(r"^\[\[claim\]\]", re.MULTILINE)
LARGEST = 1 << 24


class ModelLine(NamedTuple):
    """A line of the list: slug, name of the problem, number of claims, title."""

    slug: str
    problem: str
    claims: int
    title: str


def listed_models(family: str | None = None) -> list[ModelLine]:
    """Return a line for each shipped model, or for those of one family.

    Raises
    ------
    ModelFileError
        When a file is not valid TOML or has no title or problem.

    Examples
    --------
    >>> next(line.problem for line in listed_models("response"))
    'randomized-response'
    """
    folder = models_folder()
    return [_listed(slug, folder / f"{slug}.toml") for slug in models(family)]


def _listed(slug: str, path: Path) -> ModelLine:
    head, claims = _head(path)
    for key in ("title", "problem"):
        if not isinstance(head.get(key), str):
            raise ModelFileError(f"{path}: [model] {key}", "is missing or not a string", "give one")
    return ModelLine(slug, head["problem"], claims, one_line(head["title"]))


def _head(path: Path) -> tuple[dict[str, Any], int]:
    """Return the table [model] and the number of claims.

    Only the part before the next table is parsed, as claims and parameters can be long; the whole file where
    that part is not TOML by itself or a claim may stand inside a text.
    """
    text = read_text(path, LARGEST, ModelFileError)
    after = NEXT.search(text, len(HEAD)) if text.startswith(HEAD) else None
    plain = after is not None and "'''" not in text[after.start() :] and '"""' not in text[after.start() :]
    if after is not None and plain:
        try:
            return parse_toml(text[: after.start()])["model"], len(CLAIM.findall(text, after.start()))
        except ValueError:
            pass  # a line of the statement begins like a table
    document = read_toml(path, exact=False)
    head, claims = document.get("model"), document.get("claim", [])
    return head if isinstance(head, dict) else {}, len(claims) if isinstance(claims, list) else 0
