"""Parameters of a problem for readers and other programs: the JSON Schema, forms, meanings and defaults."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, get_type_hints

from mechdesign.core.fields import Generators, Parameter, fields_of, schema_of
from mechdesign.core.problem import Problem


def json_schema(problem_class: type[Problem]) -> dict[str, Any]:
    """Return the JSON Schema of a problem's parameters, derived from its fields.

    Examples
    --------
    >>> from mechdesign.families.response import RandomizedResponse
    >>> json_schema(RandomizedResponse)["required"]
    ['prior', 'epsilon']
    """
    hints = get_type_hints(problem_class)
    generators: Generators = getattr(problem_class, "generators", {})
    fields = fields_of(problem_class)
    described = described_parameters(problem_class)
    properties = {}
    for field in fields:
        schema = _limited(schema_of(hints[field.name]), field)
        if field.name in generators:
            schema = {"anyOf": [schema, *_generator_schemas(generators[field.name])]}
        if field.name in described:
            schema = {"description": described[field.name].text, **schema}
        properties[field.name] = schema
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": problem_class.name,
        "description": problem_class.summary,
        "type": "object",
        "properties": properties,
        "required": [field.name for field in fields if field.is_required],
        "additionalProperties": False,
    }


def _generator_schemas(known: Mapping[str, Callable[..., Any]]) -> list[dict[str, Any]]:
    """Return a schema for each generator: its name, its arguments, those that are needed."""
    schemas = []
    for name, function in sorted(known.items()):
        arguments = inspect.signature(function).parameters
        needed = [word for word, argument in arguments.items() if argument.default is argument.empty]
        schemas.append(
            {
                "type": "object",
                "properties": {"name": {"const": name}, **{word: {} for word in arguments}},
                "required": ["name", *needed],
                "additionalProperties": False,
            }
        )
    return schemas


def _limited(schema: dict[str, Any], field: Parameter) -> dict[str, Any]:
    """Return the schema with the field's limits at the numbers or texts that they are about."""
    if "anyOf" in schema:
        return {"anyOf": [_limited(part, field) for part in schema["anyOf"]]}
    is_limited = schema.get("type") in ("number", "integer", "string")
    return {**schema, **field.limits} if is_limited else schema


SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", flags=re.MULTILINE | re.DOTALL)

ENTRY = re.compile(r"^(\w[\w, ]*?)(?: ?: ?(.*))?$")


class Described(NamedTuple):
    """The two parts of a parameter's entry in a NumPy docstring, as plain text."""

    form: str
    meaning: str

    @property
    def text(self) -> str:
        """Both in one: ``float: > 0 and finite.``."""
        return ": ".join(part for part in self if part)


def described_parameters(problem_class: type[Problem]) -> dict[str, Described]:
    """Return form and meaning of each parameter, without the marks of reStructuredText.

    Of a problem that is a plain dataclass they are read from the section ``Parameters`` of its docstring;
    those of a base class count as well, unless the class describes them itself.

    Examples
    --------
    >>> from mechdesign.families.mean import MeanChannel
    >>> described_parameters(MeanChannel)["epsilon"]
    Described(form='float', meaning='> 0 and finite.')
    """
    descriptions: dict[str, Described] = {}
    for item in reversed(problem_class.__mro__):
        descriptions |= _section(inspect.cleandoc(item.__doc__ or ""))
    stated = fields_of(problem_class)
    descriptions |= {
        item.name: Described(without_markup(item.form), without_markup(item.meaning))
        for item in stated
        if item.meaning
    }
    return {item.name: descriptions[item.name] for item in stated if item.name in descriptions}


def _section(text: str) -> dict[str, Described]:
    section = SECTION.search(text + "\n")
    if section is None:
        return {}
    result: dict[str, Described] = {}
    names: list[str] = []
    lines: list[str] = []
    form = ""
    for line in [*section[1].splitlines(), "end"]:
        entry = ENTRY.match(line)
        if entry is None:
            lines.append(line.strip())
            continue
        meaning = without_markup(" ".join(lines))
        result |= {name: Described(without_markup(form), meaning) for name in names}
        names, form, lines = entry[1].split(", "), entry[2] or "", []
    return result


def without_markup(text: str) -> str:
    r"""Return a line of reStructuredText without its marks.

    Examples
    --------
    >>> without_markup(r"``\"truth\"`` is -\|i - j\|, see :class:`~mechdesign.Problem`")
    '"truth" is -|i - j|, see Problem'
    """
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"\1", text)
    return " ".join(re.sub(r"\\(.)", r"\1", text.replace("``", "")).split())


def default_of(parameter: Parameter) -> str:
    """Return the default of a parameter as a model file writes it; empty where it is required."""
    if parameter.is_required:
        return ""
    if parameter.default is None:
        return "none"
    if not isinstance(parameter.default, (str, int, float, list, tuple, dict)):
        return "see its meaning"
    return f'"{parameter.default}"' if isinstance(parameter.default, str) else str(parameter.default)
