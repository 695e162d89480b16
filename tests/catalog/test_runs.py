"""Checks and sweeps through the cache, on other processes and on a Dask cluster, as from the shell."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial

import pytest

from mechdesign.catalog import load_model, models, run_sweep, sweep
from mechdesign.cli import main
from mechdesign.core.errors import ParameterError
from mechdesign.papers.claims import check_models
from mechdesign.solvers.solve import methods_of
from mechdesign.work.bars import Watch
from mechdesign.work.parallel import ALONE, Task, run_tasks
from tests.support.failures import assert_each
from tests.support.processes import started

SIMULATED = "contract/monotone"
"""A model whose sweep is simulated, in a tenth of a second."""

QUICK = ["response/zhou2019_survey", "contract/three_types", "marginals/covering_pairs"]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MECHDESIGN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def facts(check):
    """Return all that a check says but the time that it took."""
    return json.loads(re.sub(r'"seconds": [^,}]*', '"seconds": 0', json.dumps(check.as_dict())))


def travels(slug):
    model = load_model(slug)
    text = pickle.dumps(model)
    assert pickle.dumps(load_model(slug)) == text, "what the cache is asked for would differ every time"
    again = pickle.loads(text)
    assert again.claims == model.claims
    if hasattr(model.problem, "candidates"):
        return  # to say why a protocol does not apply, it is calibrated, which takes seconds
    for method in methods_of(type(model.problem)):
        assert method.why_not(again.problem) == method.why_not(model.problem), method.name


def test_every_model_travels_to_other_processes():
    assert_each({slug: partial(travels, slug) for slug in models()})


def test_a_check_from_the_cache_says_what_the_check_itself_said(cache):
    first = check_models(QUICK, jobs=1)
    with Watch("models") as watch:
        second = check_models(QUICK, jobs=1, watcher=watch)
    assert watch.cached == len(QUICK)
    assert [check.text() for check in first] == [check.text() for check in second]
    with Watch("models") as watch:
        third = check_models(QUICK, jobs=1, fresh=True, watcher=watch)
    assert watch.cached == 0
    assert list(map(facts, third)) == list(map(facts, first))


def test_another_method_is_another_sweep(cache):
    for method in ("closed-form", "lp", "closed-form"):
        rows = sweep("response/zhou2019_figure2", method, jobs=1)
        assert {row.solution.method for row in rows} == {method}


def test_a_changed_parameter_or_claim_is_another_check(cache, tmp_path):
    text = """[model]
title = "t"
problem = "randomized-response"
[parameters]
prior = [0.2, 0.8]
epsilon = 0.1
[[claim]]
quantity = "value"
relation = ">="
value = 0.7
"""
    path = tmp_path / "own.toml"
    kept = []
    for old, new in (("", ""), ("epsilon = 0.1", "epsilon = 0.2"), ("value = 0.7", "value = 0.9"), ("", "")):
        path.write_text(text.replace(old, new) if old else text)
        with Watch("models") as watch:
            check = check_models([str(path)], watcher=watch)[0]
        kept.append(watch.cached)
        assert check.passed == (new != "value = 0.9")
    assert kept == [0, 0, 0, 1]


def test_a_sweep_in_pieces_is_the_sweep_in_one(cache):
    model = load_model("response/zhou2019_figure6")
    whole = [(row.parameters, row.solution.value, row.measured) for row in run_sweep(model)]
    for _ in range(2):
        pieces = [(row.parameters, row.solution.value, row.measured) for row in sweep(model, jobs=2)]
        assert pieces == whole


def test_a_simulation_draws_the_same_however_its_points_are_run(cache):
    """On other processes too: those of the cluster below."""
    model = load_model(SIMULATED)
    found = [row.measured for row in sweep(model, jobs=2)]
    assert found == [row.measured for row in run_sweep(model)]
    assert len(found) > 1
    assert all(found)


def test_a_model_without_a_sweep_is_refused():
    with pytest.raises(ParameterError, match=r"has no \[sweep\]; add one"):
        sweep("response/zhou2019_survey")


def test_the_shell_says_what_came_from_an_earlier_run(cache, capsys):
    for expected in ("", "mechdesign: 3 of 3 models from an earlier run of the same code; --fresh"):
        assert main(["check", *QUICK]) == 0
        output, error = capsys.readouterr()
        assert "every verdict as recorded" in output
        assert error.startswith(expected)
        assert bool(error) == bool(expected)
    assert main(["check", *QUICK, "--fresh"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("option", "value"), [("--jobs", "0"), ("--dask", "tcp://127.0.0.1:9")])
def test_what_cannot_run_is_one_line(option, value, capsys):
    assert main(["check", *QUICK, option, value]) == 2
    output, error = capsys.readouterr()
    assert (output, error.count("\n")) == ("", 1)


POINTS = 150
"""Of the slow model: many that are short, so that a few are soon kept and most are still to come."""


def await_workers(cache):
    """Wait until other processes have kept a point: only later than ``ALONE`` seconds after the first one."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        times = sorted(path.stat().st_mtime for path in cache.glob("*/[!.]*"))
        if len(times) >= 4 and times[-1] - times[0] > 1.3 * ALONE:
            return
        time.sleep(0.05)
    raise AssertionError("no point of another process within a minute")


def slow_model(folder):
    """Write a model whose sweep takes long enough to be interrupted; return its path."""
    path = folder / "slow.toml"
    epsilons = [round(0.5 + 0.01 * number, 2) for number in range(POINTS)]
    path.write_text(
        '[model]\ntitle = "t"\nproblem = "mean-channel"\n[parameters]\nepsilon = 1.0\n'
        f"inputs = 21\noutputs = 21\n[sweep]\nepsilon = {epsilons}\n"
    )
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="signals of process groups are of Unix")
def test_an_interrupt_of_many_processes_is_clean_and_the_next_run_goes_on(cache, tmp_path):
    path = slow_model(tmp_path)
    command = [sys.executable, "-m", "mechdesign.cli", "sweep", str(path), "--jobs", "2"]
    with started(command, stderr=subprocess.PIPE, text=True) as run:
        await_workers(cache)
        os.killpg(run.pid, signal.SIGINT)
        error = run.communicate(timeout=60)[1]
    assert run.returncode == 130
    assert "Traceback" not in error, error
    kept = rf"\d+ of {POINTS} points are finished and kept; the same command resumes from there"
    assert re.fullmatch(f"mechdesign: interrupted; {kept}\n", error), error
    watch = Looking("points")
    with pytest.raises(StopIteration):
        sweep(load_model(path), jobs=1, watcher=watch)
    assert 4 <= watch.cached < POINTS


@pytest.mark.skipif(sys.platform == "win32", reason="signals of process groups are of Unix")
def test_impatience_is_no_traceback(cache, tmp_path):
    path = slow_model(tmp_path)
    command = [sys.executable, "-m", "mechdesign.cli", "sweep", str(path), "--jobs", "2"]
    with started(command, stderr=subprocess.PIPE, text=True) as run:
        await_workers(cache)
        for _ in range(12):  # the key is held down
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGINT)
            time.sleep(0.04)
        error = run.communicate(timeout=60)[1]
    assert run.returncode == 130, error
    assert "Traceback" not in error, error
    assert error.startswith("mechdesign: interrupted"), error
    assert error.count("\n") == 1, error


class Looking(Watch):
    """A watcher that looks at what was kept, and stops before anything is run."""

    def begin(self, total, kept):
        """Look, and stop."""
        super().begin(total, kept)
        raise StopIteration


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two processes, which the tests share."""
    distributed = pytest.importorskip("distributed", reason="needs the extra mechdesign[dask]")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=None
    ) as started:
        yield started


def test_a_cluster_does_the_work(cache, cluster):
    import distributed
    import joblib

    model = load_model(SIMULATED)
    with distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        assert os.getpid() not in run_tasks([Task("its process", "none", os.getpid, ())])
        found = check_models(QUICK)
        simulated = [row.measured for row in sweep(model)]
    assert [check.model.slug for check in found] == QUICK
    assert all(check.passed for check in found)
    assert simulated == [row.measured for row in run_sweep(model)]
    with Watch("models") as watch:
        check_models(QUICK, watcher=watch)
    assert watch.cached == len(QUICK), "what the cluster has done is kept here"


def test_the_shell_takes_the_address_of_a_scheduler(cache, capsys, cluster):
    assert main(["check", *QUICK, "--dask", cluster.scheduler_address]) == 0
    assert "every verdict as recorded" in capsys.readouterr().out
