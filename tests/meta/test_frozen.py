"""Frozen objects are not written to: what they keep is made before they are complete."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import mechdesign

PACKAGE = Path(mechdesign.__file__).parent

REMAINING = {
    "core/certificate.py": {"Certificate.__post_init__"},  # the verdict depends on the figures below it
    "mechanisms/shuffle/noise.py": {"Noise.check", "Noise.check_weight"},  # limits by other fields
    "mechanisms/shuffle/digits.py": {"DigitResponses.__post_init__"},
    "mechanisms/shuffle/pure_digits.py": {"PureDigits.__post_init__"},
    "mechanisms/survey/questions.py": {  # what is kept depends on the kind and on several fields at once
        *("Question._check_frequencies", "Question._check_labels", "Question._check_number"),
    },
}
"""The methods that still do; a new value is made with ``core/values.py``, where fields state their checks."""


def writers(tree: ast.AST, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the functions that get around a frozen class, by the names of their classes and their own."""
    for node in ast.iter_child_nodes(tree):
        named = isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        is_writer = isinstance(node, ast.Attribute) and node.attr == "__setattr__"
        if is_writer and ast.unparse(node) == "object.__setattr__":
            yield ".".join(path)
        yield from writers(node, (*path, node.name) if named else path)


def test_no_other_frozen_object_is_written_to():
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(PACKAGE.rglob("*.py"))}
    found = {
        file.relative_to(PACKAGE).as_posix(): set(writers(ast.parse(text)))
        for file, text in texts.items()
        if "__setattr__" in text
    }
    assert {file: names for file, names in found.items() if names} == REMAINING


def test_a_writer_is_found_where_it_stands():
    text = (
        "class A:\n    def set(self):\n        def inner():\n            object.__setattr__(self, 'a', 1)\n"
    )
    assert list(writers(ast.parse(text))) == ["A.set.inner"]
    assert list(writers(ast.parse("write = object.__setattr__"))) == [""]
