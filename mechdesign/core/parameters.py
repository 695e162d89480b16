"""Parameters as plain mappings: from a mapping to a problem and back.

The problem's fields are the only schema. A parameter may also be given by a named generator of the problem
class, for instance ``prior = {name = "zipf", size = 1000, exponent = 1.1}``.
"""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError, UnknownNameError, suggestion
from mechdesign.core.fields import Kept, Parameter, fields_of, values_of
from mechdesign.core.text import encode

if TYPE_CHECKING:
    from mechdesign.core.problem import Problem

ProblemT = TypeVar("ProblemT", bound="Problem[Any]")
Generators = Mapping[str, Mapping[str, Callable[..., Any]]]


def problem_from(problem_class: type[ProblemT], parameters: Mapping[str, Any]) -> ProblemT:
    """Build a problem from a mapping of parameters, as model files give them.

    Raises
    ------
    UnknownNameError
        For a key that is not a parameter, with its new name if it was renamed, else with a suggestion.
    ParameterError
        For a missing parameter or an impossible value, naming it.

    Examples
    --------
    >>> from mechdesign.families.response import RandomizedResponse
    >>> problem_from(RandomizedResponse, {"prior": [0.5, 0.5], "epsilom": 1})
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.UnknownNameError: ...: no parameter 'epsilom'; did you mean 'epsilon'?
    """
    fields = {field.name: field for field in fields_of(problem_class)}
    for key in parameters:
        if key not in fields:
            hint = _hint(problem_class, key, fields)
            raise UnknownNameError(problem_class.name, f"no parameter '{key}'", hint)
    missing = [name for name, field in fields.items() if field.is_required and name not in parameters]
    if missing:
        remedy = _written(problem_class, missing) or "give it a value"
        raise ParameterError(problem_class.name, f"parameter '{missing[0]}' is missing", remedy)
    values = {key: _generated(problem_class, key, value) for key, value in parameters.items()}
    return problem_class(**values)


def _written(problem_class: type[Problem], names: Sequence[str]) -> str:
    """Return a remedy that states these parameters as the problem's example has them."""
    known = problem_class.example
    lines = [f"{name} = {toml_text(known[name])}" for name in names if name in known]
    return f"write for instance {' and '.join(lines)}" if lines else ""


def toml_text(value: Any) -> str:
    """Return a plain value as a model file has it, in one line.

    Examples
    --------
    >>> toml_text([{"x": 1.0, "name": "a"}, True])
    '[{ x = 1.0, name = "a" }, true]'
    """
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{name} = {toml_text(item)}" for name, item in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_text, value))}]"
    return json.dumps(value)


def _hint(problem_class: type[Problem], key: str, fields: Mapping[str, Parameter]) -> str:
    """Return the name to write in place of a key that is not a parameter."""
    new = problem_class.renamed.get(key)
    return suggestion(key, fields) if new is None else f"it is called '{new}' now"


def parameters_of(problem: Problem) -> dict[str, Any]:
    """Return the parameters of a problem as plain JSON values; those at their default are left out."""
    result = {}
    for field in fields_of(problem):
        value = getattr(problem, field.name)
        if not field.is_required and _same(value, field.default):
            continue
        result[field.name] = encode(value)
    return result


def replace_parameters(problem: ProblemT, changes: Mapping[str, Any]) -> ProblemT:
    """Return the same problem with some parameters changed; the result is validated again."""
    return problem_from(type(problem), {**values_of(problem), **changes})


def call_named(where: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call what a table ``{name = ..., ...}`` names with the table's other entries.

    Raises
    ------
    ParameterError
        When an argument is unknown or missing; the text says which ones there are.

    Examples
    --------
    >>> call_named("prior: 'flat'", lambda size, scale=1.0: [scale] * size, {"n": 3})
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: prior: 'flat': no argument 'n'; it takes size, scale = 1.0
    """
    known = inspect.signature(function).parameters
    for word in arguments:
        if word not in known:
            raise ParameterError(where, f"no argument '{word}'", f"it takes {signature_text(function)}")
    for word, argument in known.items():
        if argument.default is argument.empty and word not in arguments:
            raise ParameterError(where, f"'{word}' is missing", f"it takes {signature_text(function)}")
    try:
        return function(**arguments)
    except TypeError as error:
        raise ParameterError(where, error) from None


def signature_text(function: Callable[..., Any]) -> str:
    """Return the arguments of a generator with their defaults, as a model file writes them."""
    texts = []
    for word, argument in inspect.signature(function).parameters.items():
        default = argument.default
        texts.append(word if default in (argument.empty, None) else f"{word} = {json.dumps(default)}")
    return ", ".join(texts)


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, np.ndarray) or isinstance(default, np.ndarray):
        return False
    return bool(value == default)


def _generated(problem_class: type[Problem], key: str, value: Any) -> Any:
    """Resolve a table ``{name = ..., ...}`` where the problem class has generators for this key."""
    generators: Generators = getattr(problem_class, "generators", {})
    if key not in generators or not isinstance(value, Mapping):
        return value
    if "name" not in value and _takes_table(problem_class, key):
        return value
    known = generators[key]
    name = str(value.get("name"))
    if name not in known:
        raise UnknownNameError(
            f"{problem_class.name}: {key}", f"no generator '{name}'", suggestion(name, known)
        )
    arguments = {word: argument for word, argument in value.items() if word != "name"}
    return call_named(f"{problem_class.name}: {key}: generator '{name}'", known[name], arguments)


@cache
def _takes_table(problem_class: type[Problem], key: str) -> bool:
    """Whether a parameter may itself be a table, which then is not a generator unless it has a name."""
    schema = schema_of(get_type_hints(problem_class)[key])
    return any(part.get("type") == "object" for part in [schema, *schema.get("anyOf", [])])


def schema_of(hint: Any) -> dict[str, Any]:
    """Return the JSON Schema of values of a type."""
    origin = get_origin(hint)
    if origin is Kept:
        return schema_of(get_args(hint)[0])
    if origin is Literal:
        return {"enum": list(get_args(hint))}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [schema_of(part) for part in get_args(hint)]}
    if origin is np.ndarray or origin is NDArray:  # the second from numpy 2.5 on
        return {"type": "array"}
    if hint is type(None):
        return {"type": "null"}
    simple = {float: "number", int: "integer", str: "string", bool: "boolean"}
    if hint in simple:
        return {"type": simple[hint]}
    if origin in (tuple, list) or hint in (tuple, list):
        return {"type": "array"}
    if hint is dict or origin is dict or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return {"type": "object"}
    return {}
