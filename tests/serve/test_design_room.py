"""The design room by its addresses, and in a browser: what is typed is saved, and its margins follow."""

from __future__ import annotations

import json
import re
import threading
import time
import tomllib
from contextlib import contextmanager
from importlib.resources import files
from types import SimpleNamespace

import pytest

from mechdesign.core.errors import NORMAL, ParameterError
from tests.support import axe
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium, resize
from tests.support.serving import KEY, Owner, asked, free_port, require_packages

require_packages()

from mechdesign.serve import Place  # noqa: E402
from mechdesign.serve.application import application  # noqa: E402
from mechdesign.serve.design import FORMS, routes  # noqa: E402
from mechdesign.serve.draft import draft_of_text, text_of_draft  # noqa: E402
from mechdesign.serve.pages import (  # noqa: E402
    Words,
    for_page,
    room_tables,
)
from mechdesign.serve.planning import plan_of  # noqa: E402
from mechdesign.serve.sentences import line_of, risk_of  # noqa: E402

STAFF = files("mechdesign.report.examples").joinpath("staff.toml").read_text(encoding="utf-8")
SMALL = """[survey]
title = "Mood"
epsilon = 2.0
users = 1000
[[questions]]
name = "mood"
text = "How are you?"
labels = ["bad", "good"]
[[questions]]
name = "age"
text = "How old are you?"
range = [18, 90]
"""
NASTY = "</script><script>window.ran=1</script><img src=x onerror=window.ran=1>\"'{reason}"


@pytest.fixture
def place(tmp_path):
    with Place(tmp_path / "place") as opened:
        opened.new(SMALL, "mood")
        yield opened


class Page(Owner):
    """What the script of the page sends."""

    def send(self, action, body, language="en", slug="mood", **query):
        listed = "&".join(f"{key}={value}" for key, value in {"language": language, **query}.items())
        headers = {
            "cookie": self.cookie,
            "origin": "http://127.0.0.1:8001",
            "content-type": "application/json",
            "x-csrf-token": self.form_token,
        }
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        path = f"/owner/s/{slug}/design/{action}?{listed}"
        status, _, answer = asked(self.application, "POST", path, content, headers)
        return status, json.loads(answer)


@pytest.fixture
def room(place):
    return Page(application(place, KEY, "en"))


def data_of(page):
    (text,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


# Addresses


def test_what_is_typed_is_saved_as_the_file_that_one_writes_by_hand(place, room):
    survey = place.survey("mood")
    document = {**draft_of_text(SMALL)}
    document["survey"] |= {"epsilon": "abc", "title": NASTY}
    document["questions"][0]["labels"] = ["good", "good"]
    base = data_of(room.get("/owner/s/mood/design")[1])["base"]
    status, said = room.send("draft", document, base=base)
    assert status == 200
    assert tomllib.loads(survey.draft) == document
    assert [(fault["place"], fault["remark"]) for fault in said["faults"]] == [
        ("survey.epsilon", False),
        ("questions.0.labels", False),
    ]
    assert not said["buildable"]
    assert "is there twice" in said["faults"][1]["text"]
    german = room.send("draft", document, "de")[1]["faults"][1]["text"]
    assert german == "Die Antwort „good“ steht zweimal da; verwenden Sie jede einmal."
    assert data_of(room.get("/owner/s/mood/design")[1])["document"] == document
    assert room.get("/owner/s/mood/design/file")[1] == survey.draft


def test_another_window_is_not_overwritten(place, room):
    base = data_of(room.get("/owner/s/mood/design")[1])["base"]
    document = draft_of_text(SMALL)
    first, second = ({**document, "survey": {**document["survey"], "title": title}} for title in "AB")
    assert room.send("draft", first, base=base)[0] == 200
    assert room.send("draft", second, base=base) == (409, {"conflict": True})
    assert tomllib.loads(place.survey("mood").draft)["survey"]["title"] == "A"
    assert room.send("draft", second)[0] == 200  # the owner has decided


def test_margins_are_those_of_the_plan_in_the_owners_language(room):
    document = draft_of_text(SMALL)
    said = room.send("margins", document, "de")[1]
    plan = plan_of(document)
    assert [row["points"] for row in said["rows"]] == pytest.approx([one.points for one in plan.results])
    assert [row["text"] for row in said["rows"]] == ["±6,0 Punkte", "±3,1 (4,3 Punkte)"]
    assert said["line"] == (
        "\u2068Mood\u2069 · 2 Fragen · 1000 Menschen · Epsilon 2: mäßiger Schutz, höchstens 88,1\xa0% sicher"
        " · Fehlerspannen ±4,3 Punkte bis ±6,0 Punkte · nach Wichtigkeit ausgewogen"
    )
    assert room.send("margins", {**document, "questions": []})[1]["refused"]


def test_results_are_called_by_the_texts_of_questions(room):
    document = draft_of_text(STAFF)
    document["questions"][1]["text"] = " "
    document["survey"]["group_means"] = [{"number": "overtime", "by": "department"}]
    rows = [row["name"] for row in room.send("margins", document)[1]["rows"]]
    assert rows[:2] == ["Where do you work?", "recommend"]
    assert rows[3:5] == [f"Which of these do you use every day? – {tool}" for tool in ("e-mail", "chat")]
    assert rows[-2:] == [
        "“Where do you work?” and “recommend”",
        "“How many hours did you work overtime last month?” by “Where do you work?”",
    ]


def test_people_are_computed_for_margins_and_can_be_used(room):
    document = draft_of_text(SMALL)
    filled = room.send("margin", document, points="4,5")[1]["document"]
    assert [item["error"] for item in filled["questions"]] == pytest.approx(
        [0.045 / NORMAL, 72 * 0.045 / NORMAL], rel=1e-4
    )
    filled["survey"]["goal"] = "users"
    said = room.send("margins", filled)[1]
    needed = plan_of(filled).needed
    assert said["use"]["value"] == needed
    assert said["computed"] == f"Your margins need {needed} people with epsilon = 2."
    filled["survey"]["goal"] = "epsilon"
    used = room.send("margins", filled)[1]["use"]
    with_it = {**filled, "survey": {**filled["survey"], "epsilon": used["value"]}}
    del with_it["survey"]["goal"]
    assert plan_of({**with_it, "survey": {**with_it["survey"], "goal": "worst"}}).least_exact <= 4.5001
    for points in ("0", "x", "-1", "nan", "101"):
        status, refusal = room.send("margin", document, points=points)
        assert status == 400
        assert "is not a margin" in refusal["refused"]
    assert room.send("margin", {**document, "questions": [{"range": "x"}]}, points="5")[0] == 400


def test_ways_and_curves_are_said(room):
    document = draft_of_text(SMALL)
    said = room.send("ways", document, points="5")[1]
    assert said["now"] == "The least exact result now has ±6.0 points; you ask for ±5."
    assert said["sets"] == [
        "“How old are you?”: then at most ±2.6 points",
        "“How are you?”: then at most ±2.9 points",
    ]
    assert [row[0] for row in said["singles"]] == ["How old are you?", "How are you?"]
    assert said["more"][0].startswith("Or ask 1")
    drawn = room.send("curves", document)[1]
    assert ["1000", "±6.0 points", "±4.3 points"] in drawn["people"]["rows"]
    assert "<svg" in drawn["epsilon"]["picture"]
    assert "style=" not in drawn["epsilon"]["picture"]


def test_a_wrong_file_is_refused_in_one_line_and_nothing_changes(place, room):
    before = place.survey("mood").draft
    for body, what in ((b"epsilon = 1,0", "x.toml: line 1: 1,0 has a decimal comma"), (b"\xff\xfe", "UTF-8")):
        status, said = room.send("import", body, name="x.toml")
        assert status == 400
        assert what in said["refused"]
    assert place.survey("mood").draft == before
    status, said = room.send("import", STAFF.encode(), name="staff.toml")
    assert status == 200
    assert said["document"] == tomllib.loads(STAFF) == tomllib.loads(place.survey("mood").draft)


def test_build_shows_the_audit_and_is_refused_once_collecting_has_begun(place, room):
    survey = place.survey("mood")
    said = room.send("build", b"")[1]
    assert said["rows"] == [
        ["What a report reveals is limited by epsilon = 2", "holds, in exact arithmetic"],
        ["Probabilities add up to 1", "holds, in exact arithmetic"],
    ]
    assert said["holds"]
    assert survey.mechanism.fingerprint == said["fingerprint"]
    assert [path.name for path in survey.folder.iterdir() if "built" in path.name] == []
    survey.save_draft("[survey]\n")
    assert "refused" in room.send("build", b"")[1]
    survey.save_draft(SMALL)
    survey.begin()
    assert "began to collect" in room.send("build", b"")[1]["refused"]
    page = room.get("/owner/s/mood/design")[1]
    assert data_of(page)["fixed"]
    assert 'id="build"' not in page


def test_an_empty_survey_begins_with_sensible_numbers_and_an_unreadable_one_is_left_alone(place, room):
    place.new("", "empty")
    content = data_of(room.get("/owner/s/empty/design?language=de")[1])
    assert content["document"]["survey"] == {
        "title": "Neue Umfrage",
        "language": "de",
        "epsilon": 2.0,
        "users": 1000,
    }
    assert content["yes_no"] == ["nein", "ja"]
    place.new("title = ,", "broken")
    page = room.get("/owner/s/broken/design?language=en")[1]
    assert data_of(page)["unreadable"]
    assert "The saved text is not a survey file: survey.toml: is not valid TOML" in page
    assert place.survey("broken").draft == "title = ,"


def test_a_survey_is_called_after_its_title_until_it_is_built(place, room):
    room.post("/owner/new")
    document = draft_of_text(place.survey("survey").draft or SMALL)
    document["survey"]["title"] = "New survey"
    assert room.send("draft", document, slug="survey", titled="true")[1]["slug"] == "survey"
    document["survey"]["title"] = "Größe & Mood"
    assert room.send("draft", document, slug="survey")[1]["slug"] == ""  # still being typed
    assert (place.folder / "survey").is_dir()
    assert room.send("draft", document, slug="survey", titled="true")[1]["slug"] == "grosse-mood"
    assert sorted(path.name for path in place.folder.iterdir() if path.is_dir()) == ["grosse-mood", "mood"]
    # a page that was opened before goes on with the same survey, and no other one takes its name
    survey = place.survey("grosse-mood")
    assert place.survey("survey") is survey
    assert place.new().slug == "survey-2"
    document["survey"]["title"] = "Mood"
    assert room.send("draft", document, slug="survey", titled="true")[1]["slug"] == "mood-2"
    document["survey"]["title"] = "New survey"  # of the page in English: no name
    assert room.send("draft", document, slug="grosse-mood", titled="true")[1]["slug"] == "mood-2"
    document["survey"]["title"] = "Built"
    room.send("draft", document, slug="mood-2")
    survey.save_draft(SMALL.replace("Mood", "Built"))
    assert room.send("build", b"", slug="mood-2")[1]["slug"] == "built"
    assert (place.folder / "built" / "survey.json").exists()
    # its links and its address stay what they are
    document["survey"]["title"] = "Called otherwise"
    assert room.send("draft", document, slug="built", titled="true")[1]["slug"] == "built"
    assert [place.survey(name).slug for name in ("survey", "grosse-mood", "mood-2", "mood")] == [
        *["built"] * 3,
        "mood",
    ]


def test_a_survey_that_was_called_by_its_owner_stays_so_also_after_a_restart(tmp_path):
    with Place(tmp_path / "place") as place:
        place.new("", "mine")
        begun = place.new()
        for survey in (place.survey("mine"), begun):
            survey.save_draft(SMALL)
    with Place(tmp_path / "place") as place:
        assert place.survey("mine").follow_title() == "mine"
        assert place.survey("survey").state == "draft"
        assert place.survey("survey").follow_title("Mood") == "survey"
        assert place.survey("survey").follow_title("New survey") == "mood"
        place.remove("survey")
        assert [survey.slug for survey in place.surveys()] == ["mine"]
        assert not (place.folder / "mood").exists()


def test_no_title_leads_to_a_file_that_is_there(tmp_path):
    with Place(tmp_path / "place") as place:
        (place.folder / "mood").mkdir()
        (place.folder / "mood" / "notes.txt").touch()
        assert place.new(SMALL).slug == "mood-2"
        begun = place.new()
        begun.save_draft(SMALL.replace("Mood", "Lock"))
        assert begun.follow_title() == "lock-2"
        begun.save_draft(SMALL)
        assert begun.follow_title() == "mood-3"
        with pytest.raises(ParameterError, match="'lock' is there already"):
            place.new(SMALL, "lock")


def test_hostile_texts_stay_texts(place, room):
    document = draft_of_text(SMALL)
    document["survey"]["title"] = NASTY
    document["questions"] = [
        {"name": NASTY, "text": NASTY, "labels": [NASTY, "x"]},
        {"name": "b", "labels": ["x", "y"]},
    ]
    room.send("draft", document)
    page = room.get("/owner/s/mood/design")[1]
    assert NASTY not in page
    assert "<script>window" not in page
    assert data_of(page)["document"] == document
    for name in ("margins", "ways", "curves"):
        status, said = room.send(name, document, points=1)
        assert status == 200
        assert "refused" not in said


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"survey": 1}', b'{"questions": [1]}', b"\xff", b"[" * 100_000]
)
def test_what_is_no_draft_is_refused_and_not_saved(place, room, body):
    before = place.survey("mood").draft
    for name in ("draft", "margins", "ways", "curves", "margin"):
        status, said = room.send(name, body, points=5)
        assert status == 400
        assert said["refused"]
    assert place.survey("mood").draft == before


def test_the_largest_draft_is_1_mib(place, room):
    document = draft_of_text(SMALL)
    document["survey"]["introduction"] = "x" * (1 << 20)
    assert room.send("draft", document)[0] == 400
    assert place.survey("mood").draft == SMALL


def test_without_the_token_of_the_page_nothing_is_taken(room):
    headers = {"cookie": room.cookie, "origin": "http://127.0.0.1:8001"}
    status, _, _ = asked(room.application, "POST", "/owner/s/mood/design/draft", b"{}", headers)
    assert status == 403


def test_200_answers_and_40_questions_are_planned(room):
    labels = [f"answer {number}" for number in range(200)]
    questions = [{"name": f"q{number}", "text": "T", "labels": ["no", "yes"]} for number in range(39)]
    document = {
        "survey": {"title": "T", "epsilon": 2.0, "users": 5000},
        "questions": [{"name": "long", "text": "T", "labels": labels}, *questions],
    }
    assert room.send("draft", document)[1]["faults"] == []
    assert len(room.send("margins", document)[1]["rows"]) == 40


# Words


def test_both_languages_say_everything_with_the_same_parts():
    english, german = (room_tables("design")[code] for code in ("en", "de"))
    assert list(english) == list(german)
    for name, text in english.items():
        assert set(re.findall(r"\{(\w+)\}", text)) == set(re.findall(r"\{(\w+)\}", german[name])), name
    assert all(f"form_{form}" in english for form in FORMS)
    assert routes is not None


@pytest.mark.parametrize(
    ("epsilon", "level", "percent"),
    [(0.5, "strong", "62.3%"), (2, "moderate", "88.1%"), (4, "limited", "98.3%"), (8.0, "weak", "99.97%")],
)
def test_the_risk_is_a_number_and_words(epsilon, level, percent):
    risk = risk_of(epsilon, Words("en"))
    assert (risk["level"], risk["percent"]) == (level, percent)
    assert percent in risk["sentence"]
    assert risk_of(20.0, Words("de"))["verdict"].startswith("Kein Schutz")
    assert [risk_of(value, Words("en")) for value in (0, -1, "x", None, True)] == [None] * 5


def test_the_line_is_written_for_any_draft():
    for document in (
        {"survey": {}, "questions": []},
        {"survey": {"title": 7, "users": "x", "goal": [], "tables": 3}, "questions": [{}]},
        {"survey": {"epsilon": 30.0, "users": 1, "goal": "users"}, "questions": [{"skip": True}]},
    ):
        for code in ("en", "de"):
            assert " · " in line_of(document, Words(code))


def test_pictures_have_attributes_in_the_place_of_styles():
    picture = "<svg style=\"fill: none; stroke-width: 0.8; font-family: 'A', serif\"><g/></svg>"
    expected = '<svg fill="none" stroke-width="0.8" font-family="\'A\', serif"><g/></svg>'
    assert for_page(picture) == expected


# In a browser


@contextmanager
def running(place):
    """Serve the owner's rooms on a free port, and yield their address."""
    import uvicorn

    port = free_port()
    config = uvicorn.Config(application(place, KEY, "en"), port=port, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(timeout=10)


class Browser(SimpleNamespace):
    """A browser at the room, with what an owner does."""

    def find(self, css):
        return self.driver.find_element("css selector", css)

    def until(self, condition, seconds=60.0):
        end = time.monotonic() + seconds
        while not self.driver.execute_script(f"return {condition}"):
            assert time.monotonic() < end, condition
            time.sleep(0.03)

    def planned(self, act):
        """Do something, and wait for the margins that follow."""
        before = self.driver.execute_script("return document.body.dataset.margins ?? ''")
        act()
        self.until(f"(document.body.dataset.margins ?? '') !== '{before}'")

    def type(self, css, text):
        from selenium.webdriver.common.keys import Keys

        self.find(css).send_keys(Keys.CONTROL, "a")
        self.find(css).send_keys(text)


@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)
def test_the_room_in_a_browser(place, tmp_path):
    survey = place.new("", "new")
    with running(place) as address, chromium() as driver:
        resize(driver, 1280)
        page = Browser(driver=driver)
        driver.get(f"{address}/owner/?key={KEY}")
        page.until("location.search === ''")
        driver.get(f"{address}/owner/s/new/design?language=en")
        page.until("document.getElementById('marked').checkVisibility()")
        assert page.find("#questions-fault").text == "Add a question."
        # a question is typed with the keyboard alone
        page.find("#add").click()
        driver.switch_to.active_element.send_keys(NASTY)
        page.until("document.body.dataset.margins")
        page.until("document.querySelector('.card output').textContent === '±2.6 points'")
        assert page.find("#margins tbody th").text == NASTY
        page.planned(lambda: page.find("#add").click())
        form = "const f = document.getElementById('q2-form'); f.value = 'mean';"
        page.planned(lambda: driver.execute_script(f"{form} f.dispatchEvent(new Event('change'))"))
        assert "margins ±" in page.find("#line").text
        # numbers that cannot be are said at their entry, and stay
        for epsilon in ("0", "-1", "abc"):
            page.type("#survey-epsilon", epsilon)
            page.until("!document.getElementById('survey-epsilon-fault').hidden")
            assert page.find("#survey-epsilon").get_attribute("value") == epsilon
            assert page.find("#survey-epsilon").get_attribute("aria-invalid") == "true"
        page.planned(lambda: page.type("#survey-epsilon", "1.5"))
        page.planned(lambda: page.type("#survey-users", "4000"))
        page.until("document.getElementById('saved').textContent === 'All changes are saved.'")
        saved = tomllib.loads(survey.draft)
        assert saved["survey"]["epsilon"] == 1.5
        assert [item["text"] for item in saved["questions"][:1]] == [NASTY]
        plan = plan_of(saved)
        rows = [row.text for row in driver.find_elements("css selector", "#margins td")]
        assert rows[0] == f"±{plan.results[0].points:.1f} points"
        # closed while it is typed, and opened again
        page.find("#survey-title").send_keys(" closed")
        assert driver.current_url.startswith(f"{address}/owner/s/new/design")  # whoever named it
        driver.get("about:blank")
        driver.get(f"{address}/owner/s/new/design?language=en")
        page.until("document.body.dataset.margins")
        assert page.find("#survey-title").get_attribute("value") == "New survey closed"
        # removed, and back
        page.planned(lambda: page.find(".card [data-action=remove]").click())
        assert len(driver.find_elements("css selector", ".card")) == 1
        page.planned(lambda: page.find("#undo").click())
        assert len(driver.find_elements("css selector", ".card")) == 2
        # a file is read, and everything fits and passes axe-core at each width
        path = tmp_path / "staff.toml"
        path.write_text(STAFF, encoding="utf-8")
        page.planned(lambda: page.find("#import").send_keys(str(path)))
        assert tomllib.loads(survey.draft) == tomllib.loads(STAFF)
        page.find("#build").click()
        page.until("document.querySelector('#build-result .built')")
        assert survey.state == "built"
        driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
        script = axe.axe_script()
        # what the bar covers for now, axe-core could not judge
        driver.execute_script("document.getElementById('bar').style.position = 'static'")
        for width, scheme in ((1280, "light"), (768, "dark"), (390, "light"), (320, "dark")):
            driver.execute_cdp_cmd(
                "Emulation.setEmulatedMedia",
                {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
            )
            resize(driver, width)
            assert driver.execute_script("return document.documentElement.scrollWidth") <= width
            if script is not None:
                assert axe.violations(driver, script) == [], width
        assert driver.execute_script("return window.ran") is None
        said = [entry["message"] for entry in driver.get_log("browser")]
        # a page that was opened while the one before still saved is loaded again
        assert [text for text in said if "409 (Conflict)" not in text] == []


def test_the_script_is_small():
    script = files("mechdesign.serve").joinpath("templates", "design.js").read_bytes()
    assert len(script) < 40_000
    assert b"innerHTML" not in script
    assert b"eval(" not in script
    assert text_of_draft(draft_of_text(SMALL)).startswith("#")
