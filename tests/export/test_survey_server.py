"""The survey server end to end: a thousand respondents over HTTP, a few in a browser, a kill, an estimate."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import pytest

from mechdesign.cli import main
from mechdesign.core.errors import DataError, MethodError
from mechdesign.export import Receiver, export
from mechdesign.survey import next_wave
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium
from tests.support.clients import CLIENTS, NAMES

SERVER = Path(__file__).parents[2] / "examples" / "survey_server" / "server.py"
KEY = "a key of the collector"


class Running:
    """The server as a process, with what a respondent and a collector do."""

    def __init__(self, folder, mechanism, tokens):
        self.folder = folder
        mechanism.save(folder / "m.json")
        (folder / "tokens.txt").write_text("\n".join(tokens), encoding="utf-8")
        (folder / "key.txt").write_text(KEY, encoding="utf-8")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.start()

    def start(self):
        files = (
            "--tokens",
            "tokens.txt",
            "--key-file",
            "key.txt",
            "--title",
            "Mood",
            "--question",
            "How often?",
        )
        command = [sys.executable, str(SERVER), "serve", "m.json", *files, "--port", str(self.port)]
        self.process = subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for _ in range(200):
            try:
                if self.get("/")[0] == 200:
                    return
            except OSError:
                assert self.process.poll() is None, self.process.stdout.read().decode()
                time.sleep(0.1)
        raise AssertionError("the server does not answer")

    def request(self, method, path, body=None, headers=()):
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def get(self, path, key=""):
        return self.request("GET", path, headers={"Authorization": f"Bearer {key}"}.items())

    def post(self, document):
        return self.request("POST", "/reports", json.dumps(document))[0]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        with self.process.stdout as stream:
            self.said = stream.read().decode().splitlines()


def started(folder):
    pytest.importorskip("starlette", reason="no starlette here: pip install mechdesign[server]")
    pytest.importorskip("uvicorn", reason="no uvicorn here: pip install mechdesign[server]")
    return Running(folder, CLIENTS["kary-response"](), [f"token-{number}" for number in range(1000)])


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    server = started(tmp_path_factory.mktemp("server"))
    yield server
    server.kill()


@pytest.fixture
def received(running):
    """Return how many reports came in since the test began."""

    def count():
        return json.loads(running.get("/counts", KEY)[1])["reports"]

    before = count()
    return lambda: count() - before


def message(mechanism, rows, token):
    said = {"format": "mechdesign-report", "version": 1, "fingerprint": mechanism.fingerprint}
    return {**said, "rows": rows, "token": token}


def test_a_thousand_reports_a_kill_and_the_estimate(tmp_path, capsys):
    running = started(tmp_path)
    try:
        survey(running, capsys)
    finally:
        running.kill()


def survey(running, capsys):
    mechanism, space = CLIENTS["kary-response"](), {}
    exec(compile(export(mechanism, "python"), "client.py", "exec"), space)
    answers = [NAMES[0]] * 700 + [NAMES[1]] * 300
    messages = [
        {
            **message(mechanism, space["rows"](space["randomize"](answer)), f"token-{number}"),
            "retry": f"{number:032x}",
        }
        for number, answer in enumerate(answers)
    ]
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(running.post, messages[:600])) == {204}
        late = [pool.submit(running.post, document) for document in messages[600:]]
        while sum(each.done() for each in late) < 100:
            time.sleep(0.001)
        running.kill()
        kept = [each.exception() is None and each.result() == 204 for each in late]
    assert 100 <= sum(kept) < 400
    running.start()
    found = json.loads(running.get("/counts", KEY)[1])
    assert found["reports"] >= 600 + sum(kept)  # one may be kept whose answer did not arrive
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(running.post, messages)) == {204}  # those that were taken before count once
        assert set(pool.map(running.post, [{**each, "retry": "f" * 32} for each in messages])) == {409}
    assert running.get("/counts") == (401, "the key is missing")
    assert running.get("/reports.jsonl", KEY[:-1])[0] == 401
    path = running.folder / "reports.jsonl"
    path.write_text(running.get("/reports.jsonl", KEY)[1], encoding="utf-8")
    sent = sorted(json.dumps(document["rows"][0]) for document in messages)
    assert sorted(path.read_text(encoding="utf-8").splitlines()) == sent
    capsys.readouterr()
    assert main(["estimate", str(running.folder / "m.json"), str(path), "--json"]) == 0
    estimate = json.loads(capsys.readouterr().out)
    assert estimate["users"] == 1000
    error = 6 * max(estimate["standard_error"])
    assert abs(estimate["value"][0] - 0.7) < error < 0.4


def test_what_is_no_report_or_has_no_token_is_refused(running, received):
    mechanism = CLIENTS["kary-response"]()
    (column,) = mechanism.recipe().columns
    good = message(mechanism, [{column: NAMES[0]}], "token-1")
    assert running.post({**good, "token": "unknown"}) == 403
    for wrong in (
        {key: value for key, value in good.items() if key != "token"},
        {**good, "fingerprint": "0" * 64},
        {**good, "rows": [{column: "nevr"}]},
        {**good, "rows": [{column: NAMES[0]}] * 2},
        {**good, "rows": [{"answer": NAMES[0]}]},
        {**good, "version": 2},
        [],
    ):
        assert running.post(wrong) == 400
    assert running.request("POST", "/reports", "{" * 5)[0] == 400
    assert running.request("POST", "/reports", "x" * (2 << 20))[0] == 413
    assert running.post(good) == 204
    assert running.post(good) == 409
    assert received() == 1


@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)
def test_respondents_in_a_browser(running, received):
    from selenium.webdriver.support.ui import WebDriverWait

    with chromium() as browser:
        for number in range(3):
            browser.get("about:blank")
            browser.get(f"http://127.0.0.1:{running.port}/#token=token-{100 + number}")
            browser.find_element("css selector", f"input[value='{number}']").click()
            browser.find_element("id", "make").click()
            send = browser.find_element("id", "send")
            WebDriverWait(browser, 10).until(lambda _, button=send: button.is_displayed())
            send.click()
            status = browser.find_element("id", "status")
            WebDriverWait(browser, 10).until(lambda _, line=status: line.text.startswith("Sent"))
            browser.execute_script("localStorage.clear()")
        assert browser.get_log("browser") == []
    assert received() == 3


def test_messages_for_a_shuffler_are_not_received_with_their_sender():
    for kind in ("cnt-rr", "hist-dump"):
        with pytest.raises(MethodError, match="are private only behind a shuffler"):
            Receiver(CLIENTS[kind]())
        with pytest.raises(MethodError, match="hand the messages to the shuffler"):
            export(CLIENTS[kind](), "html")


def test_an_event_report_that_names_a_slot_twice_is_refused():
    mechanism = CLIENTS["event-counts"]()
    receiver = Receiver(mechanism)
    (column,) = receiver.recipe.columns
    for number, fine in enumerate(mechanism.weights.possible.tolist()):
        said = message(mechanism, [{column: number}], "t")
        if fine:
            assert receiver.rows(said) == [{column: number}]
        else:
            with pytest.raises(DataError, match="is not a report of this mechanism"):
                receiver.rows(said)
    with pytest.raises(DataError, match="is not a report of this mechanism"):
        receiver.rows(message(mechanism, [{column: mechanism.weights.reports}], "t"))


def wave_of_survey(before, identity):
    mechanism = CLIENTS["kary-response"]().described("Mood", "How often?", id=identity)
    return mechanism if before is None else next_wave(mechanism, "2027", before)


def test_two_waves_on_one_host_have_tokens_and_reports_of_their_own(tmp_path):
    pytest.importorskip("starlette", reason="no starlette here: pip install mechdesign[server]")
    pytest.importorskip("uvicorn", reason="no uvicorn here: pip install mechdesign[server]")
    first = wave_of_survey(None, "mood-2026")
    waves, servers = (first, wave_of_survey(first, "mood-2027")), []
    try:
        for number, wave in enumerate(waves):
            folder = tmp_path / str(number)
            folder.mkdir()
            servers.append(Running(folder, wave, [f"of-{number}"]))
        bodies = []
        for wave, server in zip(waves, servers, strict=True):
            assert wave.about.id in server.get("/")[1]
            rows = [{wave.recipe().columns[0]: NAMES[0]}]
            bodies.append({**message(wave, rows, ""), "survey": wave.about.id})
        assert "answering again doubles what you reveal" in servers[1].get("/")[1]
        assert servers[0].post({**bodies[1], "token": "of-0"}) == 400
        assert servers[1].post({**bodies[0], "token": "of-1"}) == 400
        assert servers[0].post({**bodies[0], "token": "of-1"}) == 403
        for number in range(2):
            assert servers[number].post({**bodies[number], "token": f"of-{number}"}) == 204
    finally:
        for server in servers:
            server.kill()
