"""The page for respondents in a real browser: drawn, shown, sent, kept, accessible, and self-contained."""

from __future__ import annotations

import json
import re
import time
from contextlib import contextmanager

import pytest
from scipy import stats

from mechdesign.exact.randomness import TOTAL
from mechdesign.export import ExportSettings, export
from mechdesign.primitives import KaryResponse
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium, forget, open_anew, served, wait
from tests.support.clients import CLIENTS, NAMES, write_modules

in_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)
MANY = KaryResponse.of(1024, 2.0)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    with served(folder) as server:
        server.folder = folder
        pages = {
            "mood": ("kary-response", ExportSettings("Mood", "How often are you sad?", "/reports")),
            "file": ("kary-response", ExportSettings("Your mood", "How often are you sad?")),
            "several": ("attribute-sampling", ExportSettings("Health", "Three numbers", "/reports")),
            "joint": ("joint-response", ExportSettings(post="/reports")),
            "bits": ("joint bits alone", ExportSettings(post="/reports")),
            "weekly": ("weekly-response", ExportSettings("Mood", "How often are you sad?", "/reports")),
            "changing": ("weekly buckets", ExportSettings("Place", "Where are you?", "/reports")),
        }
        for name, (client, settings) in pages.items():
            (folder / f"{name}.html").write_text(
                export(CLIENTS[client](), "html", settings), encoding="utf-8"
            )
        (folder / "many.html").write_text(export(MANY, "html"), encoding="utf-8")
        yield server


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


@pytest.fixture
def visit(browser, site):
    """Open a page as a new respondent."""

    def visit(name, keep=False):
        if not keep:
            forget(browser, site.address)
        site.posted.clear()
        browser.get_log("browser")
        open_anew(browser, f"{site.address}/{name}")
        return browser

    return visit


def at(browser, name):
    return browser.find_element("id", name)


def answered(browser, value="0"):
    browser.find_element("css selector", f"input[value='{value}']").click()
    at(browser, "make").click()
    wait(browser, at(browser, "made").is_displayed)
    return json.loads(at(browser, "report").text)


@in_browser
def test_vectors_of_every_client_come_out_in_a_browser(browser, site):
    """A hundred, from the first to the last: all come out in node, which has the same interpreter."""
    stems = write_modules(site.folder, most=100)
    (site.folder / "empty.html").write_text("<!doctype html><title>x</title>", encoding="utf-8")
    browser.get(f"{site.address}/empty.html")
    script = """
const [stems, done] = arguments;
(async () => {
  const found = {};
  for (const stem of stems) {
    const client = await import(`/${stem}.mjs`);
    const { vectors } = await (await fetch(`/${stem}.json`)).json();
    found[stem] = { tried: vectors.length, wrong: vectors.filter(([answer, text, report]) => {
      const source = client.tape(Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16)));
      const made = client.randomize(answer, source);
      return JSON.stringify(made) !== JSON.stringify(report) || source.left() !== 0;
    }).length };
  }
  return found;
})().then(done, (error) => done(String(error)));
"""
    browser.set_script_timeout(120)
    found = browser.execute_async_script(script, stems)
    assert len(found) == len(CLIENTS)
    assert {entry["wrong"] for entry in found.values()} == {0}
    assert min(entry["tried"] for entry in found.values()) >= 60


@in_browser
def test_a_million_draws_of_the_browsers_generator_have_the_exact_law(browser, site):
    """Chi-square against the integer weights: a correct client fails with probability 1e-6."""
    (site.folder / "draws.mjs").write_text(export(CLIENTS["kary-response"](), "js"), encoding="utf-8")
    (site.folder / "empty.html").write_text("<!doctype html><title>x</title>", encoding="utf-8")
    browser.get(f"{site.address}/empty.html")
    browser.set_script_timeout(120)
    script = """
const [names, done] = arguments;
import("/draws.mjs").then((client) => {
  const counts = new Array(5).fill(0);
  for (let turn = 0; turn < 1000000; turn++) counts[names.indexOf(client.randomize(names[1]))]++;
  done(counts);
});
"""
    counts = browser.execute_async_script(script, list(NAMES))
    weights = CLIENTS["kary-response"]().weights
    expected = [1e6 * (weights.high if place == 1 else weights.low) / TOTAL for place in range(5)]
    assert stats.chisquare(counts, expected).pvalue > 1e-6


@in_browser
def test_the_report_is_shown_before_it_is_sent_and_the_answer_never(visit, site):
    browser = visit("mood.html#token=abc-1")
    shown = answered(browser, "2")
    assert site.posted == []
    at(browser, "send").click()
    wait(browser, lambda: at(browser, "status").text.startswith("Sent"))
    (body,) = map(json.loads, site.posted)
    fingerprint = CLIENTS["kary-response"]().fingerprint
    number = body.pop("retry")
    assert re.fullmatch("[0-9a-f]{32}", number)
    assert body == {
        "format": "mechdesign-report",
        "version": 1,
        "fingerprint": fingerprint,
        "rows": [shown],
        "token": "abc-1",
    }
    assert list(shown) == [f"mood__m{fingerprint[:12]}"]
    assert browser.get_log("browser") == []
    kept = browser.execute_script("return JSON.stringify(localStorage)")
    assert json.loads(json.loads(kept)[f"mechdesign report {fingerprint} 1 token=abc-1"]) == {
        "rows": [shown],
        "sent": True,
        "retry": number,
    }
    assert browser.execute_script("return new FormData(document.getElementById('form')).get('q0')") is None


@in_browser
def test_asked_twice_it_returns_the_stored_report(visit):
    first = answered(visit("mood.html"), "1")
    for _ in range(3):
        browser = visit("mood.html", keep=True)
        assert not at(browser, "form").is_displayed()
        assert json.loads(at(browser, "report").text) == first
        assert "made before" in at(browser, "again").text


@in_browser
def test_a_post_that_is_refused_loses_nothing_and_says_what_to_do(visit, site):
    browser = visit("mood.html")
    shown = answered(browser)
    wrong = (
        "Not sent: this link is incomplete or wrong. Your report is kept; open the link that you were sent."
    )
    down = "Not sent: the server answered 503. Your report is kept; try again later."
    used = "A report was already received for this link; this one does not count."
    for site.status, text in (
        (400, wrong),
        (503, down),
        (403, wrong),
        (409, used),
        (204, "Sent. Thank you."),
    ):
        at(browser, "send").click()
        wait(browser, lambda text=text: at(browser, "status").text == text)
    assert json.loads(site.posted[-1])["rows"] == [shown]


@in_browser
def test_without_an_address_the_report_is_a_file(visit, site, tmp_path):
    browser = visit("file.html")
    browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    shown = answered(browser)
    at(browser, "send").click()
    wait(browser, lambda: list(tmp_path.glob("*.jsonl")))
    (path,) = tmp_path.glob("*.jsonl")
    assert json.loads(path.read_text()) == shown
    assert site.posted == []


@in_browser
def test_storage_that_is_blocked_is_said_before_the_answer_is_asked(browser, site):
    source = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };"
    added = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
    browser.get(f"{site.address}/mood.html?blocked")
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
    assert "storage is blocked or full" in at(browser, "notice").text
    assert not at(browser, "form").is_displayed()


@in_browser
def test_several_numbers_are_asked_by_name(visit, site):
    browser = visit("several.html")
    for place, value in enumerate(("40", "1000", "77.5")):
        at(browser, f"q{place}").send_keys(value)
    at(browser, "make").click()
    wait(browser, at(browser, "made").is_displayed)
    assert len(at(browser, "report").text.splitlines()) == 2
    browser = visit("several.html")
    at(browser, "q0").send_keys("400")
    at(browser, "make").click()
    assert not at(browser, "made").is_displayed()


@in_browser
def test_reports_of_a_joint_response_come_from_what_the_device_keeps(visit):
    browser = visit("joint.html")
    for value in ("q0", "q1"):
        browser.find_element("css selector", f"input[name='{value}']").click()
    at(browser, "make").click()
    wait(browser, at(browser, "made").is_displayed)
    browser = visit("joint.html?round=2", keep=True)
    assert browser.find_elements("css selector", "#questions input") == []
    at(browser, "make").click()
    wait(browser, at(browser, "made").is_displayed)
    kept = json.loads(browser.execute_script("return JSON.stringify(localStorage)"))
    (permanent,) = [text for key, text in kept.items() if key.startswith("mechdesign permanent")]
    assert json.loads(permanent)["made"] == 2


@in_browser
def test_one_bit_of_two_values_is_noisy_once_and_then_repeated(visit):
    """Nine questions with two answers: the page keeps nine bits, and both reports are these bits."""
    mechanism, browser = CLIENTS["joint bits alone"](), visit("bits.html")
    for place in range(9):
        browser.find_elements("css selector", f"input[name='q{place}']")[place % 2].click()
    at(browser, "make").click()
    wait(browser, at(browser, "made").is_displayed)
    reports = [json.loads(at(browser, "report").text)]
    browser = visit("bits.html?round=2", keep=True)
    at(browser, "make").click()
    wait(browser, at(browser, "made").is_displayed)
    state, _ = permanent_of(browser)
    assert state["made"] == 2
    reports += [json.loads(at(browser, "report").text)]
    texts = [text for report in reports for text in report.values()]
    assert texts == ["x" + state["bits"]] * 2
    assert mechanism.read(texts).shape == (2, 2)


def permanent_of(browser):
    """Return what the browser keeps of the survey."""
    kept = json.loads(browser.execute_script("return JSON.stringify(localStorage)"))
    (text,) = [text for key, text in kept.items() if key.startswith("mechdesign permanent")]
    return json.loads(text), json.dumps(kept, ensure_ascii=False)


@in_browser
def test_weekly_reports_come_from_a_set_that_the_browser_keeps(visit):
    """The answer is asked once and not kept; a week after the last planned one is refused."""
    browser = visit("weekly.html")
    browser.find_elements("css selector", "input[name='q0']")[2].click()
    first = None
    for week in range(1, 4):
        if week > 1:
            browser = visit(f"weekly.html?round={week}", keep=True)
            assert "at most 3, give away epsilon = 4" in browser.find_element("css selector", "body").text
            assert browser.find_elements("css selector", "#questions input") == []
        at(browser, "make").click()
        wait(browser, at(browser, "made").is_displayed)
        kept, everything = permanent_of(browser)
        first = first or kept
        assert "the code" not in at(browser, "made").text  # the answers that the set holds, in words
        assert kept == {**first, "made": week}
        assert list(kept["sets"]) == ["0"]
        assert 'say "no"' not in everything.replace("\\", "")
    browser = visit("weekly.html?round=4", keep=True)
    at(browser, "make").click()
    wait(browser, lambda: "3" in browser.find_element("css selector", "body").text)
    assert not at(browser, "made").is_displayed()
    assert permanent_of(browser)[0]["made"] == 3


@in_browser
def test_a_page_for_changing_answers_asks_every_week(visit):
    browser = visit("changing.html")
    for week, answer in enumerate((5, 71), start=1):
        if week > 1:
            browser = visit(f"changing.html?round={week}", keep=True)
        place = browser.find_element("css selector", "#questions select, #questions input")
        place.send_keys(str(answer))
        at(browser, "make").click()
        wait(browser, at(browser, "made").is_displayed)
    kept, _ = permanent_of(browser)
    assert (kept["made"], sorted(kept["sets"])) == (2, ["0", "1", "2"])


@contextmanager
def two_tabs(browser, address):
    """Open an address in two windows, and yield both."""
    first = browser.current_window_handle
    browser.get(address)
    browser.switch_to.new_window("window")
    browser.get(address)
    try:
        yield first, browser.current_window_handle
    finally:
        browser.close()
        browser.switch_to.window(first)


HOLD = """
const [name, locks, done] = arguments;
if (locks) {
  navigator.locks.request(name, () => new Promise((free) => { window.free = free; done(); }));
} else {
  localStorage.setItem(name, `another ${Date.now() + 60000}`);
  window.free = () => localStorage.setItem(name, "");
  done();
}
"""
"""Take the lock of what is kept, as another tab would."""


@in_browser
@pytest.mark.parametrize("locks", [True, False])
def test_two_tabs_take_turns_with_what_the_device_keeps(visit, site, locks):
    """Each tab wants to remember an answer, and four reports of the five that are allowed."""
    browser = visit("joint.html")
    (site.folder / "joint.mjs").write_text(export(CLIENTS["joint-response"](), "js"), encoding="utf-8")
    (site.folder / "empty.html").write_text("<!doctype html><title>x</title>", encoding="utf-8")
    script = """
if (!arguments[0]) Object.defineProperty(navigator, "locks", { value: undefined });
window.said = null;
import("/joint.mjs").then(async (client) => {
  const tried = [() => client.remember([1, 2]), ...Array(4).fill(() => client.report())];
  const said = await Promise.allSettled(tried.map((act) => act()));
  window.said = said.map((each) => each.status === "fulfilled" ? "" : each.reason.message);
});
"""
    with two_tabs(browser, f"{site.address}/empty.html") as tabs:
        lock = f"mechdesign lock {CLIENTS['joint-response']().fingerprint}"
        browser.execute_async_script(HOLD, lock, locks)
        for tab in tabs:
            browser.switch_to.window(tab)
            browser.execute_script(script, locks)
        time.sleep(0.5)
        assert browser.execute_script("return window.said") is None
        assert not browser.execute_script(
            "return Object.keys(localStorage).some((k) => k.includes('permanent'))"
        )
        browser.execute_script("window.free()")
        said = []
        for tab in tabs:
            browser.switch_to.window(tab)
            said.append(wait(browser, lambda: browser.execute_script("return window.said")))
        kept = json.loads(browser.execute_script("return JSON.stringify(localStorage)"))
    (permanent,) = [text for key, text in kept.items() if key.startswith("mechdesign permanent")]
    assert json.loads(permanent)["made"] == 5
    assert sorted(each[0] for each in said) == [
        "",
        "a permanent response is kept already; it is never replaced",
    ]
    later = sorted(text for each in said for text in each[1:])
    assert later == [""] * 5 + ["the guarantee is for 5 reports, which were made"] * 3


@in_browser
def test_two_tabs_of_a_page_make_one_report(visit, site):
    browser = visit("mood.html")
    press = """
document.querySelector("input[value='" + arguments[0] + "']").checked = true;
document.getElementById("form").requestSubmit();
"""
    with two_tabs(browser, f"{site.address}/mood.html") as tabs:
        browser.execute_async_script(HOLD, f"mechdesign lock {CLIENTS['kary-response']().fingerprint}", True)
        for value, tab in enumerate(tabs):
            browser.switch_to.window(tab)
            browser.execute_script(press, value)
        time.sleep(0.3)
        assert not at(browser, "made").is_displayed()
        browser.execute_script("window.free()")
        shown = []
        for tab in tabs:
            browser.switch_to.window(tab)
            wait(browser, at(browser, "made").is_displayed)
            shown.append((at(browser, "report").text, "made before" in at(browser, "again").text))
    assert shown[0][0] == shown[1][0]
    assert sorted(before for _, before in shown) == [False, True]


@in_browser
def test_it_works_by_keyboard_and_every_field_has_a_label(visit):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    browser = visit("mood.html")
    labels = (
        "return [...document.querySelectorAll('input, select')].every((field) => field.labels.length === 1)"
    )
    assert browser.execute_script(labels)
    assert browser.execute_script("return document.querySelector('fieldset legend').textContent")
    ActionChains(browser).send_keys(Keys.TAB, Keys.SPACE, Keys.TAB, Keys.ENTER).perform()
    wait(browser, at(browser, "made").is_displayed)
    assert browser.switch_to.active_element.get_attribute("id") == "heading"


@in_browser
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_has_contrast(visit, width, scheme):
    browser = visit("mood.html")
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    answered(browser)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    for name in ("leaves", "again", "plain", "report", "send", "status"):
        ink, ground = browser.execute_script(
            """
let node = document.getElementById(arguments[0]);
const ink = getComputedStyle(node).color;
while (getComputedStyle(node).backgroundColor === "rgba(0, 0, 0, 0)") node = node.parentElement;
return [ink, getComputedStyle(node).backgroundColor];
""",
            name,
        )
        assert contrast(ink, ground) >= 4.5, (name, ink, ground)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def contrast(one, other):
    high, low = sorted(map(luminance, (one, other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(color):
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@in_browser
def test_a_thousand_categories_are_ready_at_once(visit):
    """Ready in 100 ms on an idle machine; ten times that is allowed on one that is shared."""
    browser = visit("many.html")
    ready = browser.execute_script(
        "const entry = performance.getEntriesByType('navigation')[0];"
        "return entry.domContentLoadedEventEnd - entry.responseEnd"
    )
    assert len(browser.find_elements("css selector", "option")) == 1025
    assert ready < 1000
