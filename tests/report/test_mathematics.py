"""TeX of statements as MathML: all of it rendered, nothing else brought into a page."""

from __future__ import annotations

import re
from functools import partial
from xml.etree import ElementTree

import pytest

from mechdesign.catalog import models
from mechdesign.report.page.render import PIECE, marked_up, mathml
from tests.support.failures import assert_each
from tests.support.shipped import loaded

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


def is_rendered(slug):
    statement = loaded(slug).statement
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


def test_the_mathematics_of_every_statement_is_rendered():
    assert_each({slug: partial(is_rendered, slug) for slug in models()})


def test_a_prime_stands_beside_its_letter_and_is_not_raised_twice():
    assert "<msup>" not in mathml("x'")
    assert "<mrow><mi>i</mi><mi>′</mi></mrow><mi>j</mi>" in mathml("p_{i'j}")
    assert "<msup>" in mathml("x'^2"), "with a power it is one"
    with_index = "<msub><mrow><mi>p</mi><mi>′</mi></mrow><mi>i</mi></msub>"
    assert with_index in mathml("p_i'")
    assert with_index in mathml("p_j^2 + p_i'"), "another index and power stay what they are"
    for tex in ("U_s''", "U''_s", "U_{s}''"):
        assert "<mrow><mi>U</mi><mi>″</mi></mrow>" in mathml(tex)
    assert "<msup>" not in mathml(r"\bar v' + g'''")


def test_names_of_functions_have_space_around_them():
    assert '<mi>n</mi><mo lspace="0.17em" rspace="0.17em">log</mo><mi>n</mi>' in mathml(r"n \log n")
    element = ElementTree.fromstring(mathml(r"\frac{\log_2 n}{\ln^2 m}"))
    assert [len(list(part)) for part in element.iter() if part.tag.endswith(("msub", "msup", "mfrac"))] == [
        2,
        2,
        2,
    ]


def test_mathematics_that_cannot_be_converted_is_shown_as_it_is():
    assert mathml(r"\left( x <") == r'<code class="tex">\left( x &lt;</code>'
    assert mathml(r"\begin{aligned} a &= b \end{aligned}").startswith('<code class="tex">')
    assert mathml(r"\begin{cases} a & b \\ c & d \end{cases}").startswith("<math")
