"""Frozen objects are not written to: what they keep is made before they are complete."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import mechdesign

PACKAGE = Path(mechdesign.__file__).parent


def writers(tree: ast.AST, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the functions that get around a frozen class, by the names of their classes and their own."""
    for node in ast.iter_child_nodes(tree):
        named = isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        is_writer = isinstance(node, ast.Attribute) and node.attr == "__setattr__"
        if is_writer and ast.unparse(node) == "object.__setattr__":
            yield ".".join(path)
        yield from writers(node, (*path, node.name) if named else path)


def test_no_frozen_object_is_written_to():
    """What a class keeps is made by its fields (``core/values.py``), or before its fields are set."""
    files = sorted(PACKAGE.rglob("*.py"))
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    found = [
        (file, name)
        for file, text in texts.items()
        if "__setattr__" in text
        for name in writers(ast.parse(text))
    ]
    assert found == []


def test_a_writer_is_found_where_it_stands():
    text = (
        "class A:\n    def set(self):\n        def inner():\n            object.__setattr__(self, 'a', 1)\n"
    )
    assert list(writers(ast.parse(text))) == ["A.set.inner"]
    assert list(writers(ast.parse("write = object.__setattr__"))) == [""]
