"""The results room: nothing below the least number, results by batches, waves, two languages, downloads."""

from __future__ import annotations

import csv
import io
import json
import re
import secrets

import pytest

from mechdesign.collect.scores import few_users, implausible
from mechdesign.core.errors import ParameterError
from mechdesign.families.survey.combined_estimates import NOBODY
from mechdesign.survey import Survey
from tests.export.test_receiver import SHAPES, genuine
from tests.support.serving import KEY, Owner, asked, require_packages

require_packages()
openpyxl = pytest.importorskip("openpyxl", reason="needs the extra mechdesign[xlsx]")

from mechdesign.export import Receiver  # noqa: E402 (needs the packages)
from mechdesign.serve import Place  # noqa: E402
from mechdesign.serve.application import application  # noqa: E402
from mechdesign.serve.demo import add_demo, synthetic_reports  # noqa: E402
from mechdesign.serve.pages import LANGUAGES, room_tables  # noqa: E402
from mechdesign.serve.results import Language  # noqa: E402
from mechdesign.serve.snapshots import estimate_of  # noqa: E402

LEAST = 30
DRAFT = """[survey]
title = "Mood <script>alert(1)</script>"
id = "mood"
wave = "2026"
epsilon = 3.0
users = 200

[[questions]]
name = "mood"
text = "How are you & yours?"
labels = ["change", "yes", "<b>no</b>"]

[[questions]]
name = "hours"
text = "How many hours?"
range = [0, 50]
"""
SINGLE = ("results.xlsx", "results.csv", "results.json", "results.html", "reports.jsonl")
WAVES = ("waves.xlsx", "waves.csv", "waves.html")


@pytest.fixture
def place(tmp_path):
    with Place(tmp_path / "place") as place:
        yield place


@pytest.fixture
def owner(place):
    return Owner(application(place, KEY))


@pytest.fixture
def survey(place):
    made = place.new(DRAFT, "mood")
    made.build()
    made.change(least=LEAST)
    made.begin()
    return made


def add(survey, count, mood="yes", hours=20):
    """Store reports of people who all answer the same."""
    answers = {"mood": [mood] * count, "hours": [hours] * count}
    futures = [survey.post("", [row], secrets.token_bytes(16)) for row in synthetic_reports(survey, answers)]
    assert {future.result() for future in futures} == {204}


def download(owner, name, slug="mood"):
    return asked(owner.application, "GET", f"/owner/s/{slug}/results/{name}", b"", {"cookie": owner.cookie})


def count_on(page):
    match = re.search(r"<li><b>([\d,]+)</b> reports?</li>", page)
    return None if match is None else int(match[1].replace(",", ""))


def test_nothing_is_shown_below_the_least_number_at_any_address(owner, survey):
    add(survey, LEAST - 1)
    column = survey.mechanism.recipe().columns[0]
    for language in LANGUAGES:
        status, page = owner.get("/owner/s/mood/results", **{"accept-language": language})
        assert status == 200
        assert f"{LEAST}" in page
        main = page[page.index("<main") : page.index("</main>")]
        assert count_on(main) is None
        assert "How are you" not in main
        assert "%" not in main
        assert "results/" not in main
    for name in (*SINGLE, *WAVES):
        status, headers, body = download(owner, name)
        assert status == 409, name
        assert headers["cache-control"] == "no-store"
        assert column.encode() not in body
    status, _, body = download(owner, "survey.json")
    assert status == 200
    assert json.loads(body)["about"]["id"] == "mood"


def test_from_the_least_number_on_all_downloads_are_of_the_same_reports(owner, survey):
    add(survey, LEAST)
    status, page = owner.get("/owner/s/mood/results")
    assert status == 200
    assert count_on(page) == LEAST
    files = {name: download(owner, name)[2] for name in SINGLE}
    rows = [json.loads(line) for line in files["reports.jsonl"].splitlines()]
    assert len(rows) == LEAST
    estimate = estimate_of(survey.mechanism, rows)
    tidy = estimate.tidy()
    table = list(csv.DictReader(io.StringIO(files["results.csv"].decode())))
    assert [float(row["estimate"]) for row in table] == tidy["estimate"]
    head, *cells = openpyxl.load_workbook(io.BytesIO(files["results.xlsx"]))["estimates"].iter_rows(
        values_only=True
    )
    place = head.index("estimate")
    assert [row[place] for row in cells] == pytest.approx(tidy["estimate"], rel=1e-12)
    assert b"mechdesign estimate mood-survey.json mood-reports.jsonl" in files["results.html"]
    assert download(owner, "waves.csv")[0] == 400  # there is one wave
    assert download(owner, "other.csv")[0] == 400


def test_results_stay_until_as_many_new_reports_are_there(owner, survey):
    add(survey, LEAST)
    before = [owner.get("/owner/s/mood/results")[1], *(download(owner, name)[2] for name in SINGLE[1:3])]
    for _ in range(3):  # whatever is asked, and however often
        add(survey, (LEAST - 1) // 3, "change", 0)
        for query in ("", "?refresh=1", "?language=de", "?language=en"):
            _, page = owner.get(f"/owner/s/mood/results{query}")
            assert f"<b>{LEAST}</b>" in page
        assert [download(owner, name)[2] for name in SINGLE[1:3]] == before[1:]
        assert len(download(owner, "reports.jsonl")[2].splitlines()) == LEAST
    add(survey, LEAST - 3 * ((LEAST - 1) // 3))
    assert count_on(owner.get("/owner/s/mood/results")[1]) == 2 * LEAST
    assert download(owner, "results.csv")[2] != before[1]


def test_the_rest_comes_in_once_when_collecting_ends(owner, survey):
    add(survey, LEAST)
    owner.get("/owner/s/mood/results")
    add(survey, 4)
    survey.end()
    assert count_on(owner.get("/owner/s/mood/results")[1]) == LEAST + 4
    for _ in range(2):  # ending again and again does not show single reports
        survey.begin()
        add(survey, 1)
        survey.end()
        assert count_on(owner.get("/owner/s/mood/results")[1]) == LEAST + 4
        assert len(download(owner, "reports.jsonl")[2].splitlines()) == LEAST + 4


def test_waves_are_compared_where_both_have_results(place, owner, survey):
    later = place.new(DRAFT.replace('"2026"', '"2027"'), "mood-27")
    later.use(Survey(survey.mechanism).wave("2027").mechanism)
    later.change(least=LEAST)
    later.begin()
    add(survey, 600, "change", 10)
    add(later, LEAST - 1, "yes", 40)
    assert download(owner, "waves.csv", "mood-27")[0] == 409
    add(later, 600, "yes", 40)
    _, page = owner.get("/owner/s/mood-27/results")
    assert "Changes between the waves 2026, 2027" in page
    assert "total of epsilon = 6." in page
    files = {name: download(owner, name, "mood-27") for name in WAVES}
    assert {status for status, _, _ in files.values()} == {200}
    rows = list(csv.DictReader(io.StringIO(files["waves.csv"][2].decode())))
    changes = {row["category"]: row for row in rows if row["wave"] == "2026 to 2027"}
    assert float(changes["mean"]["low"]) > 20.0  # from 10 to 40
    assert float(changes["change"]["high"]) < -0.5
    text = files["waves.html"][2].decode()
    assert "mechdesign estimate mood-survey.json mood-reports.jsonl mood-27-survey.json" in text
    assert "Changes between" not in owner.get("/owner/s/mood/results")[1]


def test_the_owner_makes_the_next_wave_and_builds_it_again(place, owner, survey):
    status, headers, _ = owner.post("/owner/s/mood/collect/wave", wave="2027")
    assert (status, headers["location"]) == (303, "/owner/s/mood-2027/collect")
    later = place.survey("mood-2027")
    about = later.mechanism.about
    assert (later.state, later.settings) == ("built", survey.settings)
    assert (about.wave, [wave.id for wave in about.earlier]) == ("2027", ["mood"])
    assert about.id not in ("", "mood")
    later.save_draft(later.draft.replace("How are you", "And how are you"))
    later.build()  # a word was changed: it follows the same wave
    about = later.mechanism.about
    assert (about.wave, [wave.id for wave in about.earlier]) == ("2027", ["mood"])
    later.save_draft(later.draft.replace('wave = "2027"', 'wave = "2026"'))
    with pytest.raises(ParameterError, match="'2026' is an earlier wave; give this one another name"):
        later.build()
    later.begin()
    add(survey, 100)
    add(later, 100)
    assert "Changes between the waves 2026, 2027" in owner.get("/owner/s/mood-2027/results")[1]
    for name, said in (("", "has no name"), ("2026", "exists already")):
        status, _, page = owner.post("/owner/s/mood-2027/collect/wave", wave=name)
        assert (status, said in page) == (400, True)
    assert len(place.surveys()) == 2


def test_a_first_wave_without_a_name_is_called_as_its_address(place, owner):
    first = place.new(DRAFT.replace('wave = "2026"\n', "").replace('id = "mood"\n', ""), "staff")
    first.build()
    first.change(least=LEAST)
    later = place.next_wave("staff", "2027")
    for survey in (first, later):
        survey.begin()
        add(survey, 60)
    page = owner.get("/owner/s/staff-2027/results")[1]
    assert "Changes between the waves staff, 2027" in page
    assert first.mechanism.about.id not in page
    text = download(owner, "waves.csv", "staff-2027")[2].decode()
    assert {row["wave"] for row in csv.DictReader(io.StringIO(text))} >= {"staff", "2027", "staff to 2027"}


@pytest.mark.parametrize("name", ["hadamard 1000", "sets of cells", "marginal-release", "duchi"])
def test_mechanisms_of_every_kind_have_results(place, owner, name):
    survey = place.adopt(SHAPES[name]().described("Staff", id="staff-2026"), "staff")
    survey.change(least=10)
    survey.begin()
    rows = genuine(survey.mechanism)
    futures = [survey.post("", rows[turn % len(rows)], secrets.token_bytes(16)) for turn in range(20)]
    assert {future.result() for future in futures} == {204}
    status, page = owner.get("/owner/s/staff/results")
    assert (status, count_on(page)) == (200, 20)
    for file in SINGLE:
        assert download(owner, file, "staff")[0] == 200, file


def test_texts_of_the_survey_are_inert_and_no_style_stands_in_an_element(owner, survey):
    add(survey, LEAST)
    for language in LANGUAGES:
        status, page = owner.get(f"/owner/s/mood/results?language={language}")
        assert status == 200
        assert "<script>alert" not in page
        assert "<b>no</b>" not in page
        assert "&lt;b&gt;no&lt;/b&gt;" in page
        assert not re.findall(r"<[^>]* (?:style|on\w+)=", page)
        assert page.count("<svg") >= 2


def test_the_german_page_translates_words_and_numbers_but_no_answer(owner, survey):
    add(survey, LEAST)
    _, page = owner.get("/owner/s/mood/results?language=de")
    assert '<html lang="de">' in page
    assert '<th scope="row">change</th>' in page  # an answer, although it is a word of tables as well
    assert '<th scope="row">yes</th>' in page
    assert "Fehlerspanne" in page
    cells = re.findall(r'<td class="number">([^<]*)<', page)
    assert any(re.search(r"\d,\d", cell) for cell in cells), cells
    assert not re.search(r'<td class="number">[^<]*\d\.\d', page)
    german = Language("de")
    assert german.title("change, of those who answered") == "change, von denen, die geantwortet haben"
    assert german.label("wave: answer") == "Welle: answer"


GROUPED = """[survey]
title = "Heim"
language = "de"
epsilon = 6.0
users = 400
tables = [["ward", "age"]]
group_means = [{ number = "hours", by = "ward" }]
[[questions]]
name = "ward"
text = "Welche Station?"
labels = ["A", "B"]
skip = true
[[questions]]
name = "age"
text = "Wie alt?"
range = [0, 80]
bins = [0, 30, 80]
[[questions]]
name = "hours"
text = "Stunden?"
range = [0, 20]
"""


def test_groups_have_a_part_of_their_own_in_the_words_of_respondents(place, owner):
    survey = place.new(GROUPED, "heim")
    survey.build()
    survey.begin()
    answers = {"ward": ["A", "B"] * 200, "age": [20, 50] * 200, "hours": [5, 9] * 200}
    for row in synthetic_reports(survey, answers):
        survey.take("", [row], secrets.token_bytes(16))
    german = owner.get("/owner/s/heim/results?language=de")[1]
    before, after = german.split("<h2>Gruppen</h2>")
    assert "„Welche Station?“ und „Wie alt?“" in after
    assert "„Stunden?“, in den Gruppen von „Welche Station?“" in after
    assert "Welche Station?" in before
    assert "Prozent jeder Zeile: „Wie alt?“ in Prozent jeder Zeile, von denen" in after
    assert "in den Gruppen von" not in before.split('<section class="result">')[-1]
    page = asked(owner.application, "GET", "/s/heim/")[2].decode()
    for name in ("0 bis 29", "30 bis 80", "keine Angabe"):
        assert f'<th scope="row">{name}</th>' in before
        assert json.dumps(name) in page  # what respondents read
    assert "A, 0 bis 29" in after
    assert '<p class="soft">Hinweis: <span lang="en">' not in german
    assert " to 29" not in german
    english = owner.get("/owner/s/heim/results?language=en")[1]
    assert '<th scope="row">0 to 29</th>' in english
    assert "“Stunden?”, in the groups of “Welche Station?”" in english


def test_notes_and_numbers_of_pictures_are_in_the_owners_language():
    german, english = Language("de"), Language("en")
    note = "too few users for 2 percentages ('of a: b', 'c (d)'): the interval is all that is possible"
    assert german.note(note) == {
        "text": "zu wenige Berichte für 2 Prozentzahlen ('of a: b', 'c (d)'): "
        "Das Intervall ist alles, was möglich ist.",
        "language": "de",
    }
    assert english.note(note) == german.note("unheard of") | {"text": note}
    for real in (*few_users(3), NOBODY, *implausible(["no", "{x}"], [1.6, -0.6], [0.01, 0.01], 0.0, 1.0)):
        assert german.note(real)["language"] == "de"
    picture = '<g id="f-ytick_1"><text x="0.5">0.25</text></g><g id="f-xtick_1"><text>2.1</text></g>'
    assert german.decimals(picture, "y") == picture.replace(">0.25<", ">0,25<")
    assert german.decimals(picture, "") == english.decimals(picture, "xy") == picture


def test_sentences_are_there_in_both_languages():
    english, german = (room_tables("results")[language] for language in LANGUAGES)
    assert list(english) == list(german)
    for name, text in english.items():
        assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", german[name])), name


def test_the_demonstration_has_reports_that_a_receiver_takes(place):
    first, second, draft = add_demo(place)
    assert [survey.state for survey in (first, second, draft)] == ["ended", "collecting", "draft"]
    assert "synthetic" in first.title
    assert "synthetic" in second.mechanism.about.introduction
    text = draft.draft
    assert "synthetic" in text
    receiver = Receiver(second.mechanism)
    head = {"format": "mechdesign-report", "version": 1, "fingerprint": second.mechanism.fingerprint}
    for rows in second.reports()[:20]:
        assert receiver.rows({**head, "survey": second.mechanism.about.id, "rows": rows}) == rows
    assert sum(second.count_by_day().values()) == second.count
