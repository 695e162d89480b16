"""The files of the survey server: nothing is lost or doubled, and nothing joins tokens and reports."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import random
import resource
import runpy
import secrets
import signal
import socket
import stat
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import pytest

from mechdesign.collect import KaryResponse
from mechdesign.core.errors import DataError
from tests.export.test_survey_server import KEY, SERVER, Running, message

MANY = KaryResponse.of(4000, 1.0)
"""A report is its sender's number here, so a report that is joined with its token is recognized."""

(COLUMN,) = MANY.recipe().columns


def started(folder, tokens):
    pytest.importorskip("starlette", reason="no starlette here: pip install mechdesign[server]")
    pytest.importorskip("uvicorn", reason="no uvicorn here: pip install mechdesign[server]")
    return Running(folder, MANY, tokens)


@pytest.fixture(scope="module")
def store_module():
    spec = importlib.util.spec_from_file_location("survey_server_store", SERVER.with_name("store.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def post(running, document):
    """Return the status of a post; None where the server was ended before it answered."""
    try:
        return running.post(document)
    except OSError:
        return None


def loaded_and_killed(running, documents, wanted, arrived):
    """Post at once, end the server at a random moment, and return what was not answered."""
    with ThreadPoolExecutor(16) as pool:
        futures = {}
        for document in documents:
            futures[pool.submit(post, running, document)] = document
        while sum(each.done() for each in futures) < wanted:
            time.sleep(0.001)
        running.kill()
        left = []
        for future, document in futures.items():
            if future.result() == 204:
                arrived.append(document["rows"][0][COLUMN])
            else:
                left.append(document)
    return left


def test_kills_lose_and_double_nothing_and_the_bytes_join_nothing(tmp_path):
    rng = random.Random(5)
    tokens = [secrets.token_urlsafe(16) for _ in range(600)]
    documents = [
        {**message(MANY, [{COLUMN: number}], token), "retry": secrets.token_hex(16)}
        for number, token in enumerate(tokens)
    ]
    running, arrived = started(tmp_path, tokens), []
    left = documents
    for turn in range(3):
        left = loaded_and_killed(running, left, rng.randrange(100, 150), arrived)
        attack(running.folder / "received", documents, arrived)
        if turn < 2:
            running.start()
    running.start()
    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(running.post, documents)) == {204}  # the same reports again, and the late ones
    lines = running.get("/reports.jsonl", KEY)[1].splitlines()
    assert sorted(json.loads(line)[COLUMN] for line in lines) == list(range(600))
    another = {**documents[3], "retry": secrets.token_hex(16)}
    assert running.post(another) == 409
    running.kill()
    assert running.said == []


def attack(folder, documents, arrived):
    """Read every byte that is there, as somebody does who takes the disk after a kill."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(files) == {"lock", "reports.bin", "used_tokens.txt"}  # no journal, no log
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    everything = b"".join(files.values())
    assert not any(document["token"].encode() in everything for document in documents)
    names = files["used_tokens.txt"].decode().split()[::2]
    assert names == sorted(names)  # by their digests: where a token stands does not say when it was used
    assert not any(name.encode() in files["reports.bin"] for name in names)
    used = files["used_tokens.txt"].decode().split()[1::2].count("+")
    assert set(files["used_tokens.txt"].decode().split()[1::2]) <= {"+", "-"}
    size = json.loads(files["reports.bin"][:512])["size"]
    places = {}
    for start in range(512, len(files["reports.bin"]), size):
        record = files["reports.bin"][start : start + size]
        if any(record):
            places[json.loads(record[36:].rstrip(b"\0"))[0][COLUMN]] = start
    assert used <= len(places) <= used + 16  # of each of 16 connections one may not be answered
    order = [places[number] for number in arrived]
    same = [first < second for first, second in combinations(order, 2)]
    assert 0.35 < sum(same) / len(same) < 0.65, "reports stand in the order in which they came"


def test_the_number_of_a_page_makes_a_second_post_harmless(tmp_path):
    running = started(tmp_path, ["a", "b"])
    try:
        said = {**message(MANY, [{COLUMN: 7}], "a"), "retry": "0" * 32}
        assert [running.post(said) for _ in range(3)] == [204, 204, 204]
        assert running.post({**said, "retry": "1" * 32}) == 409
        assert running.post({**said, "retry": 5}) == 400
        assert running.post(message(MANY, [{COLUMN: 8}], "b")) == 204
        assert running.post(message(MANY, [{COLUMN: 8}], "b")) == 409
        assert json.loads(running.get("/counts", KEY)[1])["reports"] == 2
    finally:
        running.kill()


def test_a_client_that_leaves_is_one_line(tmp_path):
    running = started(tmp_path, ["a"])
    head = b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + b"{" * 10
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", running.port)) as client:
            client.sendall(head)
            time.sleep(0.02)
    time.sleep(0.3)
    assert running.get("/")[0] == 200
    running.process.send_signal(signal.SIGINT)
    running.kill()
    lost = [line for line in running.said if "a client left" in line]
    assert 1 <= len(lost) <= 5
    assert not any("Traceback" in line for line in running.said[:5])


def test_ten_thousand_tokens_take_no_time_and_a_store_goes_on(store_module, tmp_path):
    tokens = [secrets.token_urlsafe(16) for _ in range(10_000)]
    begin = time.process_time()
    store = store_module.Store(tmp_path / "kept")
    store.open("f" * 64, tokens)
    assert time.process_time() - begin < 2.0
    assert store.take(tokens[0], [{"a": 1}]) == 204
    assert store.take("unknown", [{"a": 1}]) == 403
    with pytest.raises(DataError, match="another server uses it"):
        store_module.Store(tmp_path / "kept").open("f" * 64, tokens)


def test_a_report_longer_than_its_place_and_more_reports_than_places(store_module, tmp_path):
    store = store_module.Store(tmp_path / "kept")
    store.open("f" * 64, ["a", "b", "c"])
    long = [{"a": "x" * 3000}]
    assert store.take("a", [{"a": 1}]) == 204
    assert store.take("b", long) == 204
    assert store.take("c", [{"a": 2}]) == 204
    assert sorted(store.lines()) == sorted(map(json.dumps, [{"a": 1}, *long, {"a": 2}]))
    store.free.clear()  # as when a crash has left reports without a mark
    store.used[store_module._hashed("a")] = False
    assert store.take("a", [{"a": 3}]) == 204
    assert len(store.lines()) == 4


def reopened(store_module, store, tokens):
    os.close(store.lock)
    again = store_module.Store(store.folder)
    again.open("f" * 64, tokens)
    return again


def test_a_disk_that_is_full_ends_nothing(store_module, tmp_path, monkeypatch, capsys):
    store = store_module.Store(tmp_path / "kept")
    store.open("f" * 64, ["a", "b", "c"])
    part = store._part
    monkeypatch.setattr(store, "_part", lambda *_: part(tmp_path / "none" / "reports.bin", b""))
    long = [{"a": "x" * 3000}]
    assert store.take("a", long, b"1" * 16) == 500  # the file would have to grow
    assert store.take("b", [{"a": 1}], b"2" * 16) == 204
    monkeypatch.undo()
    assert store.take("a", long, b"1" * 16) == 204
    assert sorted(store.lines()) == sorted(map(json.dumps, [*long, {"a": 1}]))
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("a report was not stored: ")


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_after_any_failure_the_same_report_is_sent_again_and_counts_once(
    store_module, tmp_path, monkeypatch, name
):
    store = store_module.Store(tmp_path / "kept")
    store.open("f" * 64, ["a", "b"])
    rows = [{"a": "x" * (3000 if name == "replace" else 3)}]

    def fail(*_):
        raise RuntimeError("any error")

    monkeypatch.setattr(store_module.os, name, fail)
    assert [store.take("a", rows, b"1" * 16) for _ in range(2)] == [500, 500]
    monkeypatch.undo()
    assert store.take("a", rows, b"1" * 16) == 204
    assert store.take("b", rows, b"2" * 16) == 204
    assert store.lines() == [json.dumps(*rows)] * 2


def test_a_file_that_may_not_grow_leaves_no_part(store_module, tmp_path):
    store = store_module.Store(tmp_path / "kept")
    store.open("f" * 64, ["a", "b"])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
        assert store.take("a", [{"a": "x" * 3000}]) == 500
        assert store.take("b", [{"a": 1}]) == 204
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert not list(store.folder.glob("*.part"))
    assert store.take("a", [{"a": "x" * 3000}]) == 204


def test_a_number_that_repeats_with_something_else_is_refused(store_module, tmp_path):
    store = store_module.Store(tmp_path / "kept")
    store.open("f" * 64, ["a", "b", "c"])
    number, rows = b"1" * 16, [{"a": 1}]
    assert store.take("a", rows, number) == 204
    assert store.take("a", [{"a": 2}], number) == 409
    assert store.take("a", rows, number) == 204
    assert store.take("b", rows, b"2" * 16) == 204
    assert store.take("b", rows, number) == 409  # what another one sent, with its number
    assert store.take("c", rows, number) == 204  # a report of its own
    assert len(store.lines()) == 3
    assert number not in store.reports.read_bytes()
    path = store.tokens
    path.write_bytes(path.read_bytes().replace(b"+", b"-"))  # as a kill leaves it before the marks
    store = reopened(store_module, store, ["a", "b", "c"])
    assert store.take("a", [{"a": 2}], number) == 409
    assert store.take("a", rows, number) == 204
    assert len(store.lines()) == 3


def test_a_token_that_is_removed_from_the_list_answers_no_more(store_module, tmp_path):
    store = store_module.Store(tmp_path / "kept")
    store.open("f" * 64, ["a", "b", "c"])
    number, rows = b"1" * 16, [{"a": 1}]
    assert store.take("a", rows, number) == 204
    store = reopened(store_module, store, ["c"])
    assert store.take("b", rows) == 403
    assert [store.take("a", rows, number), store.take("a", rows)] == [204, 409]  # its report is kept
    store = reopened(store_module, store, ["a", "b", "c"])
    assert [store.take("a", rows), store.take("b", rows)] == [409, 204]


def test_numbers_that_repeat_within_a_group_lose_nothing(store_module, tmp_path):
    store = store_module.Store(tmp_path / "kept")
    store.open("f" * 64, ["a", "b"])
    told = [("a", b"[1]"), ("b", b"[2]"), ("a", b"[2]"), ("a", b"[1]")]
    group = [
        store_module.Post(store_module._hashed(token), text, store_module._key(token, b"1" * 16))
        for token, text in told
    ]
    store._write(group)
    assert [post.status.result() for post in group] == [204, 204, 409, 204]
    assert len(store.lines()) == 2


def test_a_torn_report_is_not_read(store_module, tmp_path):
    store = store_module.Store(tmp_path / "kept")
    store.open("f" * 64, ["a", "b"])
    assert store.take("a", [{"a": 1}]) == 204
    content = store.reports.read_bytes()
    place = content.index(b'[{"a": 1}]')
    store.reports.write_bytes(content[: place + 4] + b"\0" * 6 + content[place + 10 :])
    assert store.lines() == []


def test_reports_of_another_mechanism_are_refused(store_module, tmp_path):
    first = store_module.Store(tmp_path / "kept")
    first.open("f" * 64, ["a"])
    os.close(first.lock)
    with pytest.raises(DataError, match="holds reports of another mechanism"):
        store_module.Store(tmp_path / "kept").open("e" * 64, ["a"])


@pytest.fixture
def in_its_folder(monkeypatch):
    """Import the modules of the example as the script does, and forget them after that."""
    monkeypatch.syspath_prepend(str(SERVER.parent))
    mask = os.umask(0o077)
    yield
    os.umask(mask)
    for name in ("store", "web"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("in_its_folder")
def test_without_the_extra_it_is_one_line(monkeypatch, capsys):
    command = ["server.py", "serve", "m.json", "--tokens", "t", "--key-file", "k"]
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SERVER), run_name="__main__")
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "server.py: serve: needs uvicorn; install mechdesign[server]\n"
    monkeypatch.setattr(sys, "argv", ["server.py", "tokens", "5"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SERVER), run_name="__main__")
    assert ended.value.code == 0
    assert len(set(capsys.readouterr().out.split())) == 5


HEAD = b'{"format": "mechdesign-reports", "version": 1, "survey": "", "size": %s}'


@pytest.mark.usefixtures("in_its_folder")
@pytest.mark.parametrize(
    ("words", "files", "text"),
    [
        (["tokens", "-5"], {}, "server.py: tokens: -5 is not a number of tokens; give 1 or more"),
        (["serve", "--folder", "a/b/c"], {}, "server.py: a/b/c: cannot be used as a folder (No such file"),
        (["serve", "--folder", "t"], {}, "server.py: t: cannot be used as a folder (File exists"),
        (["serve", "--port", "99999"], {}, "server.py: --port: 99999 is not from 0 to 65535"),
        (["serve"], {"t": b"good bad.token"}, "server.py: t: token 2 is not made of"),
        *[
            (words, {"received/reports.bin": content}, "server.py: received/reports.bin: is damaged")
            for words in (["serve"], ["reports"])
            for content in (b"", b"\xff" * 600, b"[" * 600, b"[]", HEAD % b"0", (HEAD % b"256").ljust(700))
        ],
        *[
            (
                ["serve"],
                {"received/used_tokens.txt": content},
                "server.py: received/used_tokens.txt: is damaged",
            )
            for content in (b"x", b"\xff\n", b"0" * 64 + b" *\n", b"0" * 64 + b" +")
        ],
    ],
)
def test_what_is_wrong_is_one_line(words, files, text, tmp_path, monkeypatch, capsys):
    pytest.importorskip("starlette", reason="no starlette here: pip install mechdesign[server]")
    pytest.importorskip("uvicorn", reason="no uvicorn here: pip install mechdesign[server]")
    monkeypatch.chdir(tmp_path)
    MANY.save("m.json")
    for name, content in {"t": b"good", "k": KEY.encode(), **files}.items():
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        (tmp_path / name).write_bytes(content)
    needed = ["m.json", "--tokens", "t", "--key-file", "k"] if words[0] == "serve" else []
    monkeypatch.setattr(sys, "argv", ["server.py", *words, *needed])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SERVER), run_name="__main__")
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(text)
    assert said.err.count("\n") == 1


@pytest.mark.usefixtures("in_its_folder")
def test_a_message_that_does_not_end_is_answered(monkeypatch):
    pytest.importorskip("starlette", reason="no starlette here: pip install mechdesign[server]")
    import web  # of the example
    from starlette.requests import Request

    monkeypatch.setattr(web, "MOST_SECONDS", 0.05)

    async def receive():
        await asyncio.sleep(30)

    answer = asyncio.run(web.body_of(Request({"type": "http", "headers": []}, receive)))
    assert answer.status_code == 408
