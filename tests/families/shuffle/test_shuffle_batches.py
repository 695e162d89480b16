"""A shuffler's batch: the law of what is released, its privacy by enumeration, and shufflers in a row."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from mechdesign.cli import main
from mechdesign.collect import load_mechanism
from mechdesign.core.errors import DataError, ParameterError
from mechdesign.exact.randomness import TOTAL, bit_source, exp_lower
from mechdesign.families.shuffle import MURS, BatchShuffler
from mechdesign.families.shuffle.messages import dropped
from mechdesign.families.shuffle.promise import Promise


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-3), (1.0, 1e-6), (4.0, 1e-9)])
def test_the_number_that_is_left_is_private_and_no_shorter_table_is(epsilon, delta):
    """Sum of the excess of one shifted law over e^epsilon times the other, in fractions."""

    def divergence(weights: tuple[int, ...]) -> Fraction:
        one, other = (*weights, 0), (0, *weights)
        bound = exp_lower(epsilon)
        worst = Fraction(0)
        for first, second in ((one, other), (other, one)):
            worst = max(
                worst, sum(max(Fraction(0), a - bound * b) for a, b in zip(first, second, strict=True))
            )
        return worst / TOTAL

    weights = dropped(epsilon, delta)
    found = divergence(weights)
    assert found <= Fraction(delta)
    assert sum(weights) == TOTAL
    assert found > Fraction(delta) * Fraction(math.exp(-epsilon) / 20)  # the next shorter one is too short
    shuffler = BatchShuffler(5, "amount", epsilon, delta)
    certificate = shuffler.certificates()[0]
    assert certificate.exact
    assert certificate.figures["least_delta"] == pytest.approx(float(found), rel=1e-12)


def test_what_is_released_has_the_law_of_the_table():
    """20 000 batches: a chi-square of at most 28 degrees of freedom exceeds 90 once in 1e8."""
    shuffler, source = BatchShuffler(10, "amount", 1.0, 1e-6), bit_source(3)
    left = np.array([len(shuffler.released_places(200, source)) for _ in range(20_000)])
    counts = np.bincount(200 - left, minlength=29)
    expected = np.array(shuffler.weights) / TOTAL * 20_000
    common = expected > 5
    assert ((counts - expected)[common] ** 2 / expected[common]).sum() < 90
    assert counts[~common].sum() <= 60


def test_everybody_is_dropped_as_often():
    shuffler, source = BatchShuffler(1, "amount", 0.5, 1e-3), bit_source(5)
    kept = np.zeros(40)
    for _ in range(4000):
        kept[shuffler.released_places(40, source)] += 1
    share = kept.sum() / 40 / 4000
    assert (np.abs(kept / 4000 - share) <= 5 * math.sqrt(share * (1 - share) / 4000)).all()


def test_a_noised_threshold_hides_the_decision_only():
    shuffler, source = BatchShuffler(100, "release", 1.0, 1e-6), bit_source(6)
    sizes = {len(shuffler.released_places(100, source)) for _ in range(200)}
    assert sizes == {0, 100}
    assert len(shuffler.released_places(100 + 15, source)) == 115
    assert len(shuffler.released_places(100 - 15, source)) == 0
    assert "not the number" in shuffler.certificates()[0].note


def test_without_hiding_the_threshold_is_the_threshold():
    shuffler = BatchShuffler(3)
    assert shuffler.release(np.array([5, 1, 3])).tolist() == [1, 3, 5]
    assert shuffler.release(np.array([5, 1])).tolist() == []
    assert shuffler.release(np.array([[2, 1], [1, 9], [2, 0]])).tolist() == [[1, 9], [2, 0], [2, 1]]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"threshold": 0}, "threshold: 0"),
        ({"threshold": 5, "hide": "all"}, "hide: 'all'"),
        ({"threshold": 5, "hide": "amount"}, "needs epsilon and delta; give both"),
        ({"threshold": 5, "epsilon": 1.0}, "epsilon: is for hide = 'release' or 'amount'"),
        ({"threshold": 5, "hide": "amount", "epsilon": 0.001, "delta": 1e-6}, "epsilon: 0.001 is outside"),
        ({"threshold": 5, "hide": "amount", "epsilon": 1.0, "delta": 0.0}, "delta: 0 is outside"),
        ({"threshold": 5, "columns": ["a", "a"]}, "columns: expected a list of different names"),
    ],
)
def test_bad_settings_are_refused_in_a_line(given, text):
    with pytest.raises(ParameterError) as refused:
        BatchShuffler(**given)
    assert text in str(refused.value)
    assert "\n" not in str(refused.value)


def test_from_the_shell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    BatchShuffler(3, "amount", 2.0, 1e-3, ["message"]).save("batch.json")
    assert load_mechanism("batch.json").content() == BatchShuffler(3, "amount", 2.0, 1e-3).content()
    rows = [f"m{number:03}" for number in range(300)]
    (tmp_path / "a.csv").write_text("message\n" + "\n".join(rows[::-2]) + "\n")
    (tmp_path / "b.csv").write_text("message\n" + "\n".join(rows[::2]) + "\n")
    assert main(["run", "batch.json", "release", "a.csv", "b.csv", "-o", "out.csv"]) == 0
    left = (tmp_path / "out.csv").read_text().split()[1:]
    assert left == sorted(left)
    assert 300 - 2 * 10 <= len(left) <= 300
    (tmp_path / "few.csv").write_text("message\nx\n")
    assert main(["run", "batch.json", "release", "few.csv", "-o", "none.csv"]) == 0
    assert (tmp_path / "none.csv").read_text().split() == ["message"]
    assert "1 batch withheld" in capsys.readouterr().out
    (tmp_path / "other.csv").write_text("word\nx\n")
    assert main(["run", "batch.json", "release", "other.csv", "-o", "no.csv"]) == 2
    assert "other.csv: lacks the column 'message'" in capsys.readouterr().err
    assert not (tmp_path / "no.csv").exists()
    forged = json.loads((tmp_path / "batch.json").read_text())
    forged["content"]["epsilon"] = -1.0
    (tmp_path / "forged.json").write_text(json.dumps(forged))
    assert main(["audit", "forged.json"]) == 2


def test_shufflers_in_a_row_add_their_fakes_and_one_honest_one_is_enough():
    promise, users = Promise(3000, 0.9, 1e-6), 3000
    protocol = MURS.calibrated(promise, 20, shufflers=3)
    single = MURS.calibrated(promise, 20)
    assert protocol.parameters()["fakes"] == single.noise.fakes == 30
    assert (
        protocol.least_delta
        == MURS.from_content(
            {**single.content(), **{key: protocol.parameters()[key] for key in ("buckets", "other")}}
        ).least_delta
    )  # the fakes of one count, whatever the others do
    values = np.arange(users) % 20
    messages = protocol.encode(values, rng=1)
    for passed in range(3):
        assert len(messages) == users + 30 * passed
        messages = protocol.mix(messages, rng=7)
    with pytest.raises(DataError, match="a shuffler in the row gets 3000 and 30 for each"):
        protocol.mix(messages)
    rng, errors = np.random.default_rng(4), []
    for _ in range(60):
        errors.append(
            protocol.analyze(protocol.shuffle(protocol.encode(values, rng=rng), rng=rng)).value - 150
        )
    spread = math.sqrt(float(protocol.variance_of(np.array([150.0]))[0]))
    assert abs(np.mean(errors)) <= 5 * spread / math.sqrt(60 * 20)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(spread, rel=0.15)
    assert MURS.from_content(protocol.content()).content() == protocol.content()


@pytest.mark.parametrize("hide", ["release", "amount"])
def test_the_drawn_chance_is_how_often_batches_are_released(hide):
    """Below 4.5 standard deviations: a true chance fails in 7 of a million draws."""
    shuffler = BatchShuffler(100, hide, 1.0, 1e-3)
    source, tries = shuffler.source(5, "release"), 2000
    for count in (98, 100, 101, 105, 107):
        seen = np.mean([len(shuffler.released_places(count, source)) > 0 for _ in range(tries)])
        chance = shuffler.chance(count)
        assert abs(seen - chance) <= 4.5 * np.sqrt(chance * (1.0 - chance) / tries)
