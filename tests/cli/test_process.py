"""The command line as a process: odd terminals, closed pipes, interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from mechdesign.cli import main
from tests.support.processes import started

COMMAND = [sys.executable, "-W", "error", "-m", "mechdesign"]

ODD = """
[model]
title = "Größe \U0001f600"
problem = "randomized-response"
[parameters]
prior = [0.5, 0.5]
epsilon = 2.0
labels = ["größer", "kleiner"]
"""


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_output_is_no_traceback(closed):
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(COMMAND)} list response {closed}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr + done.stdout


def test_characters_that_the_terminal_does_not_know(tmp_path):
    (tmp_path / "odd.toml").write_text(ODD, encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [*COMMAND, "show", "odd.toml"], cwd=tmp_path, capture_output=True, env=environment, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"gr\\xf6\\xdfer" in done.stdout
    assert b"\\U0001f600" in done.stdout


def test_until_main_runs_next_to_nothing_is_imported():
    """An interrupt while numpy is imported would be a traceback: it is imported inside of main."""
    text = "import mechdesign.cli, sys; print([name for name in ('numpy', 'scipy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("place", ["mechdesign.cli.parser.parser", "mechdesign.catalog.load_model"])
def test_an_interrupt_is_one_line(place, monkeypatch, capsys):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupted)
    assert main(["solve", "response/zhou2019_survey"]) == 130
    assert capsys.readouterr().err == "mechdesign: interrupted\n"


def test_an_interrupted_process_says_so(tmp_path):
    command = [*COMMAND, "check", "--all"]
    with started(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        time.sleep(3.0)  # long after its start, long before its end
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, b"mechdesign: interrupted\n")
