"""The limit of the protection is said at every epsilon, in one number; without any, one has to insist."""

from __future__ import annotations

import html
import math
import re
from decimal import Decimal, getcontext

import numpy as np
import pytest

from mechdesign.cli import main
from mechdesign.export import export
from mechdesign.export.disclosure import collected_levels, percent_sure
from mechdesign.families.location import PlanarLaplace
from mechdesign.primitives import KaryResponse
from mechdesign.primitives.kary_channel import KaryChannel
from mechdesign.report.page.mechanism import privacy_in_words
from tests.support.clients import CLIENTS, MESSAGES

PAGES = ["kary-response", "kary kept", "finite 3 to 9", "unary 64", "grid-mean", "attribute-sampling"]
PAGES += ["marginal-release", "joint-response", "joint 90 bits", "linear-queries", "event-counts"]
PAGES += ["sets that match", "survey", "shuffled"]
MODEL = """
[model]
title = "Sleep"
problem = "frequency-oracle"
[parameters]
labels = ["no", "yes"]
epsilon = {epsilon}
"""


def page_text(mechanism):
    """Return what a page says next to the button."""
    text = export(mechanism, "html")
    return html.unescape(re.search(r'<p id="leaves">(.*?)</p>', text, re.DOTALL).group(1))


def percents(text):
    return re.findall(r"\d+\.\d+%", text)


@pytest.mark.parametrize("name", PAGES)
def test_one_number_on_all_pages(name):
    mechanism = CLIENTS[name]()
    shown = page_text(mechanism)
    assert len(percents(shown)) == 1
    assert set(percents(shown)) == set(
        percents(" ".join(privacy_in_words(mechanism, mechanism.certificates())))
    )


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 4.0, 4.7, 5.0, 10.0, 50.0, 500.0])
def test_the_page_says_the_limit_at_every_epsilon(epsilon):
    weak, certain = 4.0 < epsilon <= 10.0, epsilon > 10.0
    mechanism = KaryResponse.of(2, epsilon)
    shown = page_text(mechanism)
    assert "sure of one of them afterwards" in shown
    assert ("This protection is weak." in shown) == weak
    assert ("This does not protect you" in shown) == certain
    assert ("does not leave this device" in shown) == (not certain)
    assert ("it need not be your answer" in export(mechanism, "html")) == (not certain)
    summary = " ".join(privacy_in_words(mechanism, mechanism.certificates()))
    assert ("This protection is weak." in summary) == weak
    assert ("does not protect anybody" in summary) == certain


def test_the_limit_of_several_reports_is_that_of_all_of_them():
    shown = page_text(CLIENTS["joint-response"]())
    assert "Someone who saw all 5 reports that this device can make, and thought" in shown


def test_with_delta_the_limit_is_that_of_the_best_guess():
    mechanism = KaryResponse.from_channel(KaryChannel(7, [4, 0, 6], 1.0, 0.01))
    shown = page_text(mechanism)
    assert "guesses the right one with a probability of at most 73.4%" in shown
    assert "In at most 1 in 100 of all reports (delta) this protection is missing" in shown


@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.01, 0.5])
def test_the_percentage_is_never_below_the_bound_and_close_to_it(delta):
    getcontext().prec = 50
    for step in range(1, 120):
        epsilon = step / 10
        factor = Decimal(epsilon).exp()
        bound = 100 * (factor + Decimal(delta)) / (1 + factor)
        text = percent_sure(epsilon, delta)
        if text.startswith("more"):
            assert bound > Decimal("99.999")
            continue
        shown = Decimal(text.removesuffix("%"))
        assert bound <= shown < 100
        assert shown - bound <= min(Decimal("0.1"), 100 - bound)


def test_the_bound_with_delta_is_attained():
    """Randomized response that reveals the answer with probability delta: of four reports two tell it."""
    epsilon, delta = 1.5, 0.2
    high = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    rows = np.array([[delta, 0.0, high, 1 - delta - high], [0.0, delta, 1 - delta - high, high]])
    assert percent_sure(epsilon, delta) == f"{math.ceil(1000 * rows.max(axis=0).sum() / 2) / 10}%"


def build(tmp_path, epsilon, *options):
    model, output = tmp_path / "sleep.toml", tmp_path / f"{epsilon}.json"
    model.write_text(MODEL.format(epsilon=epsilon), encoding="utf-8")
    return main(["build", str(model), "-o", str(output), *options]), output


@pytest.mark.parametrize(("epsilon", "lines"), [(1.0, 0), (4.0, 0), (4.5, 1), (10.0, 1)])
def test_build_warns_above_four(tmp_path, capsys, epsilon, lines):
    code, output = build(tmp_path, epsilon)
    assert code == 0
    assert output.exists()
    said = capsys.readouterr().err.splitlines()
    assert len(said) == lines
    assert all(f"epsilon = {epsilon:g} protects little: " in line for line in said)


@pytest.mark.parametrize(("delta", "share"), [(0.9, "90"), (0.0123, "1.3"), (0.01, None), (1e-6, None)])
def test_build_warns_of_a_delta_that_reveals_reports(tmp_path, capsys, delta, share):
    model = tmp_path / "m.toml"
    head = MODEL.partition("[parameters]")[0].replace("frequency-oracle", "randomized-response")
    model.write_text(f"{head}[parameters]\nprior = [0.5, 0.5]\nepsilon = 1.0\ndelta = {delta}\n")
    assert main(["build", str(model), "-o", str(tmp_path / "m.json")]) == 0
    said = capsys.readouterr().err
    assert (f"delta = {delta:g}: up to {share} of 100 reports may show the answer" in said) == (
        share is not None
    )
    assert ("of 100 reports" in said) == (share is not None)


def test_build_wants_to_be_told_twice_above_ten(tmp_path, capsys):
    code, output = build(tmp_path, 12.0)
    assert code == 2
    assert not output.exists()
    (line,) = capsys.readouterr().err.splitlines()
    assert "a report can show the answer with practical certainty" in line
    assert line.endswith("set a smaller epsilon, or insist with --anyway")
    code, output = build(tmp_path, 12.0, "--anyway")
    assert code == 0
    assert output.exists()
    (line,) = capsys.readouterr().err.splitlines()
    assert "epsilon = 12 does not protect the answer" in line


def test_choose_writes_no_unprotected_mechanism_unasked(tmp_path, capsys):
    path = tmp_path / "c.json"
    usual = ["choose", "--epsilon", "12", "--users", "1000", "-o", str(path)]
    assert main(usual) == 2
    assert not path.exists()
    assert main([*usual, "--anyway"]) == 0
    assert path.exists()
    assert capsys.readouterr().err.count("\n") == 2


def test_which_epsilon_counts():
    """The shuffled one where a shuffler mixes, and none where it is per unit of distance."""
    assert collected_levels(CLIENTS["shuffled"]()) == (0.5, 1e-6)
    assert collected_levels(MESSAGES["hist-dump"]())[0] == 1.0
    assert collected_levels(PlanarLaplace(20.0)) == (None, 0.0)
    assert collected_levels(CLIENTS["joint-response"]())[0] == pytest.approx(4.0, abs=0.5)


def test_with_delta_nobody_is_said_to_be_at_most_so_sure(tmp_path, capsys):
    """A report that has a probability of delta may show the answer: only the best guess has a bound."""
    text = '[model]\ntitle = "t"\nproblem = "randomized-response"\n[parameters]\nprior = [0.5, 0.5]\n'
    (tmp_path / "m.toml").write_text(f"{text}epsilon = 5.0\ndelta = 0.1\n", encoding="utf-8")
    assert main(["build", str(tmp_path / "m.toml"), "-o", str(tmp_path / "m.json")]) == 0
    leaky, line = capsys.readouterr().err.splitlines()
    assert "up to 10 of 100 reports" in leaky
    assert "sure" not in line
    assert line.endswith(f"guesses the right one with a probability of at most {percent_sure(5.0, 0.1)}")
