"""Pictures by another process: the same ones, whatever becomes of it, and nothing of it is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mechdesign.show import draw
from mechdesign.show.draw import Painter, svg
from mechdesign.show.figure import Bars, Figure, Line, Panel
from tests.support.processes import started

LINE = Figure("Line", [Panel("x", "y", [Line([1, 2], [3, 4], label="a & b")])], "A caption")
BARS = Figure("Bars", [Panel("x", "y", [Bars([0, 1], [1, 2])], x_names=["no", "yes"])])

ENDLESS = """
import sys, time
from mechdesign.show.figure import Figure, Line, Panel
from mechdesign.show.draw import Painter
figure = Figure("Line", [Panel("x", "y", [Line([1, 2], [3, 4])])])
with Painter(2) as painter:
    painter.begin([figure])
    painter.svg(figure)
    print(painter._process.pid, flush=True)
    time.sleep(600)
"""


def test_pictures_of_the_other_process_are_those_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {(figure, narrow): svg(figure, narrow) for figure in (LINE, BARS) for narrow in (False, True)}
    with Painter(2) as two:
        two.begin([LINE, BARS])
        two.begin([BARS, LINE, LINE], narrow=True)

        def fails(figure: Figure, narrow: bool = False) -> str:
            raise AssertionError("this process draws as well")

        monkeypatch.setattr(draw, "svg", fails)
        for (figure, narrow), text in reversed(expected.items()):
            assert two.svg(figure, narrow) == text
            assert two.svg(figure, narrow) == text
        process = two._process
        assert process is not None
    assert process.returncode == 0


def test_one_process_is_enough_where_no_more_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("another process was started")

    monkeypatch.setattr(subprocess, "Popen", refused)
    monkeypatch.setenv("MECHDESIGN_JOBS", "1")
    for one in (Painter(), Painter(1)):
        with one:
            one.begin([LINE])
            assert one.svg(LINE) == svg(LINE)


def test_a_process_that_does_not_start_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    for program in (os.devnull, "", str(Path("no") / "such")):
        monkeypatch.setattr(sys, "executable", program)
        with Painter(2) as alone:
            alone.begin([LINE])
            assert alone.svg(LINE) == svg(LINE)


@pytest.mark.parametrize("program", ["import sys; sys.exit(1)", "print('no pickle', flush=True)"])
def test_what_a_process_leaves_is_drawn_here(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draw, "PROGRAM", program)
    with Painter(2) as alone:
        alone.begin([LINE, BARS])
        assert [alone.svg(figure) for figure in (LINE, BARS)] == [svg(LINE), svg(BARS)]


def test_an_error_is_met_here_and_the_next_picture_comes() -> None:
    nothing: Any = "no figure"
    with Painter(2) as two:
        two.begin([nothing, BARS])
        with pytest.raises(AttributeError):
            two.svg(nothing)
        assert two._process is not None
        assert two.svg(BARS) == svg(BARS)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of Unix")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_other_process_ends_with_this_one(number: int) -> None:
    with started([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        other = int(run.stdout.readline())
        os.killpg(run.pid, number)
        run.communicate(timeout=60)
        end = time.monotonic() + 10.0
        while _is_there(other) and time.monotonic() < end:
            time.sleep(0.02)
        assert not _is_there(other)


def _is_there(number: int) -> bool:
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True, check=False
    )
    return state.stdout.strip()[:1] not in ("", "Z")
