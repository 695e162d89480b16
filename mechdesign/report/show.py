"""What ``show`` prints of a problem: its parameters and methods."""

from __future__ import annotations

from mechdesign.core.fields import fields_of
from mechdesign.core.parameters import Described, Generators, default_of, described_parameters, signature_text
from mechdesign.core.problem import Problem
from mechdesign.core.solve import methods_of
from mechdesign.core.text import table


def problem_text(problem_class: type[Problem], width: int | None = None) -> str:
    """Return a description of a problem: its purpose, a table of its parameters, and its methods.

    Examples
    --------
    >>> from mechdesign.families.mean import MeanChannel
    >>> print(problem_text(MeanChannel, 100).splitlines()[0])
    mean-channel (min): the best mechanism for the mean of a number, by linear programming
    """
    described = described_parameters(problem_class)
    generators: Generators = getattr(problem_class, "generators", {})
    rows = []
    for field in fields_of(problem_class):
        entry = described.get(field.name, Described("", ""))
        meaning = [entry.meaning]
        for name, function in sorted(generators.get(field.name, {}).items()):
            meaning.append(f'Or {{ name = "{name}", {signature_text(function)} }}.')
        default = default_of(field) or "required"
        rows.append([field.name, default, entry.form, " ".join(part for part in meaning if part)])
    methods = [[method.name, method.kind, method.summary] for method in methods_of(problem_class)]
    return "\n\n".join(
        [
            f"{problem_class.name} ({problem_class.sense}): {problem_class.summary}",
            table(["parameter", "default", "form", "meaning"], rows, width),
            table(["method", "kind", "summary"], methods, width),
            "--json prints the JSON Schema of the parameters.",
        ]
    )
