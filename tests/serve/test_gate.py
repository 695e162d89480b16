"""Who gets in: the owner's key, own forms, names and origins; limits; what no page may do."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from urllib.parse import quote

import pytest

from mechdesign.primitives import KaryResponse
from tests.support.serving import KEY, Owner, asked, message, require_packages

require_packages()

from starlette.requests import Request  # noqa: E402 (needs the packages)

from mechdesign.serve import Place, access, running  # noqa: E402
from mechdesign.serve.application import application  # noqa: E402

HOSTILE = """</script><script>alert(1)</script>"'&{{7*7}}<img src=x onerror=alert(1)>"""


@pytest.fixture
def place(tmp_path):
    with Place(tmp_path / "place") as opened:
        yield opened


@pytest.fixture
def owner(place):
    return Owner(application(place, KEY))


def test_the_key_comes_once_and_is_then_a_cookie_of_this_site_alone(place):
    server = application(place, KEY)
    for path in ("/owner/", "/owner/new", "/owner/?key=", f"/owner/?key={KEY[:-1]}", f"/owner/?key={KEY}x"):
        assert asked(server, "GET", path)[0] == 401
    status, headers, body = asked(server, "GET", f"/owner/?key={KEY}")
    assert status == 200
    assert re.search(r"; HttpOnly; Path=/owner; SameSite=strict", headers["set-cookie"])
    assert KEY not in headers["set-cookie"]
    assert KEY.encode() not in body
    cookie = headers["set-cookie"].partition(";")[0]
    assert asked(server, "GET", "/owner/", headers={"cookie": cookie})[0] == 200
    for wrong in (cookie[:-1], cookie.replace("=", "=0"), f"{cookie.partition('=')[0]}={KEY}", "a=\xe9"):
        assert asked(server, "GET", "/owner/", headers={"cookie": wrong})[0] == 401


def test_the_key_is_compared_in_constant_time(place, monkeypatch):
    compared, digest = [], access.hmac.compare_digest
    monkeypatch.setattr(access.hmac, "compare_digest", lambda a, b: compared.append((a, b)) or digest(a, b))
    assert asked(application(place, KEY), "GET", "/owner/?key=guess")[0] == 401
    assert compared[0] == (b"guess", KEY.encode())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 303),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": None}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "//127.0.0.1:8001"}, 403),
        ({"origin": "http://["}, 403),
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example:8001"}, 421),
        ({"form": "0" * 64}, 403),
        ({"form": ""}, 403),
        ({"content-type": "text/plain"}, 403),
    ],
)
def test_a_post_comes_from_the_owners_own_page(owner, place, headers, status):
    sent = {
        "cookie": owner.cookie,
        "origin": "http://127.0.0.1:8001",
        "content-type": "application/x-www-form-urlencoded",
    }
    form = headers.pop("form", owner.form_token)
    sent = {name: value for name, value in {**sent, **headers}.items() if value is not None}
    body = f"csrf={form}&draft=".encode()
    assert asked(owner.application, "POST", "/owner/new", body, sent)[0] == status
    assert len(place.surveys()) == (status == 303)


@pytest.mark.parametrize(
    ("option", "host"), [("Rooms.Example", "rooms.example:8001"), ("2001:db8::1", "[2001:db8::1]:8001")]
)
def test_the_host_of_the_option_is_one_that_a_browser_names(place, option, host):
    server = application(place, KEY, hosts=(option,))
    assert asked(server, "GET", f"/owner/?key={KEY}", headers={"host": host})[0] == 200
    assert asked(server, "GET", f"/owner/?key={KEY}")[0] == 421


def test_a_script_of_another_site_reads_nothing(owner):
    headers = {"cookie": owner.cookie, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert asked(owner.application, "GET", "/owner/", b"", headers)[0] == 403


def test_every_answer_has_its_policy(owner, place):
    survey = place.new(slug="mood")
    survey.use(KaryResponse.of(3, 2.0).described("Mood", "How?", id="mood-2026"))
    survey.begin()
    paths = [
        "/owner/",
        "/owner/s/mood/collect",
        "/owner/s/mood/preview",
        "/owner/none",
        "/owner/s/none/collect",
    ]
    for path in [*paths, "/s/mood/", "/s/none/", "/none"]:
        _, headers, body = asked(owner.application, "GET", path, b"", {"cookie": owner.cookie})
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy, path
        assert "frame-ancestors 'none'" in policy, path
        assert "unsafe" not in policy, path
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        text = body.decode()
        assert not re.search(
            r"<[^>]+ (style|on[a-z]+)=", text.partition("<body")[2].partition("<script")[0]
        ), path
        assert not re.search(r"(src|href)=[\"']?(https?:)?//(?!127\.0\.0\.1)", text), path


def test_hostile_texts_are_inert_everywhere(owner, place):
    toml = f"[survey]\ntitle = {json.dumps(HOSTILE)}\nepsilon = 2.0\n"
    toml += f'[[questions]]\nname = "mood"\ntext = {json.dumps(HOSTILE)}\nlabels = ["<b>", "{{{{x}}}}"]\n'
    status, _, _ = owner.post("/owner/new", draft=toml)
    assert status == 303
    (survey,) = place.surveys()
    survey.build()
    survey.begin()
    for path in (
        "/owner/",
        f"/owner/s/{survey.slug}/collect",
        f"/s/{survey.slug}/",
        f"/owner/s/{survey.slug}/preview",
    ):
        text = owner.get(path)[1]
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "49<img" not in text
    status, page = owner.get(f"/owner/s/{quote(HOSTILE)}/collect")
    assert "<script>alert" not in page
    status, _, page = owner.post(f"/owner/s/{survey.slug}/collect", url=HOSTILE, stop=HOSTILE)
    assert status == 400
    assert "<script>alert" not in page


@pytest.mark.parametrize(
    "slug", ["..", "../x", "..%2fx", "%2e%2e", "a/b", ".", "CON\\x", "x\0y", "surveys.sqlite", "é", "a" * 300]
)
def test_no_path_leaves_the_folder(owner, place, slug, tmp_path):
    assert owner.get(f"/owner/s/{slug}/collect")[0] in (400, 404)
    assert owner.get(f"/s/{slug}/")[0] in (307, 404)
    with pytest.raises(ValueError, match="slug: "):
        place.new(slug=slug)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["place"]


def test_a_message_that_does_not_end_is_answered(monkeypatch):
    monkeypatch.setattr(access, "MOST_SECONDS", 0.05)

    async def receive():
        await asyncio.sleep(30)

    answer = asyncio.run(access.body_of(Request({"type": "http", "headers": []}, receive)))
    assert answer.status_code == 408


def test_bodies_of_all_connections_together_have_a_limit():
    in_flight = access.InFlight(1500)

    async def both():
        begun = asyncio.Event()

        def sender(first):
            parts = [b"x" * 1000, b""]

            async def receive():
                if first and len(parts) == 1:
                    await begun.wait()
                part = parts.pop(0)
                return {"type": "http.request", "body": part, "more_body": bool(parts)}

            return Request({"type": "http", "headers": []}, receive)

        waiting = asyncio.create_task(access.body_of(sender(True), in_flight=in_flight))
        await asyncio.sleep(0)
        refused = await access.body_of(sender(False), in_flight=in_flight)
        begun.set()
        return refused.status_code, len(await waiting)

    assert asyncio.run(both()) == (503, 1000)
    assert in_flight.bytes == 0


def test_an_error_of_the_program_is_one_line_and_no_traceback(place, monkeypatch, capsys):
    survey = place.new(slug="mood")
    mechanism = survey.use(KaryResponse.of(3, 2.0).described("Mood", "How?", id="mood-2026"))
    survey.begin()

    def fail(*_):
        raise RuntimeError("with a secret in it")

    monkeypatch.setattr(survey, "post", fail)
    body = json.dumps(message(mechanism, [{mechanism.recipe().columns[0]: 1}], 1)).encode()
    status, _, answer = asked(application(place, KEY), "POST", "/s/mood/reports", body)
    assert (status, answer) == (500, b"not stored: send it again later")
    assert capsys.readouterr().err == "a report was not stored: RuntimeError\n"


@pytest.mark.parametrize("name", ["reports.bin", "survey.json"])
def test_a_damaged_file_ends_no_other_survey_and_its_path_is_told_to_the_owner_alone(tmp_path, name, capsys):
    with Place(tmp_path / "place") as place:
        for slug in ("mood", "sleep"):
            survey = place.new(slug=slug)
            mechanism = survey.use(KaryResponse.of(3, 2.0).described(slug, "How?", id=f"{slug}-2026"))
            survey.begin()
    (tmp_path / "place" / "mood" / name).write_bytes(b"{")
    mechanism = mechanism.described("mood", "How?", id="mood-2026")
    report = message(mechanism, [{mechanism.recipe().columns[0]: 1}], 1)
    with Place(tmp_path / "place") as place:
        server = application(place, KEY)
        page = Owner(server).get("/owner/")[1]
        assert f"{name}: is " in page  # damaged, or not JSON
        assert "/owner/s/sleep/collect" in page
        for method, path in (("GET", "/s/mood/"), ("POST", "/s/mood/reports")):
            status, _, body = asked(server, method, path, json.dumps(report).encode())
            assert status == (200 if (method, name) == ("GET", "reports.bin") else 500)
            assert str(tmp_path).encode() not in body
        assert asked(server, "GET", "/s/sleep/")[0] == 200
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "a survey was not shown",
        "a report was not stored",
    ][-len(lines) :]


def test_a_head_that_does_not_end_closes_the_connection(monkeypatch):
    monkeypatch.setattr(running, "HEAD_SECONDS", 0.1)
    monkeypatch.setattr(running, "IDLE_SECONDS", 0.1)

    async def seconds(sent):
        loop = asyncio.get_running_loop()
        config = running._config(application_of_one_line)
        config.load()
        state = running.uvicorn.server.ServerState()
        server = await loop.create_server(lambda: running.Impatient(config, state, {}), "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            begin = loop.time()
            writer.write(sent)
            answer = await asyncio.wait_for(reader.read(), 10)
            writer.close()
            return answer, loop.time() - begin

    assert asyncio.run(seconds(b"GET / HTTP/1.1\r\nHost"))[0] == b""
    assert asyncio.run(seconds(b""))[0] == b""
    answer, _ = asyncio.run(seconds(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HT"))
    assert answer.startswith(b"HTTP/1.1 200")  # a good request, and half of another


def test_an_answer_that_nobody_takes_closes_the_connection(monkeypatch):
    """A client that takes something now and then gets the whole; one that takes nothing is left."""
    monkeypatch.setattr(running, "READ_SECONDS", 0.3)
    size = 20_000_000  # more than all buffers on the way

    async def long_answer(scope, receive, send):
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-length", b"%d" % size), (b"connection", b"close")],
            }
        )
        await send({"type": "http.response.body", "body": bytes(size)})

    async def taken(pauses):
        loop = asyncio.get_running_loop()
        config = running._config(long_answer)
        config.load()
        state = running.uvicorn.server.ServerState()
        server = await loop.create_server(lambda: running.Impatient(config, state, {}), "127.0.0.1", 0)
        client = socket.create_connection(server.sockets[0].getsockname())
        client.setblocking(False)
        async with server:
            await loop.sock_sendall(client, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            total = 0
            for pause in pauses:
                await asyncio.sleep(pause)
                try:
                    for _ in range(100):
                        total += len(await asyncio.wait_for(loop.sock_recv(client, 1 << 16), 1.0))
                except OSError:
                    break
            client.close()
            return total, len(state.connections)

    assert asyncio.run(taken([2.5] + [0.0] * 10))[0] < size
    assert asyncio.run(taken([0.1] * 12))[0] > size


def test_one_address_has_a_part_of_the_connections_and_a_proxy_all(monkeypatch):
    monkeypatch.setattr(running, "MOST_OF_ADDRESS", 3)

    async def answers(is_proxy):
        monkeypatch.setattr(running, "is_proxy", lambda address, trusted: is_proxy)
        config = running._config(application_of_one_line)
        config.load()
        state = running.uvicorn.server.ServerState()
        server = await asyncio.get_running_loop().create_server(
            lambda: running.Impatient(config, state, {}), "127.0.0.1", 0
        )
        async with server:
            address = server.sockets[0].getsockname()
            opened = [await asyncio.open_connection(*address) for _ in range(5)]
            said = []
            for reader, writer in opened:
                writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                try:
                    said.append((await asyncio.wait_for(reader.read(), 10))[9:12])
                except ConnectionError:
                    said.append(b"")
            for _, writer in opened:
                writer.close()
            while state.connections:
                await asyncio.sleep(0.01)
            return said

    assert asyncio.run(answers(is_proxy=False)) == [b"200"] * 3 + [b""] * 2
    assert not running.Impatient._counts  # all is forgotten
    assert asyncio.run(answers(is_proxy=False)) == [b"200"] * 3 + [b""] * 2
    assert asyncio.run(answers(is_proxy=True)) == [b"200"] * 5


async def application_of_one_line(scope, receive, send):
    await asyncio.sleep(0.2)  # longer than a head may take
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def test_one_address_can_send_so_much_and_no_more(place):
    survey = place.new(slug="mood")
    mechanism = survey.use(KaryResponse.of(3, 2.0).described("Mood", "How?", id="mood-2026"))
    survey.begin()
    from mechdesign.serve.application import respondents_application

    server = respondents_application(place, 0.03)
    said = [
        json.dumps(message(mechanism, [{mechanism.recipe().columns[0]: 1}], each)).encode()
        for each in range(5)
    ]
    assert [asked(server, "POST", "/s/mood/reports", each)[0] for each in said] == [204, 204, 204, 429, 429]
    assert survey.count == 3


def test_the_memory_of_rates_is_flat():
    rates = access.Rates(1.0, 1.0)
    for number in range(30_000):
        rates.allows(str(number))
    assert len(rates._left) == access.Rates.MOST
