"""The files of a survey: nothing is lost or doubled, and nothing joins tokens and reports, at any moment."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import resource
import secrets
import signal
import stat
import time
from datetime import date, datetime, timedelta
from itertools import combinations

import pytest

from mechdesign.core.errors import DataError
from mechdesign.serve import pool as pool_module
from mechdesign.serve.pool import HEAD, Post, ReportPool

SURVEY = "f" * 64


OPEN = []


@pytest.fixture(autouse=True)
def closed():
    """Close what a test has opened."""
    yield
    while OPEN:
        OPEN.pop().close()


def opened(folder, tokens=()):
    pool = ReportPool(folder, SURVEY)
    OPEN.append(pool)
    if tokens:
        pool.add_tokens(tokens)
    return pool


def number(value):
    return hashlib.sha256(b"%d" % value).digest()[:16]


def lines(pool):
    return sorted(json.dumps(row) for rows in pool.messages() for row in rows)


def test_a_number_that_repeats_is_stored_once_and_with_something_else_refused(tmp_path):
    pool = opened(tmp_path, ["a", "b", "c"])
    rows = [{"a": 1}]
    assert pool.take("a", rows, number(1)) == 204
    assert pool.take("a", [{"a": 2}], number(1)) == 409
    assert [pool.take("a", rows, number(1)) for _ in range(3)] == [204] * 3
    assert pool.take("a", rows, number(9)) == 409
    assert pool.take("b", rows, number(2)) == 204
    assert pool.take("b", rows, number(1)) == 409  # what another one sent, with its number
    assert pool.take("c", rows, number(1)) == 204  # a report of its own
    assert pool.take("unknown", rows, number(3)) == 403
    assert (pool.count, pool.token_count, pool.used_count) == (3, 3, 3)
    pool.close()
    assert number(1) not in pool.reports.read_bytes()
    content = pool.tokens.read_bytes()
    pool.tokens.write_bytes(content.replace(b"+", b"-"))  # as a kill leaves it before the marks
    pool = opened(tmp_path)
    assert pool.used_count == 0
    assert pool.take("a", [{"a": 2}], number(1)) == 409
    assert pool.take("a", rows, number(1)) == 204
    assert pool.take("a", rows, number(8)) == 409
    assert pool.count == 3


def test_an_open_survey_takes_each_number_once(tmp_path):
    pool = opened(tmp_path)
    assert [pool.take(None, [{"a": 1}], number(place % 3)) for place in range(6)] == [204] * 6
    assert pool.take(None, [{"a": 2}], number(0)) == 409
    pool.close()
    pool = opened(tmp_path)
    assert pool.take(None, [{"a": 1}], number(1)) == 204
    assert pool.count == 3


def test_numbers_that_repeat_within_a_group_lose_nothing(tmp_path):
    pool = opened(tmp_path, ["a", "b"])
    group = [
        Post(pool_module._hashed(token), text, pool_module._key(token, number(1)))
        for token, text in [("a", b"[1]"), ("b", b"[2]"), ("a", b"[2]"), ("a", b"[1]")]
    ]
    pool._write(group)
    assert [post.status.result() for post in group] == [204, 204, 409, 204]
    assert pool.count == 2


def test_reports_longer_than_their_places_and_more_than_places(tmp_path, monkeypatch):
    monkeypatch.setattr(pool_module, "FEWEST", 4)
    pool = opened(tmp_path)
    reports = [[{"a": "x" * (3000 if place == 5 else place)}] for place in range(30)]
    assert [pool.take(None, rows, number(place)) for place, rows in enumerate(reports)] == [204] * 30
    assert lines(pool) == sorted(json.dumps(*rows) for rows in reports)
    pool.close()
    assert lines(opened(tmp_path)) == sorted(json.dumps(*rows) for rows in reports)


def test_tokens_that_are_added_later_leave_reports_and_marks_as_they_are(tmp_path):
    pool = opened(tmp_path, ["a", "b"])
    assert pool.take("a", [{"a": 1}], number(1)) == 204
    many = [f"more-{place}" for place in range(3000)]
    pool.add_tokens(many)
    assert pool.take("a", [{"a": 1}], number(2)) == 409
    statuses = [pool.post(token, [{"a": 2}], number(place)) for place, token in enumerate(many)]
    assert {each.result() for each in statuses} == {204}
    assert (pool.count, pool.token_count, pool.used_count) == (3001, 3002, 3001)


def test_ten_thousand_tokens_take_no_time(tmp_path):
    tokens = [secrets.token_urlsafe(16) for _ in range(10_000)]
    begin = time.process_time()
    pool = opened(tmp_path, tokens)
    pool.close()
    opened(tmp_path).close()
    assert time.process_time() - begin < 1.5


# What is there after any failure


@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_after_any_failure_the_same_report_is_sent_again_and_counts_once(tmp_path, monkeypatch, name, capsys):
    pool = opened(tmp_path, ["a", "b"])
    rows = [{"a": "x" * (3000 if name == "replace" else 3)}]

    def fail(*_):
        raise RuntimeError("any error")

    monkeypatch.setattr(pool_module.os, name, fail)
    assert [pool.take("a", rows, number(1)) for _ in range(2)] == [500, 500]
    monkeypatch.undo()
    assert pool.take("a", rows, number(1)) == 204
    assert pool.take("b", rows, number(2)) == 204
    assert lines(pool) == [json.dumps(*rows)] * 2
    assert all(line.startswith("a report was not stored: ") for line in capsys.readouterr().err.splitlines())


def test_a_disk_that_is_full_ends_nothing(tmp_path, monkeypatch, capsys):
    pool = opened(tmp_path, ["a", "b"])

    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pool_module, "_whole_part", full)
    long = [{"a": "x" * 3000}]
    assert pool.take("a", long, number(1)) == 500  # the file would have to grow
    assert pool.take("b", [{"a": 1}], number(2)) == 204
    monkeypatch.undo()
    assert pool.take("a", long, number(1)) == 500  # tried again after a pause only
    pool._no_room_until = 0.0
    assert pool.take("a", long, number(1)) == 204
    assert lines(pool) == sorted(map(json.dumps, [*long, {"a": 1}]))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("a report was not stored: ")


def test_a_file_that_may_not_grow_leaves_no_part(tmp_path):
    pool = opened(tmp_path, ["a", "b"])
    size = pool.reports.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        assert pool.take("a", [{"a": "x" * 3000}], number(1)) == 500
        assert pool.take("b", [{"a": 1}], number(2)) == 204  # room for all reports was taken at the start
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert not list(tmp_path.glob("*.part"))
    pool._no_room_until = 0.0
    assert pool.take("a", [{"a": "x" * 3000}], number(1)) == 204


def test_a_torn_report_is_not_read_and_its_place_is_used_again(tmp_path):
    pool = opened(tmp_path, ["a", "b"])
    assert pool.take("a", [{"a": 1}], number(1)) == 204
    pool.close()
    content = pool.reports.read_bytes()
    place = content.index(b'[{"a": 1}]')
    pool.reports.write_bytes(content[: place + 4] + b"\0" * 6 + content[place + 10 :])
    pool = opened(tmp_path)
    assert (lines(pool), len(pool._free)) == ([], pool._places)


HEADS = [b"", b"\xff" * 600, b"[" * 600, b"[]"]
HEADS += [
    json.dumps({"format": "mechdesign-reports", "version": 1, "survey": SURVEY, "size": size})
    .encode()
    .ljust(700)
    for size in (0, 256)
]


@pytest.mark.parametrize("content", HEADS)
def test_a_damaged_file_of_reports_is_refused(tmp_path, content):
    (tmp_path / "reports.bin").write_bytes(content)
    with pytest.raises(DataError, match=r"reports\.bin: is damaged; take it from a copy"):
        opened(tmp_path)


@pytest.mark.parametrize("content", [b"x", b"\xff\n", b"0" * 64 + b" *\n", b"0" * 64 + b" +"])
def test_a_damaged_file_of_tokens_is_refused(tmp_path, content):
    (tmp_path / "used_tokens.txt").write_bytes(content)
    with pytest.raises(DataError, match=r"used_tokens\.txt: is damaged"):
        opened(tmp_path)


def test_reports_of_another_survey_are_refused(tmp_path):
    opened(tmp_path).close()
    with pytest.raises(DataError, match="holds reports of another mechanism or survey"):
        ReportPool(tmp_path, "e" * 64)


# What the bytes say


class Watched:
    """A file of which every write is followed by a look at all bytes, as a kill then leaves them."""

    def __init__(self, file, look):
        self.file, self.look = file, look

    def write(self, data):
        written = self.file.write(data)
        self.look()
        return written

    def __getattr__(self, name):
        return getattr(self.file, name)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def places_of(content):
    """Return the places of the reports by what they say; every free place is empty."""
    size = json.loads(content[:HEAD])["size"]
    places = {}
    for place in range((len(content) - HEAD) // size):
        record = content[HEAD + place * size :][:size]
        if any(record):
            (row,) = json.loads(record[36:].rstrip(b"\0"))
            places[row["who"]] = place
    return places


def test_the_bytes_join_nothing_after_every_write(tmp_path, monkeypatch):
    """A report is its sender's number here, so that a joined pair would be recognized."""
    tokens = [secrets.token_urlsafe(16) for _ in range(40)]
    pool = opened(tmp_path, tokens)
    moments = []

    def look(*_):
        moments.append(contents(tmp_path))

    pool._file, pool._marks = Watched(pool._file, look), Watched(pool._marks, look)
    replace = os.replace
    monkeypatch.setattr(pool_module.os, "replace", lambda *words: (look(), replace(*words), look()))
    order = random.Random(3).sample(range(40), 40)
    for place in order[:30]:
        assert pool.take(tokens[place], [{"who": place}], number(place)) == 204
    pool._write_again(512, 400)
    pool._file = Watched(pool._file, look)
    for place in order[30:]:
        assert pool.take(tokens[place], [{"who": place}], number(place)) == 204
    assert len(moments) > 80
    names = [hashlib.sha256(token.encode()).hexdigest() for token in tokens]
    for files in moments:
        assert set(files) <= {"reports.bin", "used_tokens.txt", "reports.part"}  # no journal, no log
        everything = b"".join(files.values())
        assert not any(token.encode() in everything for token in tokens)
        assert not any(number(place) in everything for place in range(40))
        assert not any(bytes.fromhex(name)[:8] in files["reports.bin"] for name in names)
        marks = files["used_tokens.txt"].decode().splitlines()
        assert [line[:64] for line in marks] == sorted(names)
        used = [name for name in names if f"{name} +" in marks]
        assert len(used) <= len(places_of(files["reports.bin"])) <= len(used) + 1
    times = [path.stat().st_mtime for path in (pool.reports, pool.tokens)]
    assert times == [datetime.combine(date.today(), datetime.min.time()).timestamp()] * 2


def test_places_tell_neither_order_nor_token(tmp_path):
    """Places against the order of arrival and of tokens: 400 reports; a false alarm once in 10^5 runs."""
    tokens = [secrets.token_urlsafe(16) for _ in range(400)]
    pool = opened(tmp_path, tokens)
    for place, token in enumerate(tokens):
        assert pool.take(token, [{"who": place}], number(place)) == 204
    pool.close()
    places = places_of(pool.reports.read_bytes())
    ranks = {hashlib.sha256(token.encode()).hexdigest(): place for place, token in enumerate(tokens)}
    by_token = [places[ranks[line[:64]]] for line in pool.tokens.read_text().splitlines()]
    for order in ([places[who] for who in range(400)], by_token):
        same = [first < second for first, second in combinations(order, 2)]
        # the share of pairs in order has the standard deviation sqrt((2 n + 5) / (18 n (n - 1))) = 0.0167
        assert abs(sum(same) / len(same) - 0.5) < 4.5 * 0.0167


def test_what_a_new_file_replaces_is_overwritten(tmp_path):
    pool = opened(tmp_path, ["a", "b"])
    assert pool.take("a", [{"who": 7}], number(1)) == 204
    with pool.reports.open("rb") as reports, pool.tokens.open("rb") as tokens:
        pool.add_tokens([f"more-{place}" for place in range(3000)])
        assert not any(reports.read())
        assert not any(tokens.read())
    (tmp_path / "reports.part").write_bytes(b"[1]" * 100)
    with (tmp_path / "reports.part").open("rb") as part:
        pool.close()
        pool = opened(tmp_path)
        assert not any(part.read())
    assert not (tmp_path / "reports.part").exists()
    assert places_of(pool.reports.read_bytes()).keys() == {7}


def test_a_time_that_a_kill_left_is_hidden_at_the_next_start(tmp_path):
    """Also that of the folder, which changes when a file is written again."""
    pool = opened(tmp_path, ["a"])
    assert pool.take("a", [{"who": 7}], number(1)) == 204
    pool.close()
    yesterday = datetime.combine(date.today() - timedelta(days=1), datetime.min.time())
    for path in (pool.reports, pool.tokens):
        os.utime(path, (0, (yesterday + timedelta(hours=9)).timestamp()))
    pool = opened(tmp_path)
    assert pool.last_day == yesterday.date()
    assert [path.stat().st_mtime for path in (pool.reports, pool.tokens)] == [yesterday.timestamp()] * 2
    os.utime(tmp_path, (0, 1))
    pool._write_again(512, 2000)
    assert tmp_path.stat().st_mtime == datetime.combine(date.today(), datetime.min.time()).timestamp()


def test_files_are_for_their_owner_alone(tmp_path):
    pool = opened(tmp_path, ["a"])
    assert pool.take("a", [{"who": 7}], number(1)) == 204
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
