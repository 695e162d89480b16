"""Waves, shared devices and links in a browser: what a device keeps, and what its page says of it."""

from __future__ import annotations

import json

import pytest

from mechdesign.core.errors import ParameterError
from mechdesign.core.guarantee import Guarantee
from mechdesign.core.values import changed
from mechdesign.export import ExportSettings, Receiver, compare_export, export
from mechdesign.primitives import KaryResponse
from mechdesign.survey import next_wave, total_of_waves
from tests.export.test_surveys import displayed, make, opened, rows, shown, text
from tests.support.axe import REASON as NO_AXE, axe_script, violations
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium, forget, served, wait
from tests.support.clients import CLIENTS

AXE = axe_script()
in_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)
MOOD = KaryResponse.of(2, 4.0, ["no", "yes"])


def wave(mechanism, name, before, identity):
    return next_wave(mechanism.described("Mood", "Are you well?", id=identity), name, before)


FIRST = MOOD.described("Mood", "Are you well?", id="mood-2026")
FIRST = FIRST.with_about(changed(FIRST.about, wave="2026"))
SECOND = wave(MOOD, "2027", FIRST, "mood-2027")
THIRD = wave(KaryResponse.of(2, 1.5, ["no", "yes"]), "2028", SECOND, "mood-2028")
JOINT = CLIENTS["joint-response"]().described("Joint", id="joint-a")
LATER_JOINT = next_wave(CLIENTS["joint-response"]().described("Joint", id="joint-b"), "2027", JOINT)
PAGES = {"first": FIRST, "second": SECOND, "third": THIRD, "joint": JOINT, "later": LATER_JOINT}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("waves")
    with served(folder) as server:
        server.folder = folder
        for name, survey in PAGES.items():
            settings = ExportSettings(survey.about.title, survey.about.question, "/reports")
            (folder / f"{name}.html").write_text(export(survey, "html", settings), encoding="utf-8")
            german = changed_settings(settings, language="de")
            (folder / f"{name}_de.html").write_text(export(survey, "html", german), encoding="utf-8")
            shared = changed_settings(settings, shared=True)
            (folder / f"{name}_shared.html").write_text(export(survey, "html", shared), encoding="utf-8")
        yield server


def changed_settings(settings, **fields):
    return ExportSettings(**{**settings.as_json(), **fields})


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


def send(device, answer="Sent"):
    device.find_element("id", "send").click()
    wait(device, lambda: text(device, "status").startswith(answer))


def stored(device):
    return device.execute_script("return Object.keys(localStorage)")


@in_browser
def test_a_page_says_what_taking_part_again_reveals(device, visit):
    visit("first.html")
    assert text(device, "earlier") == ""
    make(device)
    assert visit("second.html") == "form"
    said = (
        "You took part in 2026 on this device; answering again doubles what you reveal: epsilon = 4 + 4 = 8."
    )
    assert text(device, "earlier") == said
    make(device)
    assert text(device, "again") == said
    assert visit("third.html") == "form"
    assert "You took part in 2026 and 2027 on this device" in text(device, "earlier")
    assert "epsilon = 4 + 4 + 1.5 = 9.5" in text(device, "earlier")
    assert visit("second_de.html") == "made"
    assert visit("third_de.html") == "form"
    assert "an 2026 und 2027 teilgenommen" in text(device, "earlier")
    assert "epsilon = 4 + 4 + 1,5 = 9,5" in text(device, "earlier")
    assert total_of_waves(THIRD) == Guarantee("9.5", covers="3 waves")


@in_browser
def test_a_device_without_earlier_reports_says_it_in_general(device, visit):
    assert visit("second.html") == "form"
    assert text(device, "earlier").startswith("This survey was also asked in 2026. If you took part then,")
    assert text(device, "earlier").endswith("answering again doubles what you reveal: epsilon = 4 + 4 = 8.")
    visit("first.html#token=a")
    make(device)
    visit("third.html#token=b")
    assert "You took part in 2026 on this device; answering again adds" in text(device, "earlier")
    assert "epsilon = 4 + 1.5 = 5.5" in text(device, "earlier")


@in_browser
def test_waves_of_joint_responses_count_all_reports_of_each_once(device, visit):
    visit("joint.html")
    make(device)
    visit("later.html")
    assert "You took part in an earlier wave on this device" in text(device, "earlier")
    epsilon = JOINT.audit().epsilon
    assert f"epsilon = {epsilon:g} + {epsilon:g} = {2 * epsilon:g}" in text(device, "earlier")


@in_browser
def test_the_total_of_several_links_has_the_reports_of_earlier_waves(device, visit):
    """One report of the first wave and one for another link of the second: with this one they are three."""
    visit("first.html")
    make(device)
    visit("second.html#token=AAA")
    make(device)
    assert visit("second.html#token=BBB") == "form"
    assert "3 reports of one person give away epsilon = 12 in total." in text(device, "earlier")


@in_browser
def test_a_personal_device_says_for_whom_it_has_answered(device, site, visit):
    visit("first.html#token=AAA")
    report = make(device)
    send(device)
    assert visit("first.html#token=AAA") == "made"
    assert rows(device) == report
    assert text(device, "again").startswith("This device has answered this survey for the link “AAA”.")
    assert visit("first.html#token=BBB") == "form"
    assert "for another link" in text(device, "earlier")
    assert "Links that were answered on this device: “AAA”." in text(device, "earlier")
    make(device)
    send(device)
    assert [json.loads(body)["token"] for body in site.posted] == ["AAA", "BBB"]
    assert visit("first.html") == "form"
    assert "“AAA” and “BBB”" in text(device, "earlier")
    make(device)
    assert visit("first.html") == "made"
    assert text(device, "again").startswith(
        "This device has answered this survey. This report was made before"
    )


@in_browser
def test_a_shared_device_keeps_nothing_and_asks_the_next_person(device, site, visit):
    for turn in range(2):
        assert visit("first_shared.html") == "form" if turn == 0 else shown(device) == "form"
        assert "Several people use this device" in device.find_element("css selector", "form").text
        make(device)
        assert displayed(device, "unsent")
        send(device)
        assert not displayed(device, "unsent")
        assert stored(device) == []
        device.find_element("id", "next").click()
        wait(device, lambda: displayed(device, "form"))
        assert not displayed(device, "made")
        assert text(device, "status") == ""
    assert len(site.posted) == 2
    numbers = {json.loads(body)["retry"] for body in site.posted}
    assert len(numbers) == 2
    assert all(Receiver(FIRST).rows(json.loads(body)) for body in site.posted)


@in_browser
def test_a_shared_page_does_not_show_what_another_page_keeps(device, site, visit):
    visit("first_shared.html")
    device.switch_to.new_window("tab")
    assert opened(device, f"{site.address}/first.html") == "form"
    make(device)
    device.close()
    device.switch_to.window(device.window_handles[0])
    assert shown(device) == "form"
    assert text(device, "earlier") == ""
    assert not [entry for entry in device.get_log("browser") if entry["level"] == "SEVERE"]
    assert visit("first_shared.html") == "form"


@in_browser
def test_the_next_person_at_a_shared_device_does_not_have_the_link_of_the_one_before(device, site, visit):
    visit("first_shared.html#token=AAA")
    make(device)
    send(device)
    device.find_element("id", "next").click()
    wait(device, lambda: displayed(device, "form"))
    assert "token" not in device.current_url
    device.execute_script("location.hash = 'token=BBB'")
    wait(device, lambda: displayed(device, "form"))
    make(device)
    send(device)
    assert [json.loads(body).get("token") for body in site.posted] == ["AAA", "BBB"]
    assert stored(device) == []


@in_browser
def test_a_shared_device_speaks_of_waves_in_general(device, visit):
    visit("first.html")
    make(device)
    assert visit("second_shared.html") == "form"
    assert "If you took part then" in text(device, "earlier")
    assert visit("joint_shared.html") == "form"
    make(device)
    assert not [name for name in stored(device) if "joint" in name or "permanent" in name]


@in_browser
def test_waves_as_files_are_told_apart_too(device, site):
    opened(device, (site.folder / "first.html").as_uri())
    device.execute_script("localStorage.clear()")
    device.get((site.folder / "first.html").as_uri())
    wait(device, lambda: displayed(device, "form"))
    make(device)
    assert opened(device, (site.folder / "second.html").as_uri()) == "form"
    assert "epsilon = 4 + 4 = 8" in text(device, "earlier")


def test_an_export_for_shared_devices_is_checked_as_one(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(export(SECOND, "html", ExportSettings("Mood", shared=True)), encoding="utf-8")
    assert compare_export(SECOND, path).holds
    assert not compare_export(FIRST, path).holds


TITLES = [
    "quotes \" and ' and &amp;",
    "</script><script>document.title = 'taken'</script>",
    "😀 emoji",
    "مرحبا بالعالم",
    "@@SCRIPT@@ {count} ${location}",
    "x" * 1000,
]


@in_browser
@pytest.mark.parametrize(("number", "title"), list(enumerate(TITLES)), ids=range(len(TITLES)))
def test_a_title_and_a_wave_with_any_character_are_shown_as_they_are(device, site, number, title):
    survey = MOOD.described(title, title, id="odd")
    survey = next_wave(survey, title, FIRST.with_about(changed(FIRST.about, wave=title[:-1])))
    page = export(survey, "html", ExportSettings(title, title, "/reports"))
    (site.folder / f"odd{number}.html").write_text(page, encoding="utf-8")
    assert opened(device, f"{site.address}/odd{number}.html") == "form"
    assert device.find_element("css selector", "h1").text == title
    assert device.title == title
    assert device.find_element("css selector", "legend").text == title
    assert title[:-1] in text(device, "earlier")
    assert not [entry for entry in device.get_log("browser") if entry["level"] == "SEVERE"]


@in_browser
@pytest.mark.skipif(AXE is None, reason=NO_AXE)
def test_axe_core_finds_nothing_on_a_shared_page_of_a_wave(device, visit):
    visit("second_shared.html")
    assert violations(device, AXE) == []
    make(device)
    assert violations(device, AXE) == []


@pytest.mark.parametrize("name", ["weekly-response", "weekly buckets"])
def test_weekly_reports_have_no_page_for_a_shared_device(name):
    with pytest.raises(ParameterError, match="the epsilons of the weeks would add up"):
        export(CLIENTS[name](), "html", ExportSettings("Mood", shared=True))
