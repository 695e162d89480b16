"""Surveys of a folder, and the collecting room: settings, links, cards, days, the last day."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
from datetime import date, timedelta

import pytest

from mechdesign.cli import main, serving
from mechdesign.core.errors import DataError, MechDesignError, MethodError, ParameterError
from mechdesign.primitives import KaryResponse
from tests.support.clients import CLIENTS
from tests.support.serving import KEY, Owner, asked, message, require_packages

require_packages()

from mechdesign.serve import Place, pool as pool_module, settings as settings_module  # noqa: E402
from mechdesign.serve.application import application  # noqa: E402
from mechdesign.serve.pages import known_line, room_tables  # noqa: E402

DRAFT = """[survey]
title = "Größe der Sorgen"
epsilon = 2.0
language = "de"
[[questions]]
name = "mood"
text = "How are you?"
labels = ["bad", "good"]
"""


@pytest.fixture
def place(tmp_path):
    with Place(tmp_path / "place", "https://survey.example.org") as opened:
        yield opened


@pytest.fixture
def survey(place):
    survey = place.new(DRAFT)
    survey.build()
    return survey


@pytest.fixture
def owner(place):
    return Owner(application(place, KEY, "en"))


def taken(survey, count, token=""):
    (column,) = survey.mechanism.recipe().columns
    return [survey.take(token, [{column: "bad"}], number.to_bytes(16, "big")) for number in range(count)]


# Surveys


def test_a_draft_of_any_kind_survives_a_kill(tmp_path):
    text = "[survey\ntitle = 'half typed \U0001f600"
    program = f"from mechdesign.serve import Place; import os; s = Place({str(tmp_path / 'p')!r}).new()"
    program += f"; s.save_draft({text!r}); os._exit(9)"
    subprocess.run([sys.executable, "-c", program], check=False)
    with Place(tmp_path / "p") as place:
        (survey,) = place.surveys()
        assert (survey.draft, survey.state, survey.title) == (text, "draft", "survey")
        with pytest.raises(MechDesignError, match=r"^[^\n]*draft[^\n]*$"):
            survey.build()
        survey.save_draft(DRAFT)
        assert survey.build().about.title == "Größe der Sorgen"


@pytest.mark.parametrize("text", ["x" * (1 << 21), "\0", "\ud800"])
def test_what_cannot_be_a_draft_is_refused(survey, text):
    with pytest.raises(ParameterError, match=r"^draft: "):
        survey.save_draft(text)
    assert survey.draft == DRAFT


def test_several_surveys_have_reports_of_their_own(place):
    surveys = [place.new(DRAFT) for _ in range(3)]
    assert [each.slug for each in surveys] == [f"grosse-der-sorgen{end}" for end in ("", "-2", "-3")]
    for number, each in enumerate(surveys):
        each.build()
        each.begin()
        assert set(taken(each, number + 1)) == {204}
    assert [each.count for each in place.surveys()] == [1, 2, 3]
    assert len({each.mechanism.about.id for each in surveys}) == 3


def test_what_collects_is_fixed(survey):
    survey.change(least=2, access="open")
    survey.begin()
    for change in ({"least": 3}, {"access": "tokens"}, {"nonsense": 1}):
        with pytest.raises(ParameterError):
            survey.change(**change)
    with pytest.raises(ParameterError, match="its questions are fixed"):
        survey.build()
    survey.save_draft("something else")  # the next survey may begin with it
    assert taken(survey, 1) == [204]
    with pytest.raises(DataError, match="has 1 report; results are shown from 2 on"):
        survey.reports()
    with pytest.raises(ParameterError, match="is collecting; end collecting first"):
        survey.place.remove(survey.slug)
    assert taken(survey, 2) == [204, 204]
    assert len(survey.reports()) == 2
    survey.end()
    assert survey.state == "ended"
    with pytest.raises(ParameterError, match="is not collecting"):
        survey.end()


def test_links_stay_when_a_survey_is_built_again(survey, place):
    survey.change(access="tokens")
    tokens = survey.tokens.make(3)
    survey.save_draft(DRAFT.replace('"good"', '"good", "so-so"'))
    survey.build()
    survey.begin()
    assert [taken(survey, 1, token)[0] for token in tokens] == [204] * 3
    survey.close()
    assert (survey.count, survey.tokens.used) == (3, 3)


def test_a_mechanism_for_a_shuffler_is_not_served(place):
    for kind in ("cnt-rr", "hist-dump"):
        with pytest.raises(MethodError, match="are private only behind a shuffler"):
            place.adopt(CLIENTS[kind](), kind)


def test_the_last_day_ends_a_survey(survey, monkeypatch):
    today = date.today()
    survey.change(stop=today.isoformat())
    survey.begin()
    assert survey.state == "collecting"

    class Tomorrow(date):
        @classmethod
        def today(cls):
            return today + timedelta(days=1)

    monkeypatch.setattr(settings_module, "date", Tomorrow)
    assert survey.state == "ended"
    server = application(survey.place, KEY)
    (column,) = survey.mechanism.recipe().columns
    body = json.dumps(message(survey.mechanism, [{column: "bad"}], 5)).encode()
    assert asked(server, "POST", f"/s/{survey.slug}/reports", body)[0] == 410
    assert "Diese Umfrage ist beendet" in asked(server, "GET", f"/s/{survey.slug}/")[2].decode()
    with pytest.raises(ParameterError, match="is past; choose a later last day"):
        survey.begin()


def test_only_days_are_counted(survey, monkeypatch, tmp_path):
    survey.begin()
    days = [date(2026, 11, 28), date(2026, 11, 28), date(2026, 11, 30)]
    for turn, day in enumerate(days):

        class Day(date):
            @classmethod
            def today(cls, day=day):
                return day

        monkeypatch.setattr(pool_module, "date", Day)
        assert set(taken(survey, 10 * (turn + 1))) == {204}
    assert survey.count_by_day() == {"2026-11-28": 20, "2026-11-30": 10}
    base = sqlite3.connect(tmp_path / "place" / "surveys.sqlite")
    rows = base.execute("SELECT * FROM days").fetchall()
    base.close()
    assert rows == [(survey.slug, "2026-11-28", 20), (survey.slug, "2026-11-30", 30)]


def test_a_database_on_a_full_disk_loses_nothing_and_goes_on(survey):
    with survey.place.base() as base:
        pages = base.execute("PRAGMA page_count").fetchone()[0]
    survey.place.rows(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(
        DataError, match=r"cannot be written \(database or disk is full\); make room on the disk"
    ):
        survey.save_draft("x" * 100_000)
    assert survey.draft == DRAFT
    survey.begin()
    assert taken(survey, 3) == [204] * 3
    survey.place.rows("PRAGMA max_page_count = 100000")
    survey.save_draft("x" * 100_000)
    assert survey.count_by_day() == {date.today().isoformat(): 3}


def test_a_damaged_database_is_one_line(tmp_path):
    (tmp_path / "surveys.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(DataError, match=r"surveys\.sqlite: cannot be used \(file is not a database\)"):
        Place(tmp_path)


def test_a_survey_is_removed_with_its_bytes(owner, survey, place, tmp_path):
    survey.begin()
    assert taken(survey, 3) == [204] * 3
    survey.count_by_day()
    survey.end()
    base = f"/owner/s/{survey.slug}/collect/remove"
    status, _, page = owner.post(base, name="another")
    assert (status, "has 3 reports, and &#39;another&#39; is not its name" in page) == (400, True)
    files = {path: path.open("rb") for path in survey.folder.iterdir()}
    assert owner.post(base, name=survey.slug)[0] == 303
    for stream in files.values():
        with stream:
            assert not any(stream.read())
    assert place.surveys() == []
    assert not survey.folder.exists()
    assert place.rows("SELECT * FROM days") == []


def test_two_surveys_have_two_identities(place):
    draft = DRAFT.replace("[survey]", '[survey]\nid = "staff-2026"')
    place.new(draft).build()
    second = place.new(draft)
    with pytest.raises(
        ParameterError, match="id: 'staff-2026' is the identity of the survey 'grosse-der-sorgen'"
    ):
        second.build()
    assert second.state == "draft"


# The room


def test_the_owner_collects_with_links_and_cards(owner, survey, place):
    base = f"/owner/s/{survey.slug}/collect"
    assert owner.post(base, least="3", access="tokens", stop="", url="", language="")[0] == 303
    assert owner.post(f"{base}/begin")[0] == 303
    status, headers, text = owner.post(f"{base}/links", count="5", **{"as": "csv"})
    assert (status, headers["content-disposition"]) == (
        200,
        f'attachment; filename="links-{survey.slug}.csv"',
    )
    rows = list(csv.reader(io.StringIO(text)))
    assert [row[0] for row in rows] == ["number", "1", "2", "3", "4", "5"]
    links = [row[1] for row in rows[1:]]
    assert all(link.startswith(f"https://survey.example.org/s/{survey.slug}/#token=") for link in links)
    status, _, cards = owner.post(f"{base}/links", count="3", **{"as": "cards"})
    assert (status, cards.count('<path class="qrline"') or cards.count("qrline")) == (200, 3)
    assert len(re.findall(r"<code>https://survey.example.org/s/[^<]*#token=[\w-]{22}</code>", cards)) == 3
    tokens = [link.partition("=")[2] for link in links]
    assert taken(survey, 1, tokens[0]) == [204]
    assert (survey.tokens.count, survey.tokens.used) == (8, 1)
    page = owner.get(base)[1]
    assert "Links made: 8. Links used: 1." in page
    assert "Reports: 1. Results are shown from 3 on." in page
    assert "Reminders cannot be personal" in page
    assert not any(token in page for token in tokens)
    page = owner.get(base, **{"cookie": f"{owner.cookie}; mechdesign_language=de"})[1]
    assert "Erinnerungen können nicht persönlich sein" in page


def test_an_address_that_nobody_else_reaches_is_said_before_links_are_made(owner, survey):
    said = "Only this computer reaches this address."
    base = f"/owner/s/{survey.slug}/collect"
    assert said not in owner.get(base)[1]
    for address in ("http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000"):
        survey.change(url=address)
        assert said in owner.get(base)[1]
    survey.change(url="http://192.0.2.7:8000")
    assert said not in owner.get(base)[1]


@pytest.mark.parametrize(
    ("path", "fields", "text"),
    [
        ("", {"least": "0"}, "least: 0 is not a number of reports; give 1 or more"),
        ("", {"least": "many"}, "least: &#39;many&#39; is not a whole number"),
        ("", {"stop": "31.12.2026"}, "stop: &#39;31.12.2026&#39; is not a day; write one such as 2026-12-31"),
        ("", {"url": "javascript:alert(1)"}, "is not an address; write one such as https://"),
        ("", {"access": "all"}, "access: expected one of open, tokens"),
        ("/links", {"count": "0", "as": "csv"}, "number of links: 0 is not from 1 to 100000"),
        ("/links", {"count": "1001", "as": "cards"}, "1001 cards are more than 1000 on a page"),
        ("/links", {"count": "5", "as": "csv"}, "is open: it has no links of persons"),
    ],
)
def test_what_is_wrong_is_one_line_of_the_page(owner, survey, path, fields, text):
    status, _, page = owner.post(f"/owner/s/{survey.slug}/collect{path}", **fields)
    assert status == 400
    assert text in page
    assert survey.settings == settings_module.CollectionSettings()
    german = owner.post(f"/owner/s/{survey.slug}/collect{path}?language=de", **fields)[2]
    language = "en" if "access" in fields else "de"  # which no form of a page sends
    assert f'<p class="notice" role="alert" lang="{language}">' in german
    assert (text in german) == (language == "en")


def test_what_a_state_forbids_is_said_in_german_as_well(owner, survey, place):
    def said(path, **fields):
        page = owner.post(f"/owner/s/{survey.slug}/{path}?language=de", **fields)[2]
        return re.search(r'role="alert" lang="de">([^<]*)<', page)[1]

    assert "nimmt keine Berichte an." in said("collect/end")
    survey.begin()
    taken(survey, 1)
    assert "oder die Erhebung läuft schon" in said("collect/begin")
    assert "Mindestzahl der Berichte steht fest" in said("collect", least="5")
    assert "wer antworten darf, steht fest" in said("collect", least="50", access="tokens")
    assert "Beenden Sie zuerst die Erhebung" in said("collect/remove")
    survey.end()
    assert "hat 1 Bericht, und „x“ ist nicht ihr Name" in said("collect/remove", name="x")
    survey.change(stop="2026-01-01")
    assert "Letzter Tag: 2026-01-01 ist vorbei." in said("collect/begin")
    place.next_wave(survey.slug, "2027")
    page = owner.get("/owner/s/none/collect?language=de")[1]
    assert "Es gibt keine Umfrage „none“." in page


def test_known_lines_have_the_same_parts_in_german():
    tables = room_tables("refusals")["de"], room_tables("terms")["de"]["notes"]
    for english, german in (pair for table in tables for pair in table.items()):
        assert set(re.findall(r"\{\w+\}", german)) <= set(re.findall(r"\{\w+\}", english)), english
        filled = re.sub(r"\{(\w+)\}", "7", english)
        room, name = ("terms", "notes") if english in tables[1] else ("refusals", "")
        assert known_line(filled, "de", room, name) == {
            "text": re.sub(r"\{\w+\}", "7", german),
            "language": "de",
        }
    assert known_line("<b>{0}: is not built; build it first", "de", "refusals")["text"].startswith(
        "<b>{0} ist"
    )


def test_the_preview_sends_nothing(owner, survey):
    status, text = owner.get(f"/owner/s/{survey.slug}/preview")
    assert status == 200
    assert f"/s/{survey.slug}/reports" not in text
    assert "connect-src 'none'" in text


def test_a_survey_behind_a_path_posts_below_it(owner, survey):
    survey.change(url="https://example.org/surveys/")
    survey.begin()
    assert f'"/surveys/s/{survey.slug}/reports"' in owner.get(f"/s/{survey.slug}/")[1]
    assert survey.address == f"https://example.org/surveys/s/{survey.slug}/"


def test_sentences_are_complete_in_both_languages():
    from mechdesign.serve.pages import BRACED, ROOMS, room_tables

    for room in ROOMS:
        tables = room_tables(room)
        assert list(tables) == ["en", "de"]
        assert list(tables["en"]) == list(tables["de"]), room
        for name, text in tables["en"].items():
            assert sorted(BRACED.findall(text)) == sorted(BRACED.findall(tables["de"][name])), (room, name)


# The command


def test_without_the_extra_it_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(serving, "PACKAGES", ("starlette", "no_such_package"))
    assert main(["serve", "--no-browser"]) == 2
    assert capsys.readouterr().err == (
        "mechdesign: serve: needs no_such_package; pip install 'mechdesign[serve]'\n"
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--port", "99999"], "--port: 99999 is not from 0 to 65535; give another port"),
        (["--host", "no.invalid"], "--port: cannot serve on no.invalid"),
        (["--rate", "0"], "--rate: 0.0 is not a rate"),
        (["--public-url", "survey"], "public address: 'survey' is not an address"),
        (["--folder", "a/b/c"], "a/b/c: cannot be used as a folder (No such file or directory)"),
        (["--folder", "t"], "t: cannot be used as a folder (File exists)"),
        (["--key-file", "none"], "--key-file none: file not found"),
        (["--key-file", "t"], "--key-file t: expected 16 letters or more"),
        (["none.toml"], "none.toml: file not found"),
        (["t"], "t: is not a name of a survey file; name a .toml or a .json file"),
    ],
)
def test_what_is_wrong_is_one_line(words, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").write_text("short")
    mask = os.umask(0o022)
    assert main(["serve", "--no-browser", *(["--port", "0"] if "--port" not in words else []), *words]) == 2
    assert os.umask(mask) == 0o022
    said = capsys.readouterr().err
    assert said.startswith(f"mechdesign: {text}")
    assert said.count("\n") == 1


def test_files_are_added_once(tmp_path, monkeypatch, capsys):
    (tmp_path / "Staff 2026.toml").write_text(DRAFT, encoding="utf-8")
    KaryResponse.of(3, 1.0).described("Mood", "How?", id="mood-1").save(tmp_path / "mood.json")
    paths = [str(tmp_path / name) for name in ("Staff 2026.toml", "mood.json")]
    for turn in range(2):
        with Place(tmp_path / "place") as place:
            serving._begin_with(place, paths)
            states = {each.slug: each.state for each in place.surveys()}
            assert states == {"mood": "built", "staff-2026": "draft"}
        assert capsys.readouterr().err.count("already, which is used") == 2 * turn


def test_a_browser_is_opened_without_the_key_in_its_words(tmp_path):
    address = f"http://127.0.0.1:1/owner/?key={KEY}"
    with serving._opener(tmp_path, address) as path:
        assert KEY not in str(path)
        assert path.stat().st_mode & 0o777 == 0o600
        assert address in path.read_text()
    assert list(tmp_path.iterdir()) == []
