"""Commands on tables in an empty folder: what they say, and what they refuse without changing anything."""

from __future__ import annotations

from pathlib import Path

from mechdesign.cli import main

SURVEY = """
[model]
title = "t"
problem = "randomized-response"
[parameters]
prior = [0.4, 0.3, 0.3]
epsilon = 3.0
labels = ["a", "b", "missing"]
"""

AGE = """
[model]
title = "age"
problem = "mean-interval"
[parameters]
epsilon = 2.0
[data]
columns = ["age"]
range = [0, 100]
missing = "drop"
"""


def said(capsys, *arguments: str, code: int = 0) -> str:
    assert main(list(arguments)) == code
    text, error = capsys.readouterr()
    assert error == ""
    return text


def refused(capsys, *arguments: str) -> str:
    before = {path: path.read_bytes() for path in Path.cwd().iterdir() if path.is_file()}
    assert main(list(arguments)) == 2
    text, error = capsys.readouterr()
    assert (text, error.count("\n")) == ("", 1)
    assert {path: path.read_bytes() for path in Path.cwd().iterdir() if path.is_file()} == before
    return error


def build(capsys, model: str, *options: str) -> str:
    path = model.replace(".toml", ".json")
    said(capsys, "build", model, "-o", path, *options)
    return path
