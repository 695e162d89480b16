"""Two waves: equality of shares, changes with intervals, and the same people answering twice."""

from __future__ import annotations

import numpy as np
import pytest

from mechdesign.analysis.asking import answers_of, panel_covariance
from mechdesign.analysis.likelihood_tests import equal_waves, independence
from mechdesign.analysis.student import CorrelatedLimits, DifferenceLimits
from mechdesign.analysis.waves import wave_changes
from mechdesign.cli import main
from mechdesign.collect.intervals import NormalLimits
from mechdesign.core.errors import DataError, ParameterError
from mechdesign.families.mean import Duchi
from mechdesign.primitives.kary import KaryResponse

BEFORE, AFTER = (KaryResponse.of(3, epsilon, labels=["no", "some", "much"]) for epsilon in (2.0, 1.5))
LABELS = np.array(["no", "some", "much"])


def panel(users: int, seed: int, moved: float = 0.0, stay: float = 0.8):
    """Return two waves of the same people: most repeat their answer, and some of "no" move to "much"."""
    rng = np.random.default_rng(seed)
    shares = [0.5, 0.3, 0.2]
    first = rng.choice(3, users, p=shares)
    second = np.where(rng.random(users) < stay, first, rng.choice(3, users, p=shares))
    second = np.where((second == 0) & (rng.random(users) < moved), 2, second)
    people = rng.permutation(users).astype(str)
    order = rng.permutation(users)
    one = answers_of(BEFORE, BEFORE.randomize(LABELS[first], rng=seed), {"who": people})
    two = answers_of(AFTER, AFTER.randomize(LABELS[second[order]], rng=seed + 1), {"who": people[order]})
    return one, two


def test_waves_of_one_mechanism_are_two_groups():
    mechanism, rng = KaryResponse.of(2, 2.0), np.random.default_rng(1)
    parts = [mechanism.randomize((rng.random(900) < share).astype(int), rng=2) for share in (0.3, 0.4)]
    apart = equal_waves(*(answers_of(mechanism, part) for part in parts))
    wave = ["1"] * 900 + ["2"] * 900
    together = independence(answers_of(mechanism, np.concatenate(parts), {"w": wave}), "w")
    assert apart.statistic == pytest.approx(together.statistic, abs=1e-6)
    assert apart.wald == pytest.approx(together.wald, rel=1e-9)
    assert "the same in both waves" in str(apart)


def test_equality_keeps_its_level_with_two_mechanisms_and_panels_are_sharper():
    """80 pairs of waves without a change: p below 0.05 in at most 13 % by each test (error rate 2e-3)."""
    likely, linked, larger = [], [], 0
    for seed in range(80):
        one, two = panel(600, 10 * seed)
        test = equal_waves(one, two, identifier="who", draws=0)
        likely.append(test.p_value < 0.05)
        linked.append(test.wald_p_value < 0.05)
        larger += test.wald > equal_waves(one, two, draws=0).wald
    assert np.mean(likely) <= 0.13
    assert np.mean(linked) <= 0.13
    assert larger > 53  # the covariance makes the same change count for more


def test_intervals_of_a_panel_cover_and_are_shorter():
    """25 panels: 95 % intervals of the change cover at least 0.80 (error rate 2e-3)."""
    inside, ratios = [], []
    for seed in range(25):
        one, two = panel(800, 10 * seed, moved=0.2, stay=0.9)
        linked = wave_changes(one, two, identifier="who")
        low, high = linked.interval()
        inside.append((low[0] <= -0.1) & (high[0] >= -0.1))
        if seed % 5 == 0:
            ratios.append(linked.standard_error[0] / wave_changes(one, two).standard_error[0])
    assert np.mean(inside) >= 0.80
    assert np.mean(ratios) < 0.93


def test_the_covariance_is_that_of_the_answers():
    """n times the covariance of the means, averaged over 60 panels, next to that of the answers: 4 errors."""
    values = [600 * panel_covariance(*panel(600, 10 * seed), "", "who")[0][0, 0] for seed in range(60)]
    truth = 0.8 * 0.5 * 0.5  # of indicators of "no", which 80 % repeat
    assert np.mean(values) == pytest.approx(truth, abs=4.0 * np.std(values) / np.sqrt(60))


def test_limits_without_correlation_are_those_of_independent_parts():
    one, two = NormalLimits(np.array([1.0, 2.0])), NormalLimits(np.array([3.0, 2.0]))
    plain, free = DifferenceLimits(one, two), CorrelatedLimits(one, two, 0.0)
    assert np.allclose(plain.distances(0.025), free.distances(0.025))
    tight = CorrelatedLimits(one, two, np.array([0.5, 1.0])).distances(0.1586552539)[0]
    assert tight == pytest.approx([np.sqrt(1 + 9 - 3), 0.0], abs=1e-6)


def test_means_change_too():
    mechanism, rng = Duchi(4.0, 0, 10), np.random.default_rng(3)
    values = rng.uniform(2, 6, 5000)
    one, two = (
        answers_of(mechanism, mechanism.randomize(values + shift, rng=seed), {"who": np.arange(5000)})
        for seed, shift in ((1, 0.0), (2, 1.0))
    )
    change = wave_changes(one, two, identifier="who")
    low, high = change.interval(0.999)
    assert low[0] < 1.0 < high[0]
    with pytest.raises(ParameterError, match="is a number"):
        equal_waves(one, two)


def test_what_is_no_panel_is_one_line():
    one, two = panel(50, 1)
    twice = answers_of(BEFORE, one.reports, {"who": ["a"] * 50})
    with pytest.raises(DataError, match="'a' stands twice in the first wave"):
        wave_changes(twice, two, identifier="who")
    others = answers_of(AFTER, two.reports, {"who": [f"x{number}" for number in range(50)]})
    with pytest.raises(DataError, match="nobody answered both waves"):
        equal_waves(one, others, identifier="who")
    with pytest.raises(ParameterError, match="no column 'whom'"):
        equal_waves(one, two, identifier="whom")
    alone = answers_of(BEFORE, one.reports)
    with pytest.raises(ParameterError, match="no public columns beside the reports"):
        equal_waves(alone, two, identifier="who")
    other = KaryResponse.of(2, 1.0)
    with pytest.raises(ParameterError, match="other categories"):
        equal_waves(one, answers_of(other, other.randomize([0, 1] * 20, rng=1)))


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    BEFORE.save("m.json")
    people = "".join(f"{number},{'no' if number % 3 else 'much'}\n" for number in range(300))
    (tmp_path / "a.csv").write_text(f"who,answer\n{people}")
    for name, seed in (("w1.csv", "1"), ("w2.csv", "2")):
        command = ["randomize", "m.json", "a.csv", "--column", "answer", "--public", "who", "--seed", seed]
        assert main([*command, "-o", name]) == 0
    capsys.readouterr()
    assert main(["test", "m.json", "w1.csv", "--wave", "w2.csv", "--id", "who", "-o", "t.xlsx"]) == 0
    assert main(["test", "m.json", "w1.csv", "--wave", "w2.csv", "--id", "who"]) == 0
    text = capsys.readouterr().out
    assert "300 users answered both waves" in text
    assert "likelihood ratio" in text
    for wrong, words in (
        (["test", "m.json", "w1.csv"], "expected --by or --wave"),
        (["test", "m.json", "w1.csv", "--by", "who", "--wave", "w2.csv"], "expected --by or --wave"),
        (["test", "m.json", "w1.csv", "--by", "who", "--id", "who"], "--id: needs --wave"),
    ):
        assert main(wrong) == 2
        assert words in capsys.readouterr().err
