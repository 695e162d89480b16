"""The owner's pages in a real browser: they fit four widths, light and dark, and axe-core finds nothing."""

from __future__ import annotations

from importlib.resources import files

import pytest

from tests.support.axe import REASON as NO_AXE, axe_script, violations
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium, resize, wait
from tests.support.serving import KEY, Running, require_packages

require_packages()

from mechdesign.serve import Place  # noqa: E402 (needs the packages)
from mechdesign.serve.demo import add_demo  # noqa: E402

AXE = axe_script()
in_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)

PAGES = (
    "/",
    "/s/demo-draft/design",
    "/s/demo-2027/design",
    "/s/demo-2027/collect",
    "/s/demo-2027/results",
    "/s/demo-draft/results",
    "/s/absent/results",
)
FEW_PICTURES = "[...document.querySelectorAll('figure')].slice(2).forEach((each) => each.remove())"
"""Pictures are alike, and axe-core takes long for each of their lines."""

MOST_SCRIPT = 60_000
"""Bytes of all scripts of the owner's pages together."""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Return the address of a server with the demonstration."""
    folder = tmp_path_factory.mktemp("look") / "place"
    with Place(folder) as place:
        add_demo(place)
        place.new('[survey]\ntitle = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk"')
    running = Running(folder)
    yield f"http://127.0.0.1:{running.owner_port}/owner"
    assert running.end() == 0


@pytest.fixture(scope="module")
def browser(address):
    with chromium() as driver:
        driver.get(f"{address}/?key={KEY}")
        yield driver


def view(browser, width, scheme, media=""):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    resize(browser, width)


LOADED = [(page, language) for page in PAGES for language in ("en", "de")]


@pytest.fixture(scope="module", params=LOADED, ids=[f"{page} {language}" for page, language in LOADED])
def loaded(browser, address, request):
    """Open a page in a language for all tests of it, and wait until what its script computes is there."""
    page, language = request.param
    browser.get(f"{address}{page}?language={language}")
    if page.endswith("draft/design"):
        rows = "#margins:not([hidden]) tbody tr"
        wait(browser, lambda: browser.find_elements("css selector", rows))
    return language


@in_browser
def test_pages_fit_every_width_in_light_and_dark(browser, loaded):
    for width in (1280, 768, 390, 320):
        view(browser, width, "light" if width > 500 else "dark")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, width
    faults = [entry["message"] for entry in browser.get_log("browser") if "favicon" not in entry["message"]]
    assert [fault for fault in faults if "status of 4" not in fault] == []


@in_browser
@pytest.mark.skipif(AXE is None, reason=NO_AXE)
def test_axe_core_finds_nothing(browser, loaded):
    view(browser, *((1280, "light") if loaded == "en" else (320, "dark")))
    browser.execute_script(FEW_PICTURES)
    assert violations(browser, AXE, undecided=False) == []


@in_browser
def test_results_are_printed_without_what_is_for_the_screen(browser, address):
    browser.get(f"{address}/s/demo-2027/results?language=en")
    view(browser, 700, "light", "print")
    seen = "return [...document.querySelectorAll(arguments[0])].some((each) => each.getClientRects().length)"
    assert not browser.execute_script(seen, "nav, button, .downloads, footer")
    assert browser.execute_script(seen, "table.results")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 700


def test_all_scripts_together_are_small_and_load_nothing():
    folder = files("mechdesign.serve").joinpath("templates")
    scripts = [each.read_text(encoding="utf-8") for each in folder.iterdir() if each.name.endswith(".js")]
    assert 0 < sum(len(script.encode()) for script in scripts) < MOST_SCRIPT
    assert not any(
        word in script for script in scripts for word in ("http://", "https://", "import(", "eval(")
    )
