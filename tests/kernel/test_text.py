"""Tables, and a progress bar that is drawn on a terminal only."""

from __future__ import annotations

import io
import os
import pty
import sys

import pytest

from mechdesign.show.tables import edge_texts, outside_text, range_text, table, terminal_width
from mechdesign.work.bars import ProgressBar, progress

ERASED = "\x1b[2K"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_is_drawn_on_a_terminal_and_removed(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")  # on a dumb terminal nothing is drawn
    screen = Terminal()
    assert list(progress(iter("abc"), 3, "models [2]", screen)) == ["a", "b", "c"]
    text = screen.getvalue()
    assert "models [2]" in text
    assert "0/3" in text
    assert "3/3" in text
    assert ERASED in text[text.rindex("3/3") :]


def test_a_bar_of_reading_is_drawn_after_a_second_and_removed(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    with ProgressBar("reading a.csv", screen) as bar:
        bar.show(0.25, 1000)
        assert screen.getvalue() == ""
        bar.start -= 2.0
        bar.show(0.5, 2000)
        assert "2,000 rows" in screen.getvalue()
    assert ERASED in screen.getvalue()[screen.getvalue().rindex("rows") :]


def test_a_loop_that_is_left_early_leaves_no_bar(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    steps = progress(range(9), 9, "slots", screen)
    assert [next(steps), next(steps)] == [0, 1]
    steps.close()
    assert ERASED in screen.getvalue()[screen.getvalue().rindex("slots") :]


@pytest.mark.parametrize("items", ["abc", "a", ""])
def test_nothing_is_drawn_elsewhere(items):
    stream = io.StringIO()
    assert list(progress(items, len(items), "models", stream)) == list(items)
    assert stream.getvalue() == ""


def test_a_single_step_needs_no_bar():
    screen = Terminal()
    assert list(progress("a", 1, "models", screen)) == ["a"]
    assert screen.getvalue() == ""


def test_the_command_line_draws_it_on_a_real_terminal_only(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")  # on a dumb terminal nothing is drawn
    command = [sys.executable, "-m", "mechdesign", "sweep", "response/survey_skewed", "--jobs", "1"]
    main, side = pty.openpty()
    child = os.fork()
    if child == 0:  # the child writes its errors, where the bar goes, to the terminal
        os.dup2(side, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(command[0], command)
    os.close(side)
    seen = b""
    while True:
        try:
            chunk = os.read(main, 4096)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
    os.close(main)
    assert os.waitpid(child, 0)[1] == 0
    assert b"points" in seen
    assert b"/7" in seen


def test_columns_of_numbers_are_aligned_to_the_right():
    lines = table(["name", "value"], [["a", "1"], ["b", "10"], ["c", "-"]]).splitlines()
    assert lines[2:] == ["a         1", "b        10", "c         -"]
    assert table(["only"], []).splitlines() == ["only", "----"]


def test_a_table_keeps_to_its_width_and_loses_no_word():
    header, remark = ["name", "value", "remark", "note"], "some words that say why it is as it is"
    rows = [["first", "1.25", remark, "a_name_that_is_not_broken"], ["second", "-10.5", "", "short"]]
    for width in (60, 70, 90):
        lines = table(header, rows, width).splitlines()
        assert max(map(len, lines)) <= width
        assert all(word in " ".join(lines).split() for word in [*remark.split(), rows[0][3], "1.25", "first"])
    assert table(header, rows, 1000) == table(header, rows)
    assert "1.25" in table(header, rows, 10), "numbers and names are never broken"


def test_a_heading_stands_alone_and_widens_no_column():
    lines = table(["a", "b"], ["a heading that is long", ["1", "2"]]).splitlines()
    assert lines == ["a  b", "-  -", "a heading that is long", "1  2"]


@pytest.mark.parametrize(("columns", "width"), [("40", 80), ("95", 95), ("300", 120)])
def test_tables_are_as_wide_as_the_terminal_within_reason(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal_width() == width


@pytest.mark.parametrize(
    ("edges", "texts"),
    [
        ((0.0, 20.0, 0.5), ("0", "20", "0.5")),
        ((1234567.0, 2345678.0), ("1.23457e+06", "2.34568e+06")),  # told apart: they stay as they were
        ((1.7e9, 1.7e9 + 30, 1.7e9 + 60.5), ("1700000000", "1700000030", "1700000060.5")),
        ((0.3, 0.1 + 0.2), ("0.3", "0.30000000000000004")),
    ],
)
def test_edges_are_told_apart(edges, texts):
    assert edge_texts(edges) == texts


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (101.0, 0.0, 100.0, "101 is outside [0, 100]"),
        (1700000101.0, 1.7e9, 1.7e9 + 100, "1700000101 is outside [1700000000, 1700000100]"),
        (0.1 + 0.2, 0.0, 0.3, "0.30000000000000004 is outside [0, 0.3]"),
        (0.34, 0.0, 1 / 3, "0.34 is outside [0, 0.3333333333333333]"),
    ],
)
def test_a_value_outside_looks_outside(value, low, high, text):
    assert outside_text(value, low, high) == text
    assert range_text(low, high) in text
