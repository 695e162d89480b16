"""Surveys that run the same mechanism are kept apart: by pages on one device, in messages and in clients."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from mechdesign.core.errors import DataError
from mechdesign.export import ExportSettings, Receiver, compare_export, export
from mechdesign.primitives import KaryResponse
from tests.export.test_python_client import loaded
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium, forget, open_anew, served, wait
from tests.support.clients import CLIENTS

in_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)
YES_NO = KaryResponse.of(2, 1.0, ["no", "yes"])
SURVEYS = {
    "smoke": YES_NO.described("Health 2026", "Do you smoke?", id="health-2026"),
    "steal": YES_NO.described("Crime 2026", "Have you ever stolen?", id="crime-2026"),
    "wave2": YES_NO.described("Health 2026", "Do you smoke?", id="health-2027"),
    "plain": YES_NO,
    "joint": CLIENTS["joint-response"]().described("Joint", id="joint-1"),
    "joint2": CLIENTS["joint-response"]().described("Joint", id="joint-2"),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("surveys")
    with served(folder) as server:
        server.folder = folder
        for name, survey in SURVEYS.items():
            about = survey.about
            settings = ExportSettings(about.title, about.question, "/reports")
            (folder / f"{name}.html").write_text(export(survey, "html", settings), encoding="utf-8")
        yield server


@pytest.fixture(scope="module")
def device():
    with chromium() as driver:
        yield driver


@pytest.fixture
def visit(device, site):
    """Return a function that opens a page of the site, on a device that keeps nothing."""
    forget(device, site.address)
    site.posted.clear()
    return lambda page: opened(device, f"{site.address}/{page}")


def opened(device, address):
    """Open a page and return what it shows: the form, or the report."""
    open_anew(device, address)
    return shown(device)


def shown(device):
    (name,) = [name for name in ("form", "made") if device.find_element("id", name).is_displayed()]
    return name


def displayed(device, name):
    """Whether a part of the page is shown; a page that is being loaded again shows nothing yet."""
    from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException

    try:
        return device.find_element("id", name).is_displayed()
    except (NoSuchElementException, StaleElementReferenceException):
        return False


def make(device):
    """Choose first answers and return the report's rows."""
    for group in {each.get_attribute("name") for each in device.find_elements("css selector", "input")}:
        device.find_element("css selector", f"input[name='{group}']").click()
    device.find_element("id", "make").click()
    return rows(device)


def rows(device):
    wait(device, device.find_element("id", "made").is_displayed)
    return [json.loads(line) for line in device.find_element("id", "report").text.splitlines()]


def text(device, name):
    return device.find_element("id", name).text


@in_browser
def test_another_survey_and_another_wave_are_asked_and_send_their_own_reports(device, site, visit):
    sent = {}
    for name in ("smoke", "steal", "wave2", "plain"):
        assert visit(f"{name}.html") == "form", name
        assert text(device, "earlier") == ""
        sent[name] = make(device)
        device.find_element("id", "send").click()
        wait(device, lambda: text(device, "status").startswith("Sent"))
    for name, posted in zip(sent, map(json.loads, site.posted), strict=True):
        assert posted["rows"] == sent[name]
        assert posted.get("survey", "") == SURVEYS[name].about.id
        assert Receiver(SURVEYS[name]).rows(posted) == sent[name]
    for name, report in sent.items():
        assert visit(f"{name}.html") == "made", name
        assert rows(device) == report


@in_browser
def test_pages_that_are_opened_as_files_are_kept_apart(device, site):
    places = [(site.folder / f"{name}.html").as_uri() for name in ("smoke", "steal")]
    assert opened(device, places[0]) == "form"
    first = make(device)
    assert opened(device, places[1]) == "form"
    make(device)
    assert opened(device, places[0]) == "made"
    assert rows(device) == first


@in_browser
def test_a_second_link_on_the_same_device_is_asked_and_told(device, site, visit):
    sent = {}
    for token, others in (("AAA", 0), ("BBB", 1)):
        assert visit(f"smoke.html#token={token}") == "form"
        assert ("answered this survey for another link" in text(device, "earlier")) == bool(others)
        sent[token] = make(device)
        device.find_element("id", "send").click()
        wait(device, lambda: text(device, "status").startswith("Sent"))
    assert [(each["token"], each["rows"]) for each in map(json.loads, site.posted)] == list(sent.items())
    assert visit("smoke.html#token=AAA") == "made", "the same link: the same report"
    assert rows(device) == sent["AAA"]
    assert visit("smoke.html") == "form"
    assert "3 reports of one person give away epsilon = 3 in total" in text(device, "earlier")


@in_browser
def test_a_second_link_that_is_opened_in_the_same_window_is_asked(device, site, visit):
    visit("smoke.html#token=AAA")
    report = make(device)
    device.get(f"{site.address}/smoke.html#token=BBB")  # only what follows the # differs
    wait(device, lambda: displayed(device, "form"))
    assert "for another link" in text(device, "earlier")
    device.get(f"{site.address}/smoke.html#token=AAA")
    wait(device, lambda: displayed(device, "made"))
    assert rows(device) == report


@in_browser
def test_another_round_says_what_all_reports_give_away(device, site, visit):
    visit("smoke.html#token=AAA")
    make(device)
    assert "round" not in text(device, "again")
    assert visit("smoke.html?round=2#token=AAA") == "form"
    told = text(device, "earlier")
    assert "a report for this survey in another round before" in told
    assert "2 reports of one person give away epsilon = 2 in total" in told
    make(device)
    assert "epsilon = 2 in total" in text(device, "again")
    assert visit("smoke.html?round=%20x%3D&round=9#token=AAA") == "form"
    assert "2 reports for this survey" in text(device, "earlier")
    assert "epsilon = 3 in total" in text(device, "earlier")


@in_browser
def test_permanent_responses_belong_to_a_survey_and_a_link(device, site, visit):
    for page in ("joint.html", "joint2.html", "joint.html#token=AAA", "joint.html#token=BBB"):
        assert visit(page) == "form"
        assert device.find_elements("css selector", "#questions input"), "the second one is asked, too"
        make(device)
    assert visit("joint.html?round=2#token=BBB") == "form"
    assert not device.find_elements("css selector", "#questions input")
    promise = SURVEYS["joint"].audit().epsilon
    assert f"together, at most 5, give away epsilon = {promise:g}." in text(device, "earlier")
    device.find_element("id", "make").click()
    wait(device, device.find_element("id", "made").is_displayed)
    kept = json.loads(device.execute_script("return JSON.stringify(localStorage)"))
    made = [json.loads(value)["made"] for name, value in kept.items() if "permanent" in name]
    assert sorted(made) == [1, 1, 1, 2]


def message(survey, **more):
    report = survey.randomize(["yes"], rng=1)
    said = {"format": "mechdesign-report", "version": 1, "fingerprint": survey.fingerprint}
    named = {"survey": survey.about.id} if survey.about.id else {}
    return {**said, **named, "rows": [{survey.recipe().columns[0]: str(report[0])}], **more}


@pytest.mark.parametrize("mine", ["smoke", "plain"])
@pytest.mark.parametrize("theirs", ["smoke", "steal", "wave2", "plain"])
def test_a_receiver_refuses_messages_of_another_survey(mine, theirs):
    receiver, sent = Receiver(SURVEYS[mine]), message(SURVEYS[theirs])
    if mine == theirs:
        assert receiver.rows(sent) == sent["rows"]
        return
    with pytest.raises(DataError) as caught:
        receiver.rows(sent)
    told = str(caught.value)
    assert SURVEYS[theirs].about.id in told
    assert SURVEYS[mine].about.id in told
    own = message(SURVEYS[mine])["rows"]
    for odd in ([], {}, 3, "a b", None):
        with pytest.raises(DataError):
            receiver.rows({**sent, "survey": odd, "rows": own if odd is not None else sent["rows"]})


@pytest.mark.parametrize("kind", ["js", "python", "r", "vectors", "html"])
def test_an_export_names_its_survey_and_is_not_taken_for_another_ones(tmp_path, kind):
    place = tmp_path / "client"
    place.write_text(export(SURVEYS["smoke"], kind), encoding="utf-8")
    assert "health-2026" in place.read_text(encoding="utf-8")
    assert compare_export(SURVEYS["smoke"], place).holds
    for other in ("steal", "plain"):
        assert not compare_export(SURVEYS[other], place).tables


def test_the_python_client_refuses_what_another_surveys_client_keeps(tmp_path):
    one, two = (loaded(export(SURVEYS[name], "python")) for name in ("joint", "joint2"))
    one["remember"]([0, 0], tmp_path / "kept.json")
    assert one["report"](tmp_path / "kept.json")
    with pytest.raises(two["RandomizerError"], match=r"another mechanism or survey .*survey=joint-1"):
        two["report"](tmp_path / "kept.json")


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
def test_two_clients_of_one_form_keep_their_own_permanent_responses(tmp_path):
    for name in ("joint", "joint2"):
        (tmp_path / f"{name}.mjs").write_text(export(SURVEYS[name], "js"), encoding="utf-8")
    (tmp_path / "run.mjs").write_text(
        """
import * as one from "./joint.mjs";
import * as two from "./joint2.mjs";
const kept = new Map();
const storage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, text) => kept.set(name, text) };
await one.remember([0, 0], storage);
await two.remember([1, 2], storage);
const places = [...kept.keys()].filter((name) => name.includes("permanent"));
console.log(JSON.stringify([one.SURVEY, two.SURVEY, places.length]));
""",
        encoding="utf-8",
    )
    done = subprocess.run(["node", tmp_path / "run.mjs"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["joint-1", "joint-2", 2]
