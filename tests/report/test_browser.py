"""The page in a real browser: it renders, filters, copies, works by keyboard, and fits a phone."""

from __future__ import annotations

import json

import pytest

from mechdesign.catalog import load_model
from mechdesign.papers.shown.page import model_result, models_page
from mechdesign.report.page import mechanism_page
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium, wait

pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)
SLUGS = ["response/zhou2019_survey", "contract/three_types", "mean/rcp2023_single"]


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        size = driver.get_window_size()
        yield driver
        driver.set_window_size(size["width"], size["height"])


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    results = [model_result(load_model(slug)) for slug in SLUGS]
    mechanism = load_model(SLUGS[0]).problem
    import mechdesign as md

    (folder / "models.html").write_text(models_page(results, "1"), encoding="utf-8")
    (folder / "survey.html").write_text(
        mechanism_page(md.solve(mechanism).mechanism(), "survey.json", "1"), encoding="utf-8"
    )
    return folder


@pytest.fixture
def models(browser, pages):
    browser.set_window_size(1200, 900)
    browser.get((pages / "models.html").as_uri())
    return browser


def shown(browser):
    entries = browser.find_elements("css selector", "article")
    return [entry.get_attribute("id") for entry in entries if entry.is_displayed()]


def type_into(browser, text):
    field = browser.find_element("name", "search")
    field.clear()
    field.send_keys(text or " ")


def test_pages_render_without_any_word_on_the_console(browser, pages):
    for name in ("models.html", "survey.html"):
        browser.get((pages / name).as_uri())
        assert browser.get_log("browser") == []
        assert browser.find_element("tag name", "h1").is_displayed()


def test_search_family_and_verdict_filter(models):
    from selenium.webdriver.support.ui import Select

    assert len(shown(models)) == 3
    type_into(models, "three types")
    assert shown(models) == ["contract-three-types"]
    assert models.find_element("id", "count").text == "1 of 3 models"
    type_into(models, "no such thing")
    assert shown(models) == []
    type_into(models, "")
    Select(models.find_element("name", "family")).select_by_visible_text("mean")
    assert shown(models) == ["mean-rcp2023-single"]
    Select(models.find_element("name", "family")).select_by_visible_text("all")
    Select(models.find_element("name", "verdict")).select_by_value("refuted")
    assert "contract-three-types" in shown(models)
    Select(models.find_element("name", "verdict")).select_by_value("problem")
    assert shown(models) == []
    assert models.get_log("browser") == []


def test_the_keyboard_opens_a_model_and_mathematics_and_pictures_have_a_size(models):
    from selenium.webdriver.common.keys import Keys

    summary = models.find_element("css selector", "#mean-rcp2023-single summary")
    picture = models.find_element("css selector", "#mean-rcp2023-single figure svg")
    assert not picture.is_displayed()
    summary.send_keys(Keys.ENTER)
    assert picture.is_displayed()
    assert picture.size["width"] > 300
    formula = models.find_element("css selector", "#mean-rcp2023-single math")
    assert formula.size["width"] > 5
    assert picture.get_attribute("role") == "img"
    assert picture.accessible_name


def test_a_button_opens_all_and_one_copies_the_command(models):
    button = models.find_element("id", "all")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    copy = models.find_element("css selector", "#response-zhou2019-survey button[data-copy]")
    assert copy.accessible_name == "Copy the command mechdesign check response/zhou2019_survey"
    models.execute_script("arguments[0].scrollIntoView({block: 'center'})", copy)
    copy.click()
    said = models.find_element("id", "said")
    wanted = "mechdesign check response/zhou2019_survey"
    wait(models, lambda: said.get_attribute("textContent").endswith(wanted))


def test_an_address_with_a_model_opens_it(browser, pages):
    browser.get((pages / "models.html").as_uri() + "#contract-three-types")
    assert browser.find_element("css selector", "#contract-three-types h3").is_displayed()


NASTY = (
    "<script>window.ran=1</script><img src=x onerror='window.ran=1'><meta http-equiv=refresh content=0>]]>"
)


def test_nothing_that_a_file_brings_runs_or_becomes_an_element(browser, tmp_path):
    tex = rf"$\text{{{NASTY}}}$ $\href{{javascript:window.ran=1}}{{x}}$ $\color{{red' onx='1}}x$"
    path = tmp_path / "evil.toml"
    q = json.dumps
    path.write_text(
        f"""[model]
title = {q(NASTY)}
problem = "randomized-response"
source = {{ cite = "javascript:window.ran=1", where = {q(NASTY)} }}
statement = {q(NASTY + tex)}
[parameters]
prior = [0.2, 0.8]
epsilon = 0.1
labels = [{q(NASTY)}, "b"]
[sweep]
epsilon = [0.1, 0.2]
[[figure]]
title = {q(NASTY)}
caption = {q(NASTY)}
y_label = {q(NASTY)}
labels = {{ value = {q(NASTY)} }}
[[claim]]
quantity = "value"
value = 0.5
where = {q(NASTY)}
verdict = "refuted"
reason = {q(NASTY + tex)}
readings = [{{ text = {q(NASTY)}, outcome = "refuted" }}]
"""
    )
    page = tmp_path / "evil.html"
    page.write_text(models_page([model_result(load_model(path))], "1", [NASTY]), encoding="utf-8")
    browser.get(page.as_uri() + "#%E0%A4%A")
    assert browser.get_log("browser") == []
    brought = 'script, img, iframe, main a:not([href^="#"]), meta[http-equiv]'
    count = f"return document.querySelectorAll('{brought}').length"
    assert browser.execute_script(count) == 2, "the page's own script and policy"
    assert browser.execute_script("return window.ran") is None
    assert browser.find_elements("css selector", "main math")


@pytest.mark.parametrize("name", ["models.html", "survey.html"])
def test_a_phone_is_wide_enough(browser, pages, name):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True},
    )
    browser.get((pages / name).as_uri())
    for button in browser.find_elements("id", "all"):
        button.click()
    width = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width <= 360


NARROW = """
const cells = [...document.querySelectorAll("td")].filter((cell) => cell.checkVisibility());
const texts = cells.filter((cell) => cell.closest(".cards") && cell.textContent.trim().length > 30);
return [texts.length, Math.min(...texts.map((cell) => cell.getBoundingClientRect().width))];
"""


@pytest.mark.parametrize("name", ["models.html", "survey.html"])
def test_text_on_a_phone_has_the_width_of_the_phone(browser, pages, name):
    size = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get((pages / name).as_uri())
    for button in browser.find_elements("id", "all"):
        button.click()
    count, narrowest = browser.execute_script(NARROW)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert count > 0
    assert narrowest > 250


def test_a_refuted_claim_is_one_key_away(browser, pages):
    from selenium.webdriver.common.keys import Keys

    browser.set_window_size(1200, 900)
    browser.get((pages / "models.html").as_uri() + "#contract-three-types")
    link = browser.find_element("css selector", "#contract-three-types a")
    place = link.get_attribute("href").partition("#")[2]
    link.send_keys(Keys.ENTER)
    row = browser.find_element("id", place)
    assert "refuted" in row.text
    top = browser.execute_script("return arguments[0].getBoundingClientRect().top", row)
    bar = browser.find_element("css selector", "form.filter").rect["height"]
    assert bar - 1 <= top <= 900, "it is not hidden behind the bar of the filter"


CONTRAST = """
const part = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
const linear = (x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
const light = (rgb) => rgb.map((x) => linear(x / 255))
  .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
let worst = 99;
for (const item of document.querySelectorAll("p, td, th, h1, h2, h3, .mark, .soft, .line, code, button")) {
  if (!item.checkVisibility() || !item.textContent.trim()) continue;
  let ground = item;
  const clear = () => getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)";
  while (ground && clear()) ground = ground.parentElement;
  const levels = [light(part(getComputedStyle(item).color)),
    light(part(getComputedStyle(ground || document.body).backgroundColor))];
  worst = Math.min(worst, (Math.max(...levels) + 0.05) / (Math.min(...levels) + 0.05));
}
return worst;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground_in_light_and_dark(models, scheme):
    models.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    models.find_element("id", "all").click()
    ground = models.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 31)"}[scheme]
    assert models.execute_script(CONTRAST) >= 4.5
    models.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
