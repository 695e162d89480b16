"""A key that is there twice is named with the line where it comes again, in one parse or a few."""

from __future__ import annotations

import tomllib

import pytest

from mechdesign.catalog import shipped as toml


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a = 1\nb = 2\na = 3\n", ("a", 3)),
        ("a = 1\na = 2", ("a", 2)),  # at the end of the file
        ('[m]\na = 1\na = """x\na = 3\nb = 4\n"""\nc = 1\n', ("a", 3)),  # keys in a text are none
        ("a = 1\na = [1,\n2,\n]\nb = 3\n", ("a", 2)),
        ("a.b = 1\na.b.c = 2\n", ("a.b.c", 2)),
        ('[m]\na = 1\n"a" = 3\n', ('"a"', 3)),
        ("a = 1\r\nb = 2\r\na = [3,\r\n4]\r\n", ("a", 3)),
        ("a = 1\na = 1\nb = 2\nb = 2\n", ("a", 2)),  # the first of two
        ("a = 1\n[b]\na = 2\n", None),
        ("a = \n", None),
    ],
)
def test_it_is_found(text, found):
    assert toml.repeated_key(text) == found


def test_many_keys_before_it_are_not_parsed_one_by_one(monkeypatch):
    calls, loads = [], tomllib.loads
    monkeypatch.setattr(toml.tomllib, "loads", lambda text: (calls.append(len(text)), loads(text))[1])
    text = "\n".join(f"key{number} = {number}" for number in range(3000)) + "\nkey7 = 1\n"
    assert toml.repeated_key(text) == ("key7", 3001)
    assert len(calls) == 2
