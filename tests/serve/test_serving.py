"""The command as a process: two thousand reports with kills, clients that leave, three servers."""

from __future__ import annotations

import hashlib
import json
import random
import re
import secrets
import signal
import socket
import stat
import threading
import time
from itertools import combinations
from pathlib import Path

import pytest

from mechdesign.cli import main
from mechdesign.primitives import KaryResponse
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium, wait
from tests.support.serving import KEY, Running, free_port, message, posted, require_packages

require_packages()

from mechdesign.serve import Place  # noqa: E402 (needs the packages)

MANY = KaryResponse.of(4000, 1.0).described("Many", "Who?", id="many-2026")
"""A report is its sender's number here, so a report that is joined with its token is recognized."""

(COLUMN,) = MANY.recipe().columns
SMALL = KaryResponse.of(3, 2.0).described("Mood", "How?", id="mood-2026")
(MOOD,) = SMALL.recipe().columns


def prepared(folder, mechanism=MANY, tokens=0, slug="many"):
    """Make a survey that collects, and return its tokens."""
    with Place(folder) as place:
        survey = place.adopt(mechanism, slug)
        survey.change(access="tokens" if tokens else "open")
        made = survey.tokens.make(tokens) if tokens else []
        survey.begin()
    return made


def reports(folder, slug="many"):
    with Place(folder) as place:
        survey = place.survey(slug)
        return survey.reports(), survey.count_by_day(), survey.tokens.used


def test_two_thousand_reports_over_fifty_connections_with_kills(tmp_path):
    folder, rng = tmp_path / "place", random.Random(5)
    tokens = prepared(folder, tokens=2000)
    documents = [
        message(MANY, [{COLUMN: place}], rng.getrandbits(128), each) for place, each in enumerate(tokens)
    ]
    running, arrived, left = Running(folder), [], list(range(2000))
    for _ in range(2):
        stop = rng.randrange(150, 400)
        statuses = killed_while_posting(running, documents, left, stop)
        arrived += [place for place in left if statuses.get(place) == 204]
        left = [place for place in left if statuses.get(place) != 204]
        assert set(statuses.values()) <= {204, None}
        attack(folder, tokens, arrived)
        running.start()
    replays = [*left, *rng.sample(arrived, 200)]
    before = running.memory()
    statuses = posted(running, "many", [documents[place] for place in replays], 50)
    assert set(statuses.values()) == {204}
    others = [{**documents[place], "retry": secrets.token_hex(16)} for place in range(100)]
    assert set(posted(running, "many", others, 50).values()) == {409}
    assert running.memory() - before < 12  # MiB
    assert running.end() == 0
    assert [line for line in running.lines if not line.startswith(("owner:", "respondents:"))] == []
    messages, days, used = reports(folder)
    assert sorted(row[COLUMN] for (row,) in messages) == list(range(2000))
    assert [row[COLUMN] for (row,) in messages] != sorted(row[COLUMN] for (row,) in messages)
    assert (sum(days.values()), used) == (2000, 2000)


def killed_while_posting(running, documents, places, stop):
    """Post over 50 connections, end the server hard after so many answers, and return the statuses."""
    statuses = {}

    def kill():
        while len(statuses) < stop:
            time.sleep(0.0005)
        running.end(signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    posted(running, "many", [documents[place] for place in places], 50, statuses)
    killer.join()
    return {places[turn]: status for turn, status in statuses.items()}


KNOWN = {"lock", "surveys.sqlite", "surveys.sqlite-journal", "survey.json", "reports.bin", "used_tokens.txt"}


def attack(folder, tokens, arrived):
    """Read every byte that is there, as somebody does who takes the disk after a kill."""
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    assert {path.split("/")[-1] for path in files} <= KNOWN
    for path in folder.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    everything = b"".join(files.values())
    names = {hashlib.sha256(each.encode()).hexdigest(): each for each in tokens}
    database = b"".join(content for path, content in files.items() if "sqlite" in path)
    assert not any(tokens[place].encode() in everything for place in arrived[:100])
    assert not any(name.encode() in database or bytes.fromhex(name)[:8] in database for name in names)
    assert COLUMN.encode() not in database  # no report, in whatever form
    marks = files["many/used_tokens.txt"].decode().splitlines()
    assert [line[:64] for line in marks] == sorted(names)
    used = sum(line.endswith("+") for line in marks)
    places = {}
    content = files["many/reports.bin"]
    size = json.loads(content[:512])["size"]
    for start in range(512, len(content), size):
        record = content[start : start + size]
        if any(record):
            places[json.loads(record[36:].rstrip(b"\0"))[0][COLUMN]] = start
    assert len(arrived) <= len(places)
    assert used <= len(places) <= used + 50  # of each connection one may not be answered
    order = [places[number] for number in arrived[:500]]
    same = [first < second for first, second in combinations(order, 2)]
    assert 0.4 < sum(same) / len(same) < 0.6, "reports stand in the order in which they came"


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serving") / "place"
    tokens = prepared(folder, SMALL, 10, "mood")
    server = Running(folder)
    server.tokens = tokens
    yield server
    assert server.end() == 0


def test_a_client_that_leaves_is_one_line(running):
    head = b"POST /s/mood/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + b"{" * 10
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", running.port)) as client:
            client.sendall(head)
    for _ in range(100):
        lost = [line for line in running.lines if "a client left" in line]
        if len(lost) == 20:
            break
        time.sleep(0.02)
    assert len(lost) == 20
    assert not any("Traceback" in line for line in running.lines)


def test_what_is_too_long_or_no_report_is_refused_and_not_logged(running):
    logged = len(running.lines)
    good = message(SMALL, [{MOOD: 1}], 1, running.tokens[0])
    assert running.post("mood", {**good, "token": "unknown"}) == 403
    assert running.post("none", good) == 404
    for wrong in (
        {key: value for key, value in good.items() if key != "token"},
        {key: value for key, value in good.items() if key != "retry"},
        {**good, "retry": 5},
        {**good, "fingerprint": "0" * 64},
        {**good, "survey": "another"},
        {**good, "rows": [{MOOD: 3}]},
        {**good, "rows": [{MOOD: 1}] * 2},
        {**good, "version": 2},
        [],
    ):
        assert running.post("mood", wrong) == 400
    assert running.request("POST", "/s/mood/reports", "{" * 5)[0] == 400
    assert running.request("POST", "/s/mood/reports", "x" * (2 << 20))[0] == 413
    assert running.request("POST", "/s/mood/reports", "[" * 100_000)[0] == 400
    assert running.request("GET", "/s/mood/reports")[0] == 405
    upgrade = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Key", "x" * 24)]
    assert running.request("GET", "/s/mood/", headers=upgrade)[0] == 200
    for path in (
        "/s/..%2f..%2fetc%2fpasswd",
        "/s/%2e%2e/lock",
        "/s/mood/../../lock",
        "/owner/",
        "/surveys.sqlite",
        "/",
    ):
        assert running.request("GET", path)[0] == 404
    assert running.post("mood", good) == 204
    assert running.post("mood", good) == 204
    assert running.post("mood", {**good, "retry": "f" * 32}) == 409
    assert running.lines[logged:] == []


def test_the_owner_is_at_another_port_behind_the_key(running):
    assert running.request("GET", "/owner/", owner=True)[0] == 401
    assert running.request("GET", "/owner/?key=wrong", owner=True)[0] == 401
    assert running.request("GET", "/s/mood/", owner=True)[0] == 404
    assert running.request("GET", "/owner/", headers=[("Host", "evil.example")], owner=True)[0] == 421
    assert "mood-2026" in running.request("GET", "/s/mood/")[1]
    assert not any("the-key" in line for line in running.lines)
    limits = Path(f"/proc/{running.process.pid}/limits")
    if limits.exists():  # Linux: a crash writes no memory to the disk
        assert re.search(r"Max core file size +0 ", limits.read_text())


def test_one_port_for_both_is_refused_before_an_address_is_printed(tmp_path, capsys):
    port = str(free_port())
    words = ["serve", "--folder", str(tmp_path / "place"), "--no-browser", "--port", port]
    assert main([*words, "--owner-port", port]) == 2
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert f"--owner-port: cannot serve on 127.0.0.1:{port} (" in error


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a.toml", "folder/a.toml"], "a.toml: has the name 'a' of another file; rename one of them"),
        (["torn.toml"], "torn.toml: "),
        (["model.toml"], "model.toml: states no survey"),
    ],
)
def test_files_that_cannot_begin_a_survey_are_one_line(tmp_path, monkeypatch, capsys, names, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    survey = '[survey]\ntitle = "A"\nepsilon = 1.0\n[[questions]]\nname = "q"\nlabels = ["no", "yes"]\n'
    for name in ("a.toml", "folder/a.toml"):
        (tmp_path / name).write_text(survey)
    (tmp_path / "torn.toml").write_text("[survey\n")
    (tmp_path / "model.toml").write_text('[model]\ntitle = "x"\nproblem = "item-sets"\n')
    port, own = str(free_port()), str(free_port())
    assert main(["serve", *names, "--no-browser", "--port", port, "--owner-port", own]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert words in error


def test_a_second_server_of_the_folder_is_refused(running, capsys):
    assert main(["serve", "--folder", str(running.folder), "--port", "0", "--no-browser"]) == 2
    assert capsys.readouterr().err.endswith("place: another server uses it; end that one first\n")


def test_three_servers_behind_a_balancer_are_merged_at_the_end(tmp_path, capsys):
    """Each person's page stays at one server, as a balancer by address does it; reports are merged."""
    servers, files = [], []
    path = tmp_path / "survey.json"
    SMALL.save(path)
    for number in range(3):
        folder = tmp_path / f"place-{number}"
        prepared(folder, SMALL, slug="survey")
        servers.append(Running(folder))
    rng = random.Random(8)
    documents = [message(SMALL, [{MOOD: rng.randrange(3)}], place) for place in range(300)]
    for turn in range(2):  # some send again
        for number, server in enumerate(servers):
            mine = documents[number :: 3 if turn == 0 else 9]
            assert set(posted(server, "survey", mine, 8).values()) == {204}
    for number, server in enumerate(servers):
        assert server.end() == 0
        with Place(server.folder) as place:
            files.append(str(tmp_path / f"reports-{number}.jsonl"))
            place.survey("survey").reports_file(files[-1])
    counts = [str(tmp_path / name) for name in ("a.json", "b.json", "all.json")]
    assert main(["count", str(path), *files[:2], "-o", counts[0]]) == 0
    assert main(["count", str(path), files[2], "-o", counts[1]]) == 0
    assert main(["merge", *counts[:2], "-o", counts[2]]) == 0
    capsys.readouterr()
    results = []
    for inputs in (counts[2:], files):
        assert main(["estimate", str(path), *inputs, "--json"]) == 0
        results.append(json.loads(capsys.readouterr().out))
    assert results[0] == results[1]
    assert results[0]["users"] == 300


@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)
def test_two_persons_answer_with_their_links_at_one_device(running):
    tokens = running.tokens[5:7]
    with chromium() as browser:
        for turn, token in enumerate([*tokens, tokens[0]]):
            browser.get("about:blank")
            browser.get(f"http://127.0.0.1:{running.port}/s/mood/#token={token}")
            send = browser.find_element("id", "send")
            if turn < 2:
                browser.find_element("css selector", "input[value='1']").click()
                browser.find_element("id", "make").click()
            wait(browser, send.is_displayed)
            send.click()  # the third time: the first one's report again, which counts once
            line = browser.find_element("id", "status")
            wait(browser, lambda line=line: line.text.startswith("Sent"))
        assert browser.get_log("browser") == []
    assert running.post("mood", message(SMALL, [{MOOD: 1}], 77, tokens[0])) == 409


@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)
def test_the_owner_makes_cards_and_ends_in_a_browser(tmp_path):
    folder = tmp_path / "place"
    prepared(folder, SMALL, 1, "mood")
    server = Running(folder)
    try:
        with chromium() as browser:
            browser.get(f"http://127.0.0.1:{server.owner_port}/owner/?key={KEY}")
            browser.get(f"http://127.0.0.1:{server.owner_port}/owner/s/mood/collect")
            count = browser.find_element("id", "count")
            count.clear()
            count.send_keys("4")
            browser.find_element("css selector", "button[value='cards']").click()
            wait(browser, lambda: browser.find_elements("css selector", ".cards-to-print"))
            links = [each.text for each in browser.find_elements("css selector", ".cards-to-print code")]
            codes = browser.find_elements("css selector", ".cards-to-print svg")
            assert len(links) == len(codes) == 4
            assert all(each.size["width"] > 100 for each in codes)
            browser.get(f"http://127.0.0.1:{server.owner_port}/owner/s/mood/collect")
            browser.find_element("css selector", "form[action$='/end'] button").click()
            begin = "form[action$='/begin']"
            assert wait(browser, lambda: browser.find_elements("css selector", begin))
            browser.get(links[0])
            assert "over" in browser.find_element("css selector", ".notice").text
            assert browser.get_log("browser") == []
    finally:
        assert server.end() == 0
