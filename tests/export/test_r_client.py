"""The R client: bit for bit the mechanism's reports, in base R."""

from __future__ import annotations

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from scipy import stats

from mechdesign.exact.randomness import TOTAL
from mechdesign.export import export
from mechdesign.export.exporting import literal
from tests.support.clients import CLIENTS, LEAST, NAMES, known, some_of, stem

RSCRIPT = shutil.which("Rscript")
needs_r = pytest.mark.skipif(not RSCRIPT, reason="no R here (Debian: r-base-core)")

TRY = """
for (stem in commandArgs(TRUE)) {
  source(paste0(stem, ".R"))
  for (vector in eval(parse(paste0(stem, ".vectors"), keep.source = FALSE))) {
    tape <- .mechdesign$tape(as.raw(.mechdesign$bytes_of(vector[[2]])))
    made <- randomize(vector[[1]], tape$take)
    if (!identical(made, vector[[3]]) || tape$left() != 0) {
      cat(stem, ":", format(vector), "->", format(made), "\\n")
      break
    }
  }
}
"""


def run_r(folder, text, *arguments):
    command = [RSCRIPT, "--vanilla", "-e", text, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=folder)
    return done.stdout + done.stderr


SAME = {
    *("kary 64", "unary 64", "unary 200", "hadamard 1000", "hashing 60000", "harmony", "shuffled", "murs"),
    *("events with names", "sets of one", "sets sampled", "sets hashed alone", "weekly numbers"),
    *("rsum-rr", "cnt-bn", "uniformity-dump", "cnt-sgm", "range-tree", "aut", "hist-mm", "hist-rr"),
}
"""Instances whose steps are those of others: a few vectors, for R takes a millisecond each."""

FEW, MANY = 40, 200


@needs_r
def test_the_same_bytes_give_the_same_report(tmp_path):
    stems = []
    for name, make in CLIENTS.items():
        assert len(known(name)) >= LEAST
        rows = [list(row) for row in some_of(known(name), FEW if name in SAME else MANY)]
        stems.append(stem(name))
        (tmp_path / f"{stems[-1]}.R").write_text(export(make(), "r"), encoding="utf-8")
        (tmp_path / f"{stems[-1]}.vectors").write_text(literal(rows), encoding="utf-8")
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda part: run_r(tmp_path, TRY, *part), (stems[::2], stems[1::2])))
    assert said == ["", ""]


@needs_r
def test_draws_of_the_systems_generator_have_the_exact_law(tmp_path):
    """Chi-square against the integer weights: a correct client fails with probability 1e-6."""
    (tmp_path / "client.R").write_text(export(CLIENTS["kary 64"](), "r"), encoding="utf-8")
    text = 'source("client.R")\ncat(vapply(1:10000, function(turn) randomize(9), 0))'
    drawn = list(map(int, run_r(tmp_path, text).split()))
    weights = CLIENTS["kary 64"]().weights
    expected = [10_000 * (weights.high if place == 9 else weights.low) / TOTAL for place in range(64)]
    assert stats.chisquare([drawn.count(place) for place in range(64)], expected).pvalue > 1e-6


@needs_r
def test_wrong_answers_and_damaged_tables_are_refused_and_rows_are_json(tmp_path):
    text = export(CLIENTS["kary-response"](), "r")
    low = CLIENTS["kary-response"]().recipe().steps["low"]
    (tmp_path / "client.R").write_text(text, encoding="utf-8")
    (tmp_path / "damaged.R").write_text(text.replace(low, "0" + low[:-1]), encoding="utf-8")
    body = f"""
say <- function(made) cat(tryCatch(made, error = conditionMessage), "\\n", sep = "")
source("client.R")
say(randomize("nevr"))
say(randomize("never", function(count) as.raw(1:3)))
cat(rows({literal(NAMES[2])}), "\\n", sep = "")
source("damaged.R")
say(randomize("never"))
"""
    lines = run_r(tmp_path, body).splitlines()
    assert lines[0] == "mood: nevr is not one of the answers"
    assert lines[1] == "the source did not return 8 bytes"
    assert list(json.loads(lines[2]).values()) == [NAMES[2]]
    assert lines[3].startswith("this file is damaged: its tables are not those that were exported")


@needs_r
def test_a_permanent_response_is_kept_and_counted(tmp_path):
    (tmp_path / "client.R").write_text(export(CLIENTS["joint-response"](), "r"), encoding="utf-8")
    body = """
source("client.R")
say <- function(made) cat(tryCatch(made, error = conditionMessage), "\\n", sep = "")
remember(c(1, 2), "mine.rds")
for (turn in 1:6) say(report("mine.rds"))
say(remember(c(0, 0), "mine.rds"))
"""
    lines = run_r(tmp_path, body).splitlines()
    assert {line[:1] for line in lines[:5]} == {"x"}
    assert lines[5] == "mine.rds: the guarantee is for 5 reports, which were made"
    assert lines[6] == "mine.rds: file exists; a permanent response is never replaced"


@needs_r
def test_weekly_reports_come_from_kept_sets_and_stop_after_the_last_week(tmp_path):
    (tmp_path / "client.R").write_text(export(CLIENTS["weekly parts of sets"](), "r"), encoding="utf-8")
    body = """
source("client.R")
say <- function(made) cat(tryCatch(made, error = conditionMessage), "\\n", sep = "")
remember(0, "mine.rds")
for (answer in c(0, 1, 2, 1, 0)) say(report("mine.rds", answer = answer))
"""
    lines = run_r(tmp_path, body).splitlines()
    assert [line[:1] for line in lines] == ["x", "x", "t", "x", "m"]
    assert lines[2] == "the guarantee is for 2 different answers"
    assert lines[4] == "mine.rds: 3 weeks were planned, and so many reports made"


@needs_r
def test_on_windows_the_bytes_come_from_powershell_or_nothing_is_drawn(tmp_path):
    """A stand-in for PowerShell: R runs it with one command, and refuses any other number of bytes."""
    program = tmp_path / "powershell.exe"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > given\n. ./answer\n', encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / "client.R").write_text(export(CLIENTS["kary-response"](), "r"), encoding="utf-8")
    body = """
source("client.R")
state <- .mechdesign$state
good <- "printf '0A-FF-\\n7f-00' | tr a-f A-F"
for (answer in c(good, "printf 0A-FF-00", "printf 'no such command'", "exit 1", "")) {
  cat(answer, "\n", file = "answer")
  cat(as.character(.mechdesign$windows_bytes(4, "./powershell.exe")), "\n")
}
assign("fresh", function(count) raw(), .mechdesign)
cat(tryCatch(randomize("never"), error = conditionMessage), "\n")
"""
    lines = run_r(tmp_path, body).splitlines()
    assert lines[:5] == ["0a ff 7f 00 ", " ", " ", " ", " "]
    assert lines[5].startswith("this system offers base R no secure generator; use the Python")
    given = (tmp_path / "given").read_text(encoding="utf-8")
    assert given.splitlines()[:3] == ["-NoProfile", "-NonInteractive", "-Command"]
    assert "New-Object byte[] 4; [Security.Cryptography.RandomNumberGenerator]::Create().GetBytes" in given


def test_numbers_and_texts_are_exact_literals():
    assert literal([0.1, -2.5]) == "c(0x1.999999999999ap-4,-0x1.4000000000000p+1)"
    assert literal('a"\\\U0001f600') == '"a\\"\\\\\\U{1f600}"'
    assert literal([[1, 2], []]) == "list(c(1,2),list())"
