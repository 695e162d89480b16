"""Work on a Dask cluster of real processes: the same as one process, whatever is killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from mechdesign.cli import main
from mechdesign.core.errors import DataError, MethodError, ParameterError
from mechdesign.primitives import KaryResponse
from mechdesign.work.parallel import connected, merge_pieces, run_pieces
from tests.support.whole_tables import write_columns

distributed: Any = pytest.importorskip("distributed")
FILES, ROWS = 6, 5_000
NAMES = ["Graz", "Linz", "Wien"]

# What a worker that is killed leaves to the garbage collector is none of these tests' business.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    ) as made:
        yield made


@pytest.fixture
def survey(tmp_path, monkeypatch):
    """A mechanism and a folder of reports."""
    monkeypatch.chdir(tmp_path)
    mechanism = KaryResponse.of(3, epsilon=2.0, labels=NAMES)
    mechanism.save("m.json")
    os.makedirs("people")
    for number in range(FILES):
        answers = np.random.default_rng(number).choice(NAMES, ROWS)
        write_columns(f"people/{number:02d}.parquet", {"city": answers})
    assert main(["randomize", "m.json", "people", "-o", "reports/", "--seed", "1"]) == 0
    assert main(["count", "m.json", "reports", "-o", "alone.json"]) == 0
    return mechanism


def add(shared: int, number: int, marker: str) -> int:
    """Kill this worker where a marker says so: once, or every time."""
    if marker and not os.path.exists(marker):
        if not marker.endswith("never"):
            Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if number < 0:
        raise DataError(f"piece {number}", "is negative", "give another one")
    return shared + number


def total(shared: int, *parts: int) -> int:
    return sum(parts)


def labels(count: int) -> list[str]:
    return [f"piece {number}" for number in range(count)]


def test_a_tree_on_workers_adds_up_and_a_killed_worker_changes_nothing(cluster, tmp_path):
    marker = str(tmp_path / "killed")
    work = [(number, marker if number == 13 else "") for number in range(20)]
    with distributed.Client(cluster) as client:
        found = merge_pieces(client, add, total, labels(20), work, 100)
        assert os.path.exists(marker), "a worker was killed"
        assert found == sum(range(20)) + 2000
        assert run_pieces(client, add, labels(3), [(number, "") for number in range(3)], 1) == [1, 2, 3]


def test_a_piece_that_kills_its_worker_again_and_again_ends_with_one_line(cluster, tmp_path, monkeypatch):
    """Dask blames whatever is at work on a worker that dies, so that another piece may be named."""
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 1)  # the default of 3 takes longer
    work = [(number, str(tmp_path / "never") if number == 2 else "") for number in range(4)]
    with distributed.Client(cluster) as client:
        with pytest.raises(
            MethodError, match=r"^piece [0-3]: this or another piece .* killed workers repeatedly"
        ):
            run_pieces(client, add, labels(4), work, 0)
        with pytest.raises(DataError, match=r"^piece -1: is negative; give another one$"):
            run_pieces(client, add, labels(2), [(1, ""), (-1, "")], 0)


def test_counts_from_a_cluster_are_those_of_one_process_while_workers_are_killed(cluster, survey, capsys):
    """A worker is killed while files are counted; the count file is the same, byte for byte."""
    killed: list[int] = []

    def kill() -> None:
        tasks = cluster.scheduler.tasks
        while not any(
            key.startswith("piece-") and task.state == "memory" for key, task in list(tasks.items())
        ):
            time.sleep(0.001)
        killed.append(next(iter(cluster.workers.values())).process.pid)
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    assert main(["count", "m.json", "reports", "-o", "c.json", "--dask", cluster.scheduler_address]) == 0
    thread.join()
    assert killed
    assert Path("c.json").read_bytes() == Path("alone.json").read_bytes()
    capsys.readouterr()
    for words in (["reports"], ["reports", "--dask", cluster.scheduler_address]):
        assert main(["estimate", "m.json", *words, "--json"]) == 0
    first, second = capsys.readouterr().out.strip().split("\n}\n{")
    assert first.strip("{}\n") == second.strip("{}\n")


def test_reports_from_a_cluster_are_those_of_one_process(cluster, survey, capsys):
    address = cluster.scheduler_address
    assert main(["randomize", "m.json", "people", "-o", "there/", "--seed", "1", "--dask", address]) == 0
    assert f"there/: {FILES * ROWS} rows of 'city__m" in capsys.readouterr().out
    for path in Path("reports").iterdir():
        assert (Path("there") / path.name).read_bytes() == path.read_bytes()
    write_columns("people/99.csv", {"city": np.array(["Wien", "Bern"])})
    assert main(["randomize", "m.json", "people", "-o", "no/", "--dask", address]) == 2
    assert "people/99.csv: column 'city': answers: row 2: " in capsys.readouterr().err
    assert not Path("no").exists()
    assert main(["randomize", "m.json", "people", "-o", "no.csv", "--dask", address]) == 2
    assert "--dask: workers write a file each; name a folder: -o reports/" in capsys.readouterr().err


def test_a_cluster_that_is_not_there_is_one_line_at_once(survey, capsys):
    start = time.monotonic()
    for address, what in (
        ("tcp://127.0.0.1:9", "no scheduler answers there (Connection refused); check the address"),
        ("nowhere", "is not an address of a scheduler; give one such as tcp://host:8786, or local"),
        ("tcp://127.0.0.1:99999", "is not an address of a scheduler"),
    ):
        assert main(["count", "m.json", "reports", "-o", "c.json", "--dask", address]) == 2
        line = capsys.readouterr().err
        assert f"mechdesign: --dask {address}: {what}" in line
        assert line.count("\n") == 1
    assert time.monotonic() - start < 10
    assert not Path("c.json").exists()


def test_without_distributed_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with (
        pytest.raises(ParameterError, match=r"^--dask: needs distributed; pip install 'mechdesign\[dask\]'$"),
        connected("local"),
    ):
        pass


def test_a_data_frame_of_dask_is_counted_where_it_is(cluster):
    frames = pytest.importorskip("dask.dataframe")
    mechanism = KaryResponse.of(3, epsilon=2.0, labels=NAMES)
    answers = pandas.DataFrame({"city": np.random.default_rng(1).choice(NAMES, 5000)})
    reports = mechanism.run("randomize", answers, rng=1)
    whole, parts = mechanism.aggregator(), mechanism.aggregator()
    whole.update(reports)
    with distributed.Client(cluster):
        parts.update(frames.from_pandas(reports, npartitions=11))
        estimate = mechanism.estimate(frames.from_pandas(reports, npartitions=2))
    assert parts.as_json() == whole.as_json()
    assert str(parts.estimate()) == str(whole.estimate()) == str(estimate)
    assert estimate.question == "city"


def test_two_local_clusters_run_side_by_side():
    with connected("local", 1) as first, connected("local", 1) as second:
        assert first.scheduler.address != second.scheduler.address


def test_processes_that_do_not_start_are_one_line(survey, monkeypatch, capsys):
    def failing(**_: object) -> None:
        raise RuntimeError("Nanny failed to start.\n  many more lines")

    monkeypatch.setattr(distributed, "LocalCluster", failing)
    assert main(["count", "m.json", "reports", "--dask", "local", "-o", "far.json"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        "mechdesign: --dask local: the processes on this machine did not start (Nanny failed"
    )
    assert said.count("\n") == 1
