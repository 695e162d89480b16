"""Documents that are parsed, and those that would take the memory: refused before."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given, settings, strategies as st

from mechdesign.catalog import models
from mechdesign.catalog.shipped import models_folder
from mechdesign.work.files import MOST_DEPTH, MOST_ITEMS, parse_json, parse_toml

DEEP = {
    "dots": "a." * 200 + "a = 1",
    "spaced dots": "a . " * 200 + "a = 1",
    "quoted keys with signs": "'='.\"#\"." * 100 + "a = 1",
    "keys of digits": "1." * 200 + "1 = 1",
    "digits and letters": "1.a." * 100 + "1 = 1",
    "digits after a value": "x = [1.5,\n2.5]\n" + "1.2." * 100 + "1 = 1",
    "table": "[" + "a." * 200 + "a]",
    "tables": "[[" + "a." * 200 + "a]]",
    "lists": "x = " + "[" * 200 + "]" * 200,
    "inline tables": "x = " + "{a = " * 200 + "1" + "}" * 200,
    "inline keys": "x = " + "{a.a.a.a.a.a.a.a.a.a = " * 20 + "1" + "}" * 20,
    "behind a long text": 'x = """a\\"""b""""\n' + "a." * 200 + "a = 1",
    "behind a plain long text": "x = '''a'''''\n" + "a." * 200 + "a = 1",
    "behind a comment": '# it\'s """\n' + "a." * 200 + "a = 1",
    "behind a text with brackets": 'x = "]]]]"\n' + "a." * 200 + "a = 1",
}


@pytest.mark.parametrize("kind", DEEP)
def test_what_is_too_deep_is_refused_before_it_is_parsed(kind, monkeypatch):
    tomllib.loads(DEEP[kind])  # it is valid, and would be worse if it were longer
    monkeypatch.setattr(tomllib, "loads", lambda text: pytest.fail("it was parsed"))
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        parse_toml(DEEP[kind])


@pytest.mark.parametrize("text", ["k = 1\n", "[[a]]\n", "x = [[], []]\n"])
def test_what_has_too_many_parts_is_refused_before_it_is_parsed(text, monkeypatch):
    monkeypatch.setattr(tomllib, "loads", lambda text: pytest.fail("it was parsed"))
    with pytest.raises(ValueError, match="more than 200000 keys, tables and lists"):
        parse_toml(text * (MOST_ITEMS + 1))


def test_all_models_are_parsed_as_they_were():
    for slug in models():
        text = (models_folder() / f"{slug}.toml").read_text(encoding="utf-8")
        assert parse_toml(text) == tomllib.loads(text)


PARTS = ["a", "1", ".", " ", "=", "[", "]", "{", "}", ",", "\n", '"', '"""', "'", "'''", "\\", "#", "0.5"]
PARTS += ["a.b = 1\n"]


@settings(max_examples=80)
@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join))
def test_a_shallow_document_is_parsed_or_refused_as_by_the_parser(text):
    try:
        expected = tomllib.loads(text)
    except ValueError:
        expected = None
    if expected is None:
        with pytest.raises(ValueError, match=r"."):
            parse_toml(text)
    else:
        assert parse_toml(text) == expected


def test_json_is_bounded_in_the_same_way():
    deep = "[" * MOST_DEPTH + '"]]]{{["' + "]" * MOST_DEPTH
    assert parse_json(deep) == json.loads(deep)
    for text, said in (
        (f"[{deep}]", "nested more than 100 deep"),
        ('{"a":' * 101 + "1" + "}" * 101, "nested more than 100 deep"),
        ("[" * 100_000, "nested more than 100 deep"),
        ("[" + "[]," * 2_000_000 + "[]]", "more than 2000000 objects and lists"),
        ("1e400", "too large for a number"),
        ("9" * 5000, "too many digits"),
        ("NaN", "not a JSON number"),
        ("-Infinity", "not a JSON number"),
    ):
        with pytest.raises(ValueError, match=said):
            parse_json(text)
