"""What the parameters of a problem mean, as its fields say."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

from mechdesign.core.fields import Parameter, fields_of
from mechdesign.core.problem import Problem

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
    found: dict[str, Described] = {}
    for item in reversed(problem_class.__mro__):
        found |= _section(inspect.cleandoc(item.__doc__ or ""))
    stated = fields_of(problem_class)
    found |= {
        item.name: Described(without_markup(item.form), without_markup(item.meaning))
        for item in stated
        if item.meaning
    }
    return {item.name: found[item.name] for item in stated if item.name in found}


def _section(text: str) -> dict[str, Described]:
    section = SECTION.search(text + "\n")
    if section is None:
        return {}
    found: dict[str, Described] = {}
    names: list[str] = []
    lines: list[str] = []
    form = ""
    for line in [*section[1].splitlines(), "end"]:
        entry = ENTRY.match(line)
        if entry is None:
            lines.append(line.strip())
            continue
        meaning = without_markup(" ".join(lines))
        found |= {name: Described(without_markup(form), meaning) for name in names}
        names, form, lines = entry[1].split(", "), entry[2] or "", []
    return found


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
