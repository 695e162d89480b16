"""Read model files: TOML, never a formula, never code; unknown keys are errors with a suggestion.

Where the shipped models are, and which there are.

Read a TOML file, with messages that name the key and the line.

What a list of the models shows, read from the heads of their files: no problem is built for it.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mechdesign.catalog.model import DATA_KEYS, DataSettings, Model, Simulation
from mechdesign.collect.about import About
from mechdesign.core.documents import date_in, parse_toml, written_float
from mechdesign.core.errors import (
    MechDesignError,
    ModelFileError,
    ParameterError,
    UnknownNameError,
    one_line,
    suggestion,
    unread,
)
from mechdesign.core.extensions import in_papers
from mechdesign.core.fields import fields_of, parameters_of, problem_from
from mechdesign.core.problem import Problem
from mechdesign.core.solve import methods_of
from mechdesign.core.text import encode
from mechdesign.core.values import changed
from mechdesign.families import problem_class
from mechdesign.work.files import read_text

if TYPE_CHECKING:
    from mechdesign.catalog.figure_table import FigureTable
    from mechdesign.papers.claims.claim import Claim

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


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file.

    Raises
    ------
    ModelFileError
        When the file cannot be read or is not valid TOML; a key that is there twice is named with its line.
    """
    text = ""
    try:
        text = read_text(path, LARGEST_FILE, ModelFileError)
        document = parse_toml(text, written_float)
        date = date_in(document)
        if date is not None:
            raise ModelFileError(f"{path}: {date[0]}", f"{date[1]} is a date or a time", "put it in quotes")
        return document
    except ModelFileError:
        raise
    except OSError as error:
        raise ModelFileError(path, unread(error), "check the path") from None
    except ValueError as error:
        raise ModelFileError(path, _explained(str(error), text)) from None


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
    document = read_toml(path)
    head, claims = document.get("model"), document.get("claim", [])
    return head if isinstance(head, dict) else {}, len(claims) if isinstance(claims, list) else 0


TABLES = ("model", "parameters", "data", "claim", "sweep", "simulation", "figure")
MODEL_KEYS = ("title", "question", "id", "problem", "source", "statement", "methods")
SIMULATION_KEYS = ("users", "repetitions", "seed")


def load_model(name: str | os.PathLike[str], overrides: Mapping[str, Any] | None = None) -> Model:
    """Load a model by its slug or from a path ending in ``.toml``.

    Parameters
    ----------
    name : str or path
        ``response/zhou2019_survey``, or a file of your own.
    overrides : mapping, optional
        Parameters that replace those of the file.

    Returns
    -------
    Model

    Raises
    ------
    UnknownNameError
        For an unknown slug, key, problem or parameter, with a suggestion.
    ModelFileError
        When the file cannot be read or is not valid TOML.
    ParameterError
        When a parameter is impossible; the text names file, table and key.

    Examples
    --------
    >>> model = load_model("response/zhou2019_survey")
    >>> model.problem.epsilon, len(model.claims) > 0
    (0.1, True)
    """
    text = os.fspath(name)
    if text.endswith(".toml"):
        path, slug = Path(text), text
    else:
        if not is_model(text):
            raise _unknown_model(text, models())
        path, slug = models_folder() / f"{text}.toml", text
    return _parse(slug, path, _one_line(read_toml(path)), dict(overrides or {}))


def _unknown_model(name: str, known: Sequence[str]) -> UnknownNameError:
    if name.endswith(".json"):
        return UnknownNameError(
            "model", f"'{name}' is a mechanism file", "name the model that it was built from"
        )
    hint = suggestion(name, known)
    if not hint.startswith("did you mean"):
        hint = "run 'mechdesign list' to see all"
    return UnknownNameError("model", f"no '{name}'", f"{hint} or give a path ending in .toml")


def load_swept(name: str | os.PathLike[str], overrides: Mapping[str, Any]) -> Model:
    """Load a model whose sweep also takes the overrides: those of a swept parameter replace its points.

    Parameters
    ----------
    name : str or path
    overrides : mapping
        Of a swept parameter, a list of its points, or one point; where points are lists, a list of lists.

    Examples
    --------
    >>> load_swept("mean/rcp2023_single", {"epsilon": [0.5, 1.0]}).sweep
    {'epsilon': (0.5, 1.0)}
    """
    model = load_model(name)
    points = {key: _points(value, model.sweep[key]) for key, value in overrides.items() if key in model.sweep}
    for key, values in points.items():
        if not values:
            raise ParameterError(f"{model.slug}: [sweep] {key}", "expected a non-empty list of values")
    rest = {key: value for key, value in overrides.items() if key not in points}
    loaded = load_model(name, rest)
    return changed(loaded, sweep={**loaded.sweep, **points}, changed=tuple(overrides))


def _points(value: Any, recorded: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the points of an override: the entries of a list of such values as are recorded, or itself."""
    is_listed = isinstance(recorded[0], (list, tuple))
    several = isinstance(value, list) and (not is_listed or all(isinstance(item, list) for item in value))
    return tuple(value) if several else (value,)


def _one_line(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document whose texts can be printed, on one line each; parameters and the like untouched."""
    tables = {name: document[name] for name in ("parameters", "data") if name in document}
    tidy = {one_line(name): one_line(table) for name, table in document.items() if name not in tables}
    head = document.get("model")
    if isinstance(head, Mapping) and "statement" in head:
        tidy["model"]["statement"] = head["statement"]
    return tidy | tables


def _parse(slug: str, path: Path, document: dict[str, Any], overrides: dict[str, Any]) -> Model:
    check_keys(path, "", document, TABLES)
    head = _table(path, document, "model")
    check_keys(path, "model", head, MODEL_KEYS)
    for key in ("title", "problem"):
        if not isinstance(head.get(key), str):
            raise ModelFileError(f"{path}: [model] {key}", "is missing or not a string", "give one")
    parameters = {**_table(path, document, "parameters"), **overrides}
    try:
        problem = problem_from(problem_class(head["problem"]), parameters)
    except MechDesignError as error:
        raise _located(path, error, head["problem"]) from None
    claims = _claims(path, document)
    sweep = _sweep(path, document, problem)
    return Model(
        slug=slug,
        title=head["title"],
        question=_question(path, head),
        identity=_identity(path, head),
        problem=problem,
        statement=str(head.get("statement", "")),
        source=_table(path, head, "source"),
        claims=claims,
        sweep=sweep,
        simulation=_simulation(path, document),
        methods=_methods(path, head, problem),
        data=_data(path, document),
        figures=_figures(path, document, problem, sweep),
        changed=_changed(problem, _table(path, document, "parameters"), overrides),
    )


def _question(path: Path, head: Mapping[str, Any]) -> str:
    question = head.get("question", "")
    if not isinstance(question, str):
        raise ModelFileError(f"{path}: [model] question", "is not a string", "put it in quotes")
    return question


def _identity(path: Path, head: Mapping[str, Any]) -> str:
    try:
        return About(id=head.get("id", "")).id
    except ParameterError as error:
        raise error.changed(where=f"{path}: [model] id").as_a(ModelFileError) from None


def _changed(problem: Problem, recorded: Mapping[str, Any], overrides: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the overridden parameters whose values differ from those of the file."""
    if not overrides:
        return ()
    try:
        base = parameters_of(problem_from(type(problem), recorded))
    except MechDesignError:  # the file alone states no possible problem
        return tuple(overrides)
    now = parameters_of(problem)
    return tuple(name for name in overrides if encode(now.get(name)) != encode(base.get(name)))


def _figures(
    path: Path, document: Mapping[str, Any], problem: Problem, sweep: Mapping[str, tuple[Any, ...]]
) -> tuple[FigureTable, ...]:
    if "figure" not in document:
        return ()
    from mechdesign.catalog.figure_table import read_figures

    known = [method.name for method in methods_of(type(problem))]
    try:
        return read_figures(document["figure"], sweep, known)
    except MechDesignError as error:
        raise error.within(str(path)) from None


def _data(path: Path, document: Mapping[str, Any]) -> DataSettings:
    table = _table(path, document, "data")
    check_keys(path, "data", table, DATA_KEYS)
    try:
        return DataSettings.of(table)
    except MechDesignError as error:
        raise error.inside(f"{path}: [data]") from None


def _methods(path: Path, head: Mapping[str, Any], problem: Problem) -> tuple[str, ...]:
    names = head.get("methods", [])
    if not isinstance(names, list):
        raise ModelFileError(f"{path}: [model] methods", f"expected a list of names, got {names!r}")
    known = [method.name for method in methods_of(type(problem))]
    for name in names:
        if name not in known:
            raise UnknownNameError(f"{path}: [model] methods", f"no '{name}'", suggestion(str(name), known))
    return tuple(names)


def _located(path: Path, error: MechDesignError, problem: str) -> MechDesignError:
    """Return the error with file and table in front of the key it names."""
    table = "[model]" if error.where == "problem" else "[parameters]"
    if error.where in ("", problem):
        return error.changed(where=str(path), what=f"{table} {error.what}")
    return error.changed(where=error.where.removeprefix(f"{problem}: ")).inside(f"{path}: {table}")


def _table(path: Path, document: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = document.get(name, {})
    if not isinstance(table, dict):
        raise ModelFileError(f"{path}: {name}", "is not a table", f"write [{name}]")
    return table


def _claims(path: Path, document: Mapping[str, Any]) -> tuple[Claim, ...]:
    """Return the model's records of its source, read by the papers, which judge it."""
    if "claim" not in document:
        return ()
    entries = document["claim"]
    if not isinstance(entries, list):
        raise ModelFileError(f"{path}: [[claim]]", "is a single table", "write it with double brackets")
    return tuple(claim for home in in_papers("claims.reading") for claim in home.read_claims(path, entries))


def _sweep(path: Path, document: Mapping[str, Any], problem: Any) -> dict[str, tuple[Any, ...]]:
    table = _table(path, document, "sweep")
    check_keys(path, "sweep", table, [field.name for field in fields_of(problem)])
    for key, values in table.items():
        if not isinstance(values, list) or not values:
            raise ModelFileError(f"{path}: [sweep] {key}", "expected a non-empty list of values")
        for number, value in enumerate(values):
            if value in values[:number]:
                raise ModelFileError(
                    f"{path}: [sweep] {key}", f"{value!r} appears twice", "values must differ"
                )
    return {key: tuple(values) for key, values in table.items()}


def _simulation(path: Path, document: Mapping[str, Any]) -> Simulation | None:
    if "simulation" not in document:
        return None
    table = _table(path, document, "simulation")
    check_keys(path, "simulation", table, SIMULATION_KEYS)
    for key, value in table.items():
        low = 0 if key == "seed" else 1
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise ModelFileError(f"{path}: [simulation] {key}", f"{value!r} is not a whole number >= {low}")
    if "users" not in table:
        raise ModelFileError(
            f"{path}: [simulation] users", "is missing", "give the number of users to simulate"
        )
    return Simulation(**table)
