"""The scripts of the how-to for survey tools, in a browser and pages that imitate the hooks of the tools."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mechdesign.export import export
from mechdesign.primitives import KaryResponse
from tests.support.browser import CHROMIUM, DRIVER, REASON, chromium, forget, served, wait

in_browser = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=REASON)
HOWTO = Path(__file__).parents[2] / "docs" / "howto" / "deploy.md"
LABELS = ["well", "so-so", "badly"]

LIMESURVEY = """<form id="limesurvey" method="post">{fields}
<input type="text" id="answer123X4X5" name="123X4X5" value="">{script}</form>"""

QUALTRICS = """<form><div class="QuestionText">{fields}</div></form><script>
window.stored = {{}};
const ready = [];
const Qualtrics = {{ SurveyEngine: {{
  addOnReady: (act) => ready.push(act),
  setJSEmbeddedData: (name, value) => {{ stored["__js_" + name] = value; }},
}} }};
{script}
ready.forEach((act) => act.call({{ questionId: "QID1" }}));
</script>"""

SURVEYJS = """<form><div id="question">{fields}</div></form><script type="module">
window.stored = {{}};
const heard = [];
const survey = {{
  onAfterRenderQuestion: {{ add: (act) => heard.push(act) }},
  setValue: (name, value) => {{ stored[name] = value; }},
}};
{script}
for (const name of ["another", "mood"]) {{
  const htmlElement = document.getElementById(name === "mood" ? "question" : "no");
  heard.forEach((act) => act(survey, {{ question: {{ name }}, htmlElement }}));
}}
</script>"""

FORM = """const form = [...new FormData(document.querySelector("form"))];
return JSON.stringify(Object.fromEntries([...form, ...Object.entries(window.stored ?? {})]));"""


def blocks(address):
    """Return the fields, the module, and the script of each tool, with the address of the test."""
    text = HOWTO.read_text(encoding="utf-8").partition("## Use it in LimeSurvey")[2]
    found = re.findall(r"```(?:html|js)\n(.*?)```", text, re.DOTALL)
    return [each.replace("https://example.org", address) for each in found]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    with served(folder) as server:
        fields, module, *scripts = blocks(server.address)
        (folder / "mood.js").write_text(export(KaryResponse.of(3, 1.0, LABELS), "js"), encoding="utf-8")
        (folder / "private.js").write_text(module, encoding="utf-8")
        for name, page, script in zip(TOOLS, (LIMESURVEY, QUALTRICS, SURVEYJS), scripts, strict=True):
            body = page.format(fields=fields, script=script)
            (folder / f"{name}.html").write_text(f"<!doctype html><title>x</title>{body}", encoding="utf-8")
        yield server


TOOLS = {"limesurvey": "123X4X5", "qualtrics": "__js_report", "surveyjs": "report"}
"""Under which name each tool stores the report."""


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


@in_browser
@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_the_tool_gets_the_report_and_nothing_else(browser, site, tool):
    def stored():
        return json.loads(browser.execute_script(FORM)).get(TOOLS[tool])

    forget(browser, site.address)
    browser.get(f"{site.address}/{tool}.html")
    inputs = browser.find_elements("css selector", "[data-answer]")
    assert [each.get_attribute("data-answer") for each in inputs] == LABELS
    hears = "return localStorage.getItem(Object.keys(localStorage).find((key) => key.endsWith('probe')))"
    wait(browser, lambda: browser.execute_script(hears) is not None)
    assert not stored()
    inputs[1].click()
    report = wait(browser, stored)
    ((column, value),) = json.loads(report)[0].items()
    assert column.startswith("answer__m")
    assert value in LABELS
    assert list(json.loads(browser.execute_script(FORM))) == [TOOLS[tool]]
    assert not any(each.is_selected() or each.is_enabled() for each in inputs)
    browser.refresh()
    assert wait(browser, stored) == report
    assert not any(each.is_enabled() for each in browser.find_elements("css selector", "[data-answer]"))


@in_browser
def test_a_browser_that_keeps_nothing_says_so_before_an_answer_is_given(browser, site):
    source = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };"
    added = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
    browser.get(f"{site.address}/limesurvey.html?blocked")
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
    assert "This browser keeps nothing" in browser.find_element("id", "private-mood").text
    assert not any(each.is_enabled() for each in browser.find_elements("css selector", "[data-answer]"))


FORMS = """
const kept = new Map();
const setItem = (name, text) => kept.set(name, text);
globalThis.localStorage = { getItem: (name) => kept.get(name) ?? null, setItem };
const { privately } = await import("./private.js");

// A form as a tool shows it: which of its questions are open, and what each got; some answers are chosen.
async function shown(questions, answers, who) {
  const got = {};
  const open = [];
  for (const [id, name] of Object.entries(questions)) {
    const input = { dataset: { answer: answers[id] }, addEventListener: (_, act) => (input.act = act) };
    const root = { id, querySelectorAll: () => [input], append: () => {} };
    privately(await import(`./${name}.mjs`), root, (report) => (got[id] = JSON.parse(report)), who);
    if (!input.disabled) open.push(id);
    if (answers[id] && !input.disabled) input.act();
  }
  return { open, got };
}
const questions = { drink: "drink", smoke: "smoke" };
console.log(JSON.stringify([
  await shown(questions, { drink: "yes" }),
  await shown(questions, { smoke: "no" }),
  await shown(questions, {}),
  await shown({ drink: "drink2027" }, {}),
  await shown(questions, {}, "BBB"),
  await shown({ one: "plain", two: "plain" }, { one: "yes" }),
]));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
def test_each_question_of_a_form_each_wave_and_each_person_is_asked(tmp_path):
    yes_no = KaryResponse.of(2, 1.0, ["no", "yes"])
    surveys = {name: yes_no.described(name, id=name) for name in ("drink", "smoke", "drink2027")}
    for name, survey in {**surveys, "plain": yes_no}.items():
        (tmp_path / f"{name}.mjs").write_text(export(survey, "js"), encoding="utf-8")
    (tmp_path / "private.js").write_text(blocks("https://example.org")[1], encoding="utf-8")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "run.mjs").write_text(FORMS, encoding="utf-8")
    done = subprocess.run(["node", tmp_path / "run.mjs"], capture_output=True, text=True, check=True)
    first, second, again, wave, other, plain = json.loads(done.stdout)
    assert (first["open"], list(first["got"])) == (["drink", "smoke"], ["drink"])
    assert second["open"] == ["smoke"]
    assert (again["open"], again["got"]) == ([], second["got"])
    columns = {name: surveys[name].recipe().columns[0] for name in ("drink", "smoke")}
    assert {name: list(rows[0]) for name, rows in again["got"].items()} == {
        name: [column] for name, column in columns.items()
    }
    assert columns["drink"] != columns["smoke"]
    assert (wave["open"], other["open"]) == (["drink"], ["drink", "smoke"])
    assert (plain["open"], list(plain["got"])) == (["one", "two"], ["one"]), "by the fieldset, too"
