"""The pages: all in one file, what stands in a model or a mechanism escaped, mathematics rendered."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re
import shlex
import sys
from argparse import Namespace
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import mechdesign as md
from mechdesign.catalog import load_model
from mechdesign.cli import main
from mechdesign.cli.operations import parse_operation
from mechdesign.collect.base import mechanism_types
from mechdesign.core.values import changed
from mechdesign.families.mean import Duchi, Laplace
from mechdesign.papers.shown.page import best_run, model_result, models_page
from mechdesign.primitives import FiniteChannel
from mechdesign.primitives.finite import PrivacyTarget
from mechdesign.report.page import mechanism_page
from mechdesign.report.page.mechanism import error_rows, forecast_users, limits_in_words, privacy_in_words
from mechdesign.report.page.render import marked_up
from mechdesign.work.cache import Cache
from tests.meta.test_shown import MECHANISMS
from tests.support.checks import folder_of_run, solved_once

SLUGS = ["response/zhou2019_survey", "contract/three_types"]
EVEN = md.RandomizedResponse(prior=[0.25] * 4, epsilon=2.5)
VOID = {"meta", "link", "input", "br", "hr", "img"}


class Outline(HTMLParser):
    """Reads a page: every element is closed, every id stands once, what the page would load."""

    def __init__(self, page):
        super().__init__()
        self.open, self.ids, self.loads, self.words = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        """Note what it is and what it refers to."""
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            refers = name in ("src", "href", "srcset", "action", "xlink:href")
            if refers and not value.startswith(("#", "data:,")):
                self.loads.append(value)

    def handle_startendtag(self, tag, attrs):
        """The same, closed at once."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        """It closes the one that was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Collect what people read."""
        if not {"style", "script"} & set(self.open):
            self.words.append(data)

    @property
    def text(self):
        """What people read."""
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def page():
    return models_page([model_result(load_model(slug)) for slug in SLUGS], "1.2.3")


def test_the_page_stands_alone(page):
    outline = Outline(page)
    assert outline.loads == []
    assert len(outline.ids) == len(set(outline.ids))
    assert not re.search(r"@import|url\((?!#)", page)


def test_the_policy_allows_the_one_script_and_no_other(page):
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert page.count("<script") == 1
    assert " onclick" not in page


def test_everything_about_a_model_is_there(page):
    text = Outline(page).text
    for slug in SLUGS:
        check = model_result(load_model(slug)).check
        for run in check.comparison.runs:
            assert run.method in text
        for claim in check.claims:
            assert claim.shown in text
            assert " ".join(claim.remark.split()) in text
        assert f"mechdesign check {slug}" in text
    assert "<svg" in page
    assert "5 refuted" in text


def test_the_best_method_is_named_and_refuted_claims_are_one_step_away(page):
    text, outline = Outline(page).text, Outline(page)
    for slug in SLUGS:
        check = model_result(load_model(slug)).check
        best = best_run(check.comparison)
        assert best.kind != "published"
        assert f"Best: {best.value:.8g}, by {best.method}" in text
        assert text.count(f"{best.method} best") == len(SLUGS)
        for number, claim in enumerate(check.claims, 1):
            place = f"{slug.replace('/', '-').replace('_', '-')}-claim-{number}"
            assert place in outline.ids
            assert (f'href="#{place}"' in page) == (claim.verdict == "refuted")
            subject = claim.subject.replace("_", " ").replace("certificate.", "certificate of ")
            assert f"{number}. {subject}" in text


def test_misprints_are_counted_apart_and_are_no_alarm():
    model = load_model("response/zhou2019_model2")
    page = models_page([model_result(model)], "1")
    text = " ".join(Outline(page).text.split())
    number = sum(claim.verdict == "misprint" for claim in model.claims)
    assert number > 0
    assert f"0 refuted, {number} misprint" in text
    assert f"✗ {number} misprint" in text
    assert 'class="mark fails"' not in page
    assert 'data-verdicts="misprint' in page


def test_claims_that_are_not_decidable_are_counted_apart_and_one_step_away():
    page = models_page([model_result(load_model("response/zhou2019_model1"))], "1")
    text = " ".join(Outline(page).text.split())
    claims = load_model("response/zhou2019_model1").claims
    assert f"{len(claims)} claims, 0 refuted, 1 not decidable here" in text
    assert "? 1 not decidable here" in text
    assert "? not decidable here" in text
    assert "refuted-claim" not in page.split("<body")[1]
    assert 'data-verdicts="undecided' in page, "the filter finds it, and not among those where all holds"
    (claim,) = (claim for claim in claims if claim.verdict == "not-decidable")
    number = claims.index(claim) + 1
    assert f'href="#response-zhou2019-model1-claim-{number}"' in page
    assert "would be decided by the printed page" in text
    assert "Readings tried:" in text


def test_without_agreement_or_a_proof_nothing_is_called_proven():
    comparison = model_result(load_model(SLUGS[1])).check.comparison
    assert best_run(replace(comparison, disagreements=("a: 1, b: 2",))) is None
    feasible = tuple(changed(run, status="feasible") for run in comparison.runs)
    assert best_run(replace(comparison, runs=feasible)).value == min(run.value for run in feasible[:3])
    assert best_run(replace(comparison, runs=())) is None
    places = model_result(load_model("location/planar_laplace")).check.comparison
    assert best_run(places).method == "lattice", "planar noise has a smaller value, and leaks low bits"


def test_certificates_that_fail_as_recorded_are_no_alarm():
    result = model_result(load_model("contract/irregular"))
    assert re.search(r"certificates, \d+ recorded as not holding", Outline(models_page([result], "1")).text)
    comparison, model = result.check.comparison, changed(result.check.model, claims=())
    runs = tuple(changed(run, kind="heuristic") for run in comparison.runs)
    check = replace(result.check, model=model, comparison=replace(comparison, runs=runs))
    broken = replace(result, check=check)
    assert "as not holding" not in Outline(models_page([broken], "1")).text.split("Statement")[0]


def copied(page):
    """The commands that the buttons copy, as a shell splits them."""
    return [shlex.split(html.unescape(text)) for text in re.findall(r'data-copy="([^"]*)"', page)]


def test_commands_of_a_model_give_the_same_result_again(tmp_path, capsys):
    folder = tmp_path / "a folder"
    folder.mkdir()
    path, place = str(folder / "it's mine.toml"), tmp_path / "page.html"
    head = '[model]\ntitle = "A"\nproblem = "randomized-response"\n'
    (folder / "it's mine.toml").write_text(head + "[parameters]\nprior = [0.5, 0.5]\nepsilon = 1.0\n")
    setting = "prior=[0.4, 0.6]"
    assert main(["report", path, "--set", setting, "-o", str(place)]) == 0
    for command, word in zip(copied(place.read_text()), ("check", "solve"), strict=True):
        assert command == ["mechdesign", word, path, "--set", setting]


def require_commands_of_the_shell(mechanism, page):
    """Every command of a mechanism's page is such as the shell takes."""
    names = {operation.name: operation for operation in mechanism.operations()}
    commands = copied(page)[1:]
    assert commands
    for _, name, *rest in commands:
        assert rest.pop(0) == "m.json"
        operation = rest.pop(0) if name == "run" else name
        given = Namespace(operation=operation, mechanism="m.json", rest=rest)
        parsed = parse_operation(given, mechanism)
        if "state" in parsed.option_names and names[operation].gives:
            assert parsed.state


def test_what_stands_in_a_model_file_is_text_and_never_markup(tmp_path):
    path = tmp_path / "evil.toml"
    nasty = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    path.write_text(
        f"""[model]
title = "{nasty}"
problem = "randomized-response"
statement = "{nasty} $x<script>$ `{nasty}` $$ \\\\href{{javascript:alert(1)}}{{a}} $$"
[parameters]
prior = [0.2, 0.8]
epsilon = 1.0
labels = ["{nasty}", "b"]
[[claim]]
quantity = "value"
value = 0.1
where = "{nasty}"
verdict = "refuted"
reason = "{nasty}"
readings = [{{ text = "{nasty}", outcome = "refuted" }}]
[[claim]]
text = "{nasty}"
evidence = ["source: {nasty}"]
"""
    )
    made = models_page([model_result(load_model(path))], "1")
    outline = Outline(made)
    assert made.count("<script") == 1
    assert "<img" not in made
    assert not re.search(r"(href|src)\s*=\s*[\"']?\s*javascript", made)
    assert "alert(1)" in outline.text
    assert outline.loads == []


def test_letters_that_cannot_be_seen_are_shown_by_their_codes():
    assert marked_up("a\u202eb\x00 `c\u2066`") == r"a\u202eb\x00 <code>c\u2066</code>"


def test_commands_on_a_page_name_the_file_and_what_was_set(tmp_path):
    path = tmp_path / "my model; rm -rf x.toml"
    path.write_text('[model]\ntitle = "t"\nproblem = "mean-interval"\n[parameters]\nepsilon = 1.0\n')
    result = model_result(load_model(path))
    made = models_page([result, result], "1", ["epsilon=2.0"])
    commands = [html.unescape(found) for found in re.findall(r'data-copy="([^"]*)"', made)]
    assert shlex.split(commands[0]) == ["mechdesign", "check", str(path), "--set", "epsilon=2.0"]
    names = re.findall(r'<article id="([^"]*)"', made)
    assert len(set(names)) == len(names) == 2


def test_what_stands_in_a_mechanism_is_text_and_never_markup():
    channel = FiniteChannel.from_floats(
        [[0.7, 0.3], [0.3, 0.7]], PrivacyTarget(1.0), ["<script>alert(1)</script>", "b"]
    )
    made = mechanism_page(channel, "<img src=x>.json", "1")
    Outline(made)
    assert made.count("<script") == 1
    assert "<img" not in made


@pytest.mark.parametrize("type_", sorted(mechanism_types()))
def test_every_mechanism_has_a_page_with_commands_that_the_shell_takes(type_):
    mechanism = MECHANISMS[type_][0]()
    made = mechanism_page(mechanism, "m.json", "1")
    outline = Outline(made)
    assert outline.loads == []
    for operation in mechanism.operations():
        assert operation.summary in outline.text
    assert len(mechanism.explained()[0]) > 20
    assert not any("`" in text for text in mechanism.explained()), "people read it, not Sphinx"
    for text in privacy_in_words(mechanism, mechanism.certificates()):
        assert text in outline.text
        assert "nan" not in text
    require_commands_of_the_shell(mechanism, made)


def test_a_privacy_that_is_not_kept_is_said_first():
    class Broken(Duchi):
        def certificates(self):
            first, *rest = super().certificates()
            return (type(first)(first.property, False, True, first.figures), *rest)

    broken = Broken(1.0)
    assert privacy_in_words(broken, broken.certificates()) == [
        "The privacy guarantee FAILS. Do not use this mechanism."
    ]


def test_words_are_never_better_than_the_certificate():
    for epsilon in (0.01, 0.5, 1.0, 3.0, 11.0):
        duchi = Duchi(epsilon)
        words = " ".join(privacy_in_words(duchi, duchi.certificates()))
        sure = float(re.search(r"at most ([\d.]+)% sure", words).group(1))
        factor = float(re.search(r"factor of at most ([\d.e+]+)", words).group(1))
        assert math.exp(epsilon) / (1 + math.exp(epsilon)) <= sure / 100 <= 1.0
        assert math.exp(epsilon) <= factor <= 1.002 * math.exp(epsilon)
    laplace = Laplace(1.0)
    assert "floating point" in " ".join(privacy_in_words(laplace, laplace.certificates()))
    channel = FiniteChannel.from_floats([[0.0, 1.0], [0.1, 0.9]], PrivacyTarget(0.5, 0.1))
    words = " ".join(privacy_in_words(channel, channel.certificates()))
    assert "plus 0.1 (delta)" in words
    assert "one respondent in 10" in words
    assert "Here this happens: some reports are possible for one answer and not" in words
    both = FiniteChannel.from_floats([[0.1, 0.9], [0.2, 0.8]], PrivacyTarget(0.5, 0.1))
    assert "Here this happens" not in " ".join(privacy_in_words(both, both.certificates()))
    assert "sure of one" not in words, "delta is not covered by odds"


def test_the_users_for_an_error_give_that_error():
    duchi = Duchi(1.0, 0.0, 100.0)
    for row in error_rows(duchi):
        error, users = float(row["error"]), int(row["users"].replace(",", ""))
        assert duchi.forecast(users).largest <= error
        assert duchi.forecast(int(0.99 * users)).largest > error
    assert forecast_users(duchi, 1e-9) is None


def test_the_first_error_is_one_that_a_small_survey_can_have():
    for mechanism in (
        Duchi(1.0),
        Duchi(3.0, 0.0, 70.0),
        md.solve(EVEN).mechanism(),
        MECHANISMS["subset-selection"][0](),
    ):
        rows = error_rows(mechanism)
        users = [int(row["users"].replace(",", "")) for row in rows]
        assert len(rows) == 7
        assert 100 <= users[0] <= 700
    release = MECHANISMS["marginal-release"][0]()
    assert all(float(row["error"]) <= 0.2 for row in error_rows(release)), "a share is at most 1"


def test_answers_are_told_from_the_words_around_them():
    survey = md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0, labels=["no", "yes, about once"])
    first = md.solve(survey).mechanism().explained()[1]
    assert first.startswith('Of 1000 users whose answer is "no", about 731 report "no" and')
    assert first.endswith('about 269 report "yes, about once".')


def test_several_reports_and_the_single_one_are_told_apart():
    joint = md.JointCollection(attributes=[2, 2], epsilon=4.0, reports_per_user=5, report_epsilon=2.0)
    mechanism = md.solve(joint).mechanism()
    words = " ".join(privacy_in_words(mechanism, mechanism.certificates()))
    assert "all 5 reports of one respondent together" in words
    assert "One report alone changes the odds by a factor of at most 7.39" in words


def test_a_shuffled_protocol_says_whom_to_trust():
    protocol = MECHANISMS["cnt-rr"][0]()
    assert any("shuffler" in text for text in limits_in_words(protocol))
    assert not any("shuffler" in text for text in limits_in_words(Duchi(1.0)))


def test_the_shell_writes_pages_and_replaces_them_by_force_alone(tmp_path, capsys):
    place, built = str(tmp_path / "page.html"), str(tmp_path / "survey.json")
    for force in ([], ["--force"]):
        assert main(["report", SLUGS[0], "-o", place, *force]) == 0
    assert main(["build", SLUGS[0], "-o", built]) == 0
    assert main(["report", built, "-o", str(tmp_path / "survey.html")]) == 0
    capsys.readouterr()
    for slug in SLUGS[:2]:
        assert main(["report", slug, "-o", place]) == 2
        assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing is named"),
        (["--all", "mean/rcp2023_single"], "combined with --all"),
        (["nothing/there"], "no 'nothing/there'"),
        (["nothing.json"], "nothing.json"),
        (["a.json", "b.json"], "a page of its own"),
        (["a.json", "--set", "epsilon=1"], "is for models"),
    ],
)
def test_what_cannot_be_reported_is_one_line_and_nothing_is_written(arguments, said, tmp_path, capsys):
    assert main(["report", *arguments, "-o", str(tmp_path / "page.html")]) == 2
    output, error = capsys.readouterr()
    assert (output, error.count("\n")) == ("", 1)
    assert said in error
    assert list(tmp_path.iterdir()) == []


def test_a_family_is_reported_with_one_word(tmp_path, tmp_path_factory, capsys):
    place = tmp_path / "page.html"
    with solved_once(Cache(folder_of_run(tmp_path_factory.getbasetemp()))):
        assert main(["report", "location", "location/planar_laplace", "-o", str(place)]) == 0
    assert "2 models" in capsys.readouterr().out
    assert 'id="location-soho-grid"' in place.read_text()


def test_a_page_has_the_name_of_a_page(tmp_path, capsys):
    assert main(["report", SLUGS[0], "-o", str(tmp_path / "page.pdf")]) == 2
    assert "end it in .html" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["jinja2", "latex2mathml", "matplotlib"])
def test_what_a_page_needs_is_said_before_anything_is_solved(name, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr("mechdesign.cli.pages._of_models", lambda *given: pytest.fail("it was solved"))
    assert main(["report", SLUGS[0], "-o", str(tmp_path / "a.html")]) == 2
    assert capsys.readouterr().err == f"mechdesign: report: needs {name}; install mechdesign[report]\n"
    assert list(tmp_path.iterdir()) == []
