"""Models: a problem with its source, the claims of the source, and a sweep; read from files of TOML.

There is never a formula in them and never code; unknown keys are errors with a suggestion. The table
``[data]`` has the columns of users' data, their ranges, and missing values. What sweeps draw and claims are
about is a quantity of a solution, by its name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from mechdesign.catalog.shipped import check_keys, is_model, is_survey, models, models_folder, read_toml
from mechdesign.core.errors import (
    MechDesignError,
    ModelFileError,
    ParameterError,
    UnknownNameError,
    counted,
    one_line,
    suggestion,
)
from mechdesign.core.extensions import in_papers
from mechdesign.core.fields import fields_of, parameters_of, problem_from
from mechdesign.core.problem import Problem
from mechdesign.core.solution import Solution
from mechdesign.core.values import changed, encode, frozen_value
from mechdesign.data.about import About
from mechdesign.data.data_settings import DATA_KEYS, DataSettings
from mechdesign.families import problem_class
from mechdesign.solvers.solve import methods_of

if TYPE_CHECKING:
    from mechdesign.catalog.figure_table import FigureTable
    from mechdesign.papers.claims.claim import Claim


@frozen_value()
class Simulation:
    """Settings of a sweep that runs the mechanism on simulated users."""

    users: int
    repetitions: int = 1
    seed: int = 0


@frozen_value(repr=False)
class Model:
    """A declarative design problem read from a file.

    Attributes
    ----------
    slug : str
        ``family/name``, or the path of the file.
    title, statement : str
    about : About
        What is said about the survey, as far as the file states it; without an identity ``build`` draws one.
    source : mapping
        ``cite`` and ``where``.
    problem : Problem
    claims : tuple of Claim
    sweep : mapping
        Parameter name to the list of its values; the sweep runs over all combinations.
    simulation : Simulation or None
    methods : tuple of str
        Methods that ``compare`` and ``check`` run; all when empty.
    data : DataSettings
        Columns, ranges and missing values of the data that the mechanism is for.
    figures : tuple of FigureTable
        What is drawn of it; a sweep without any is drawn as it is.
    changed : tuple of str
        Parameters that have other values than in the file; claims about them are not evaluated.
    """

    slug: str
    title: str
    problem: Problem
    statement: str = ""
    about: About = attrs.field(factory=About)
    source: Mapping[str, Any] = attrs.field(factory=dict)
    claims: tuple[Claim, ...] = ()
    sweep: Mapping[str, tuple[Any, ...]] = attrs.field(factory=dict)
    simulation: Simulation | None = None
    methods: tuple[str, ...] = ()
    data: DataSettings = attrs.field(factory=DataSettings)
    figures: tuple[FigureTable, ...] = ()
    changed: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Model({self.slug}: {self.problem!r}, {counted(len(self.claims), 'claim')})"

    @property
    def question(self) -> str:
        """What respondents are asked, word for word; empty where it is not one question."""
        return self.about.question

    @property
    def identity(self) -> str:
        """The identity of the survey, ``id`` in the file; empty where ``build`` draws one."""
        return self.about.id

    @property
    def family(self) -> str:
        """The folder the model lives in."""
        return self.slug.rpartition("/")[0].rpartition("/")[2]


SIMPLE = ("value", "bound", "gap", "status")
"""What every solution has, and nothing else is called."""

CERTIFICATE = "certificate."


def quantity_of(solution: Solution, name: str) -> Any:
    """Return a named quantity of a solution: value, bound, gap, status, variable, certificate or others.

    Raises
    ------
    UnknownNameError
        With the closest names.
    """
    if name in SIMPLE:
        return getattr(solution, name)
    if name in solution.variables:
        return solution.variables[name]
    known: Mapping[str, Any]
    if name.startswith(CERTIFICATE):  # computed only for those who ask for them, as the quantities below
        known = {f"{CERTIFICATE}{item.property}": item.holds for item in solution.certificates}
    else:
        known = solution.quantities if name in solution.quantities else solution.notes
    if name in known:
        return known[name]
    certificates = [f"{CERTIFICATE}{item.property}" for item in solution.certificates]
    names = {*SIMPLE, *solution.notes, *solution.quantities, *solution.variables, *certificates}
    raise UnknownNameError("quantity", f"no '{name}'", suggestion(name, names))


TABLES = ("model", "parameters", "data", "claim", "sweep", "simulation", "figure", "survey", "questions")
UNTOUCHED = ("parameters", "data", "survey", "questions")
"""The tables whose texts stay as they are: labels, and paragraphs."""
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
    tables = {name: document[name] for name in UNTOUCHED if name in document}
    tidy = {one_line(name): one_line(table) for name, table in document.items() if name not in tables}
    head = document.get("model")
    if isinstance(head, Mapping) and "statement" in head:
        tidy["model"]["statement"] = head["statement"]
    return tidy | tables


def _parse(slug: str, path: Path, document: dict[str, Any], overrides: dict[str, Any]) -> Model:
    check_keys(path, "", document, TABLES)
    if is_survey(document):
        return _survey(slug, path, document, overrides)
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
        about=_about(path, head),
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


def _survey(slug: str, path: Path, document: dict[str, Any], overrides: dict[str, Any]) -> Model:
    """Return the model of a file with a survey at its top level."""
    from mechdesign.catalog.survey_file import survey_statement

    statement = survey_statement(path, document)
    parameters = {**statement.parameters, **overrides}
    try:
        problem = problem_from(problem_class(statement.problem), parameters)
    except MechDesignError as error:
        table = "[[questions]]" if error.where.startswith(("question", "labels", "range")) else "[survey]"
        raise _located(path, error, statement.problem, table) from None
    return Model(
        slug=slug,
        title=statement.about.title,
        about=statement.about,
        problem=problem,
        sweep=_sweep(path, document, problem),
        data=statement.data,
        changed=_changed(problem, statement.parameters, overrides),
    )


def _about(path: Path, head: Mapping[str, Any]) -> About:
    """Return the question and the identity; the title of a model is that of its page unless build has one."""
    question = head.get("question", "")
    if not isinstance(question, str):
        raise ModelFileError(f"{path}: [model] question", "is not a string", "put it in quotes")
    try:
        return About(question=question, id=head.get("id", ""))
    except ParameterError as error:
        raise error.changed(where=f"{path}: [model] {error.where}").as_a(ModelFileError) from None


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
    known = [method.name for method in methods_of(type(problem))] if names else []
    for name in names:
        if name not in known:
            raise UnknownNameError(f"{path}: [model] methods", f"no '{name}'", suggestion(str(name), known))
    return tuple(names)


def _located(
    path: Path, error: MechDesignError, problem: str, table: str = "[parameters]"
) -> MechDesignError:
    """Return the error with file and table in front of the key it names."""
    table = "[model]" if error.where == "problem" else table
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
        for place, value in enumerate(values):
            if value in values[:place]:
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
