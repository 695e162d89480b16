"""The pages: all in one file, what stands in a model or a mechanism escaped, mathematics rendered."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re
import shlex
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from mechdesign.catalog import load_model, models
from mechdesign.cli import main
from mechdesign.mechanisms import FiniteChannel
from mechdesign.mechanisms.base import mechanism_types
from mechdesign.mechanisms.finite import PrivacyTarget
from mechdesign.mechanisms.mean import Duchi, Laplace
from mechdesign.report.page import mechanism_page, model_result, models_page
from mechdesign.report.page.mathematics import PIECE, marked_up, mathml
from mechdesign.report.page.words import limits_in_words, privacy_in_words, users_for, wanted_errors
from tests.meta.test_shown import MECHANISMS

SLUGS = ["response/zhou2019_survey", "contract/three_types"]
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
"""
    )
    made = models_page([model_result(load_model(path))], "1")
    outline = Outline(made)
    assert made.count("<script") == 1
    assert "<img" not in made
    assert not re.search(r"(href|src)\s*=\s*[\"']?\s*javascript", made)
    assert "alert(1)" in outline.text
    assert outline.loads == []


NASTY = "<script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.mark.parametrize(
    "tex",
    [
        rf"\text{{{NASTY}}}",
        rf"\operatorname{{{NASTY}}}",
        rf"\mbox{{ {NASTY} }}",
        r"\text{</math><meta http-equiv=refresh content=0>}",
        r"\text{<![CDATA[<script>alert(1)</script>]]>}",
        r"\text{<!--<script>-->}",
        r"\href{javascript:alert(1)}{a}",
        r"\class{x onload=alert(1)}{y} \style{background:url(http://a)}{z}",
        r'\color{red" onmouseover="alert(1)}x',
        r'\rule{1em" onload="alert(1)}{2em}',
    ],
)
def test_tex_brings_no_html_into_a_page(tex):
    made = marked_up(f"${tex}$")
    elements = re.findall(r"<(\w+)", made)
    assert set(elements) <= {"math", "mrow", "mtext", "mi", "mo", "mn", "mstyle", "mspace", "code"}
    assert not re.search(r"<[^>\"]*(\"[^\"]*\"[^>\"]*)*\s(on\w+|href|style|src)\s*=", made)


def test_plain_letters_in_tex_may_be_signs_of_markup():
    element = ElementTree.fromstring(mathml(r"\text{if } a < b \text{ & c > d}"))
    assert "".join(element.itertext()).replace("\xa0", " ") == "if a<b & c > d"


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


@pytest.mark.parametrize("slug", models())
def test_the_mathematics_of_every_statement_is_rendered(slug):
    statement = load_model(slug).statement
    made = marked_up(statement)
    assert 'class="tex"' not in made
    assert statement.count("$") % 2 == 0
    for display, line, code in PIECE.findall(statement):
        if code:
            continue
        element = ElementTree.fromstring(mathml(display or line))
        said = "".join(element.itertext())
        assert element.tag.endswith("math")
        assert "\\" not in said, f"a command that the converter does not know: {said}"


def test_mathematics_that_cannot_be_converted_is_shown_as_it_is():
    assert mathml(r"\left( x <") == r'<code class="tex">\left( x &lt;</code>'


@pytest.mark.parametrize("type_", sorted(mechanism_types()))
def test_every_mechanism_has_a_page(type_):
    mechanism = MECHANISMS[type_][0]()
    made = mechanism_page(mechanism, "m.json", "1")
    outline = Outline(made)
    assert outline.loads == []
    for operation in mechanism.operations():
        assert operation.summary in outline.text
    assert len(mechanism.explained()[0]) > 20
    for text in privacy_in_words(mechanism, mechanism.certificates()):
        assert text in outline.text
        assert "nan" not in text


def test_a_privacy_that_is_not_kept_is_said_first():
    class Broken(Duchi):
        def certificates(self):
            first, *rest = super().certificates()
            return (type(first)(first.property, False, True, first.figures), *rest)

    broken = Broken(1.0)
    assert privacy_in_words(broken, broken.certificates()) == [
        "The privacy that was promised is NOT kept. Do not use this mechanism."
    ]


def test_words_are_never_better_than_the_certificate():
    for epsilon in (0.01, 0.5, 1.0, 3.0, 12.0):
        duchi = Duchi(epsilon)
        words = " ".join(privacy_in_words(duchi, duchi.certificates()))
        sure = float(re.search(r"at most ([\d.]+) % sure", words).group(1))
        factor = float(re.search(r"factor of at most ([\d.e+]+)", words).group(1))
        assert math.exp(epsilon) / (1 + math.exp(epsilon)) <= sure / 100 <= 1.0
        assert math.exp(epsilon) <= factor <= 1.002 * math.exp(epsilon)
    laplace = Laplace(1.0)
    assert "floating point" in " ".join(privacy_in_words(laplace, laplace.certificates()))
    channel = FiniteChannel.from_floats([[0.0, 1.0], [0.1, 0.9]], PrivacyTarget(0.5, 0.1))
    words = " ".join(privacy_in_words(channel, channel.certificates()))
    assert "plus 0.1 (delta)" in words
    assert "one person in 10" in words
    assert "sure of one of them" not in words, "delta is not covered by odds"


def test_the_users_for_an_error_give_that_error():
    duchi = Duchi(1.0, 0.0, 100.0)
    for row in wanted_errors(duchi):
        error, users = float(row["error"]), int(row["users"].replace(",", ""))
        assert duchi.forecast(users).largest <= error
        assert duchi.forecast(int(0.99 * users)).largest > error
    assert users_for(duchi, 1e-9) is None


def test_a_shuffled_protocol_says_whom_to_trust():
    protocol = MECHANISMS["cnt-rr"][0]()
    assert any("shuffler" in text for text in limits_in_words(protocol))
    assert not any("shuffler" in text for text in limits_in_words(Duchi(1.0)))


def test_the_shell_writes_pages_and_replaces_only_its_own(tmp_path, capsys):
    place, built = str(tmp_path / "page.html"), str(tmp_path / "survey.json")
    for _ in range(2):
        assert main(["report", SLUGS[0], "-o", place]) == 0
    assert main(["build", SLUGS[0], "-o", built]) == 0
    assert main(["report", built, "-o", str(tmp_path / "survey.html")]) == 0
    capsys.readouterr()
    assert main(["report", SLUGS[1], "-o", place]) == 2
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing is named"),
        (["--all", "mean/rcp2023_single"], "beside --all"),
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


def test_a_page_has_the_name_of_a_page(tmp_path, capsys):
    assert main(["report", SLUGS[0], "-o", str(tmp_path / "page.pdf")]) == 2
    assert "end it in .html" in capsys.readouterr().err
