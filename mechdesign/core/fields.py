"""The parameters of a problem, each stated once: its type, check, default, limits, form and meaning.

A problem says of every parameter all there is to say in one place, its field::

    @frozen_problem()
    class Waiting(Problem[Queue]):
        servers: int = whole("How many serve.", low=1)
        rate: float = real("Arrivals a minute.", low=0.0, low_open=True, default=1.0)

From it follow the signature, the check at construction, the JSON Schema, ``show``, the section *Parameters*
of the docstring (so ``help`` and the reference show it) and what type checkers know.

The fields are attrs', because a value is checked and replaced by what is kept *before* the frozen object is
complete: a dataclass can only do so afterwards, by writing to what must not be written to. The words stand at
the field rather than in the docstring: there an editor's jump to the parameter finds them next to type and
check, and nothing has to be named twice. Type checkers see :func:`frozen_problem` as a
``dataclass_transform``: they know which parameters are required, that all are given by name, and their types.

A problem is made of a plain mapping of its parameters, and gives it back. A parameter may also be given by a
named generator of the problem class, for instance ``prior = {name = "zipf", size = 1000, exponent = 1.1}``.
"""

from __future__ import annotations

import inspect
import json
import math
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    NamedTuple,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import attrs
import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import ParameterError, UnknownNameError, suggestion
from mechdesign.core.validation import (
    WrittenNumber,
    finite_array,
    in_range,
    integer,
    one_of,
    privacy_delta,
    privacy_epsilon,
    stated,
)
from mechdesign.core.values import encode
from mechdesign.exact.numbers import text_of

if TYPE_CHECKING:
    from dataclasses import Field

    from mechdesign.core.problem import Problem

Class = TypeVar("Class", bound=type)
Is = TypeVar("Is", covariant=True)
Takes = TypeVar("Takes", contravariant=True)

REQUIRED: Any = attrs.NOTHING
"""The default of a parameter that has none."""

POSITIVE: Mapping[str, Any] = {"exclusiveMinimum": 0}
"""The limits of a number above 0 whose check says more."""

SECTIONS = re.compile(r"^(?:Raises|See Also|Notes|References|Examples)\n-{3,}$", flags=re.MULTILINE)
"""The sections of a NumPy docstring that follow *Parameters*."""

LONGEST_LINE = 100
"""Characters of a line of the section *Parameters*."""


class Kept(Generic[Is, Takes]):
    """The type of a parameter that is kept as another type than it is given: ``Kept[Array, Vector]``.

    Only for type checkers, who read it as a descriptor; what stands in the object is a plain ``Is``.
    """

    @overload
    def __get__(self, instance: None, owner: Any) -> Any: ...

    @overload
    def __get__(self, instance: object, owner: Any) -> Is: ...

    def __get__(self, instance: object, owner: Any) -> Any:
        """Tell the type that is kept."""

    def __set__(self, instance: object, value: Takes) -> None:
        """Tell the types that are taken."""


class Parameter(NamedTuple):
    """A parameter as its field states it; ``default`` is ``REQUIRED`` where it must be given."""

    name: str
    default: Any
    form: str = ""
    meaning: str = ""
    limits: Mapping[str, Any] = {}

    @property
    def is_required(self) -> bool:
        """Whether there is no default."""
        return self.default is REQUIRED


def is_promise(name: str) -> bool:
    """Whether a parameter is an epsilon or a delta, which may be stated as a text, a fraction or a decimal.

    Examples
    --------
    >>> [is_promise(name) for name in ("epsilon", "central_epsilon", "epsilon_max", "delta", "error")]
    [True, True, True, True, False]
    """
    return bool({"epsilon", "delta"} & set(name.split("_")))


# Kinds of parameters


def related(
    meaning: str,
    check: Callable[[Any, str, Any], Any],
    *,
    form: str,
    default: Any = REQUIRED,
    limits: Mapping[str, Any] | None = None,
    fills: bool = False,
) -> Any:
    """Return a field whose check may look at the fields above it.

    Parameters
    ----------
    meaning : str
        What it is, as in a NumPy docstring, in reStructuredText.
    check : callable
        From the problem, of which the fields above are set, the field's name and the given value to what is
        kept; raises :class:`ParameterError`.
    form : str
        What is given, as in a NumPy docstring; ", optional" is added where the default is None.
    default : optional
    limits : mapping, optional
        Keywords of JSON Schema for the number or the text.
    fills : bool
        Whether the check is asked about a default of None as well, which it replaces.
    """

    def converted(value: Any, problem: Any, field: attrs.Attribute[Any]) -> Any:
        is_absent = value is None and field.default is None and not fills
        if is_promise(field.name) and isinstance(value, (str, Fraction, Decimal, WrittenNumber)):
            value = stated(value, field.name)
        return None if is_absent else check(problem, field.name, value)

    if default is None and form:
        form += ", optional"
    return attrs.field(
        default=default,
        converter=attrs.Converter(converted, takes_self=True, takes_field=True),
        metadata={"form": form, "meaning": meaning, "limits": limits or {}},
    )


def checked(
    meaning: str,
    check: Callable[[str, Any], Any],
    *,
    form: str,
    default: Any = REQUIRED,
    limits: Mapping[str, Any] | None = None,
) -> Any:
    """Return a field with a check of its own, from its name and the given value to what is kept."""

    def alone(problem: object, name: str, value: Any) -> Any:
        return check(name, value)

    return related(meaning, alone, form=form, default=default, limits=limits)


def amount(
    meaning: str, check: Callable[[str, Any], Any], *, form: str = "number > 0", default: Any = REQUIRED
) -> Any:
    """Return a field of numbers above 0 whose check says more, such as how large they may be."""
    return checked(meaning, check, form=form, default=default, limits=POSITIVE)


def whole(
    meaning: str, *, low: int, high: int | None = None, default: Any = REQUIRED, form: str = "int"
) -> Any:
    """Return a field of integers, both limits included."""
    limits = {"minimum": low} | ({} if high is None else {"maximum": high})

    def check(name: str, value: Any) -> int:
        return integer(name, value, low, high)

    return checked(meaning, check, form=form, default=default, limits=limits)


def real(
    meaning: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
    default: Any = REQUIRED,
    form: str = "float",
) -> Any:
    """Return a field of real numbers in an interval."""
    limits = {
        "exclusiveMinimum" if low_open else "minimum": low,
        "exclusiveMaximum" if high_open else "maximum": high,
    }
    finite = {word: limit for word, limit in limits.items() if math.isfinite(limit)}

    def check(name: str, value: Any) -> float:
        return in_range(name, value, low, high, low_open=low_open, high_open=high_open)

    return checked(meaning, check, form=form, default=default, limits=finite)


def reals(meaning: str, *, low: float = -math.inf, high: float = math.inf, default: Any = REQUIRED) -> Any:
    """Return a field of a list of real numbers in an interval, at least one, which is kept as a tuple.

    Examples
    --------
    >>> @frozen_problem()
    ... class Goods:
    ...     worth: tuple[float, ...] = reals("Worth of each.", low=0.0)
    >>> Goods(worth=np.array([1, 2])).worth
    (1.0, 2.0)
    """

    def check(name: str, value: Any) -> tuple[float, ...]:
        entries = finite_array(name, value, 1).tolist()
        return tuple(in_range(f"{name}[{place}]", entry, low, high) for place, entry in enumerate(entries))

    return checked(meaning, check, form="list of numbers", default=default)


def epsilon_field(meaning: str, *, default: Any = REQUIRED, form: str = "float") -> Any:
    """Return a field of a privacy epsilon: >= 0 and finite."""

    def check(name: str, value: Any) -> float:
        return privacy_epsilon(value, name)

    return checked(meaning, check, form=form, default=default, limits={"minimum": 0})


def delta_field(meaning: str, *, default: Any = REQUIRED, form: str = "float") -> Any:
    """Return a field of a privacy delta: in [0, 1)."""

    def check(name: str, value: Any) -> float:
        return privacy_delta(value, name)

    limits = {"minimum": 0, "exclusiveMaximum": 1}
    return checked(meaning, check, form=form, default=default, limits=limits)


def choice(
    meaning: str,
    known: Any,
    *,
    default: Any = REQUIRED,
    form: str = "",
    renamed: Mapping[str, str] | None = None,
) -> Any:
    """Return a field of one of the known words, a sequence of them or the field's own ``Literal`` type.

    ``renamed`` has former words and what they are called now.
    """
    words = tuple(get_args(known) or known)

    def check(name: str, value: Any) -> str:
        return one_of(name, value, words, renamed)

    listed = ", ".join(f'"{word}"' for word in words)
    return checked(meaning, check, form=form or f"{{{listed}}}", default=default, limits={"enum": [*words]})


def flag(meaning: str, *, default: bool = False) -> Any:
    """Return a field that is true or false."""

    def check(name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ParameterError(name, f"expected true or false, got {text_of(value)}")
        return value

    return checked(meaning, check, form="bool", default=default)


# The class


@dataclass_transform(
    kw_only_default=True,
    frozen_default=True,
    field_specifiers=(related, checked, amount, whole, real, epsilon_field, delta_field, choice, flag),
)
def frozen_problem(*, eq: bool = True) -> Callable[[Class], Class]:
    """Return the decorator of problems: frozen, parameters by name only, documented by their fields.

    Parameters
    ----------
    eq : bool
        Whether problems with equal parameters are equal; not where a parameter is an array.

    Examples
    --------
    >>> @frozen_problem()
    ... class Queue:
    ...     '''People who wait.'''
    ...     servers: int = whole("How many serve.", low=1)
    >>> inspect.getdoc(Queue).splitlines()[-2:]
    ['servers : int', '    How many serve.']
    >>> Queue(servers=0)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: servers: 0 is not at least 1
    """

    def result(problem_class: Class) -> Class:
        # Without slots: cached properties and the weak references of caches need a __dict__.
        frozen = attrs.frozen(
            kw_only=True, slots=False, repr=False, eq=eq, field_transformer=_in_the_places_of_bases
        )(problem_class)
        if frozen.__doc__ is not None:
            frozen.__doc__ = documented(frozen.__doc__, fields_of(frozen))
        # attrs would tell the type of the converter's argument.
        vars(frozen)["__init__"].__annotations__ |= {item.name: item.type for item in attrs.fields(frozen)}
        return frozen

    return result


def _in_the_places_of_bases(
    problem_class: type, fields: list[attrs.Attribute[Any]]
) -> list[attrs.Attribute[Any]]:
    """Return the fields in their order; those of bases stand first, also where the class states them again.

    Among them those that must be given come before those with a default.
    """
    places: dict[str, int] = {}
    for base in reversed(problem_class.__mro__[1:]):
        for field in fields_of(base):
            places.setdefault(field.name, len(places))
    if not places:
        return fields
    own = len(places)
    return sorted(fields, key=lambda field: (field.default is not REQUIRED, places.get(field.name, own)))


def fields_of(problem: Any) -> tuple[Parameter, ...]:
    """Return the parameters of a problem or of its class, in their order; of a plain dataclass as well."""
    problem_class = problem if isinstance(problem, type) else type(problem)
    if attrs.has(problem_class):
        return tuple(
            Parameter(item.name, item.default, **item.metadata) for item in attrs.fields(problem_class)
        )
    if not hasattr(problem_class, "__dataclass_fields__"):
        return ()
    from dataclasses import fields  # takes time to import, and the problems here are not dataclasses

    return tuple(Parameter(item.name, _default(item)) for item in fields(problem_class))


def _default(field: Field[Any]) -> Any:
    from dataclasses import MISSING

    if field.default is not MISSING:
        return field.default
    if field.default_factory is MISSING:
        return REQUIRED
    return attrs.Factory(field.default_factory)


def values_of(problem: Any) -> dict[str, Any]:
    """Return the parameters of a problem as it keeps them."""
    return {parameter.name: getattr(problem, parameter.name) for parameter in fields_of(problem)}


def documented(text: str, parameters: tuple[Parameter, ...]) -> str:
    """Return a docstring with the section *Parameters* at its place."""
    text = inspect.cleandoc(text)
    lines = ["Parameters", "----------"]
    for item in parameters:
        lines.append(f"{item.name} : {item.form}")
        lines += _wrapped(item.meaning)
    section = "\n".join(lines)
    following = SECTIONS.search(text)
    if following is None:
        return f"{text}\n\n{section}\n"
    return f"{text[: following.start()]}{section}\n\n{text[following.start() :]}"


def _wrapped(meaning: str) -> list[str]:
    """Return indented lines; textwrap does more, but takes longer to import than all parameters to wrap."""
    lines: list[str] = []
    for word in meaning.split():
        if lines and len(lines[-1]) + 1 + len(word) <= LONGEST_LINE:
            lines[-1] += f" {word}"
        else:
            lines.append(f"    {word}")
    return lines


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
