"""JSON lines that are written alike: what is read many lines at a time is what is read line by line."""

import json

import numpy as np
import pytest

import mechdesign.data.json_lines as json_lines
from mechdesign.core.errors import DataError
from mechdesign.data.intake import Coded, MissingRule
from mechdesign.data.json_lines import JsonTable, plain_columns
from mechdesign.data.uniform_lines import ByteBlock, LineForm, NumberedTexts

COLUMNS = ["name", "age", "share", "city"]
WORDS = ["no", "once", "", "a, b: {c}", "M\u00fcller", "x" * 80, "null", "{", "a:b"]


def rows_of(count: int, seed: int) -> list[dict[str, object]]:
    """Return rows of texts, integers and numbers with decimals."""
    rng = np.random.default_rng(seed)
    return [
        {
            "name": WORDS[rng.integers(len(WORDS))],
            "age": int(rng.integers(-5, 10**9)),
            "share": float(rng.choice([0.1, 1e-300, 31.557, 2.0**70, -0.0])),
            "city": f"city {rng.integers(10**6)}",
        }
        for _ in range(count)
    ]


def read(path, monkeypatch, paths: str, missing: MissingRule | None = None):
    """Return all columns, or the error, reading by bytes (b), lists of lines (l) or line by line alone."""
    with monkeypatch.context() as patch:
        if "b" not in paths:
            patch.setattr(json_lines.LineForm, "of", classmethod(lambda cls, line: None))
        if "l" not in paths:
            patch.setattr(json_lines, "plain_columns", lambda lines, names: None)
        try:
            table = JsonTable(path, missing or MissingRule("category"))
            names = list(table.columns)
            pieces = list(table._raw(names))
        except DataError as error:
            return str(error)
    return [
        [repr(value) for values, _, _ in pieces for value in np.asarray(values[name]).tolist()]
        + [flag for _, missing, _ in pieces for flag in missing[name].tolist()]
        for name in names
    ]


def written(rows, **form) -> bytes:
    return "".join(json.dumps(row, **form) + "\n" for row in rows).encode()


@pytest.mark.parametrize("form", [{}, {"separators": (",", ":")}, {"ensure_ascii": False}])
def test_uniform_lines_are_read_by_their_bytes(tmp_path, monkeypatch, form):
    path, rows = tmp_path / "rows.jsonl", rows_of(300, 1)
    path.write_bytes(written(rows, **form).replace(b"\n", b"\r\n" if form else b"\n"))
    expected = read(path, monkeypatch, "")
    monkeypatch.setattr(json_lines, "flat_row", None)  # line by line, the test would fail
    monkeypatch.setattr(json_lines, "plain_columns", None)
    assert read(path, monkeypatch, "bl") == expected
    for number, name in enumerate(COLUMNS):
        assert expected[number][:300] == [repr(row[name]) for row in rows]


def test_lines_in_another_order_or_with_null_are_read_in_lists(tmp_path, monkeypatch):
    path, rows = tmp_path / "rows.jsonl", rows_of(50, 2)
    rows[7]["name"], rows[9]["age"] = None, None
    rows[20] = dict(reversed(rows[20].items()))
    path.write_bytes(written(rows))
    expected = read(path, monkeypatch, "")
    monkeypatch.setattr(json_lines, "flat_row", None)
    assert read(path, monkeypatch, "bl") == expected
    rule = MissingRule("category", ("no", "2.0", "-1"))
    assert read(path, monkeypatch, "bl", rule) == read(path, monkeypatch, "l", rule)


def test_whatever_byte_is_damaged_all_ways_of_reading_agree(tmp_path, monkeypatch):
    """Values or the error with its line; 300 files, of which most are refused."""
    rng, path = np.random.default_rng(3), tmp_path / "rows.jsonl"
    signs = (
        b'" \\ , : { } \n e9 \t \xff null [1] NaN ","age":1," ", "name": " }\n{ },{ - 0 .5 \x00 1e999'.split(
            b" "
        )
    )
    signs += [b"7", b"a", b"b c", b""] * 8
    refused = read_fast = 0
    for turn in range(300):
        data = written(rows_of(6, turn), ensure_ascii=turn % 2 == 0)
        for _ in range(1 + turn % 3):
            place = int(rng.integers(len(data)))
            data = data[:place] + signs[rng.integers(len(signs))] + data[place + int(rng.integers(2)) :]
        path.write_bytes(data)
        slow, lists, fast = (read(path, monkeypatch, paths) for paths in ("", "l", "bl"))
        assert fast == lists == slow, data
        refused += isinstance(slow, str)
        form = LineForm.of(data[: data.find(b"\n")])
        read_fast += form is not None and form.columns(data, COLUMNS) is not None
    assert 100 < refused < 270
    assert read_fast > 20


@pytest.mark.parametrize(
    "second",
    [
        '{"a": "x", "b": 1, "b": 1}',
        '{"a": "x", "b": 1}{"a": "x", "b": 1}',
        '{"a": "x", "b": 01}',
        '{"a": "x", "b": 1, "c": 2}',
        '{"a": "x", "b": NaN}',
        '{"a": "x", "b": 1e400}',
        '{"a": "x", "b": [1]}',
        '{"a": "x", "b": true}',
        '{"a": "\\q", "b": 1}',
        '{"a": "x", "b": 1, 2}',
        '{"a": "x"}',
        '["a", "b"]',
    ],
)
def test_a_line_that_is_not_plain_is_not_read_with_others(second):
    lines = f'{{"a": "x", "b": 1}}\n{second}\n'.encode()
    form = LineForm.of(lines[: lines.index(b"\n")])
    assert form is not None
    assert form.columns(lines, ["b"]) is None
    assert plain_columns(lines, ["a", "b"]) is None


def test_a_value_between_two_spaces_that_is_missing_is_not_read():
    form = LineForm.of(b'{"a": 1 , "b": 2}')
    assert form.columns(b'{"a": 1 , "b": 2}\n', ["a"]) == {"a": [1], "b": [2]}
    assert form.columns(b'{"a": , "b": 2}\n', ["a"]) is None


def test_two_lines_that_make_one_row_together_are_refused():
    lines = b'{"a":"}\n{"}\n{"a":"x"},{"a":"y"}\n'
    assert plain_columns(lines, ["a"]) is None


def test_many_texts_of_any_length_keep_their_rows():
    """More texts than places for them, and texts that differ behind their first 64 bytes alone."""
    words = [f"{number:x}" * (1 + number % 9) for number in range(30_000)]
    lines = written({"a": word} for word in words)
    column = LineForm.of(b'{"a": "x"}').columns(lines, ["a"])["a"]
    assert isinstance(column, Coded)
    assert np.asarray(column).tolist() == words
    few = ["y" * 70, "y" * 70 + "z", "y" * 64, "y"] * 5
    assert (
        np.asarray(LineForm.of(b'{"a": "x"}').columns(written({"a": w} for w in few), ["a"])["a"]).tolist()
        == few
    )


def test_a_text_that_begins_a_longer_one_of_an_earlier_block_is_another():
    """Eight letters alone, after a text of ten that begins with them: all words of the later block agree."""
    texts, long, short = NumberedTexts(), ByteBlock(b"abcdefghij"), ByteBlock(b"abcdefgh")
    first = texts.codes(long, np.array([0]), np.array([10]))
    second = texts.codes(short, np.array([0]), np.array([8]))
    assert [texts.written[code] for code in (*first, *second)] == [b"abcdefghij", b"abcdefgh"]
