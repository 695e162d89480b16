"""Waves: identities, the exact sum of guarantees, changes with intervals that cover, and wrong inputs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.collect import load_mechanism
from mechdesign.core.errors import DataError, MechDesignError, ParameterError
from mechdesign.core.guarantee import Guarantee
from mechdesign.core.values import changed
from mechdesign.data.about import About, EarlierWave
from mechdesign.families.mean import Duchi
from mechdesign.primitives import KaryResponse
from mechdesign.survey import next_wave, total_of_waves, wave_estimates
from mechdesign.survey.waves import change_between, short_epsilon, wave_of

pandas = pytest.importorskip("pandas")
MOOD = KaryResponse.of(3, 2.0)


def first(mechanism=MOOD, name="2026"):
    mechanism = mechanism.described("Mood", "How are you?", id=f"mood-{name}")
    return mechanism.with_about(changed(mechanism.about, wave=name))


def after(before, name, mechanism=MOOD):
    return next_wave(mechanism.described("Mood", "How are you?", id=f"mood-{name}"), name, before)


def test_waves_have_identities_of_their_own_and_know_the_ones_before():
    one = first()
    two = after(one, "2027")
    three = after(two, "2028")
    assert len({wave.survey_digest for wave in (one, two, three)}) == 3
    assert len({wave.fingerprint for wave in (one, two, three)}) == 1
    assert [wave.wave for wave in three.about.earlier] == ["2026", "2027"]
    with pytest.raises(DataError, match="another mechanism or survey"):
        md.Survey(two).estimate(one.randomize(pandas.DataFrame({"answer": [0] * 20})))


def test_a_wave_is_saved_loaded_and_sealed(tmp_path):
    two = after(first(), "2027")
    two.save(tmp_path / "two.json")
    assert load_mechanism(tmp_path / "two.json").about == two.about
    text = (tmp_path / "two.json").read_text()
    assert '"version": 4' in text
    (tmp_path / "two.json").write_text(text.replace('"wave": "2026"', '"wave": "2025"'))
    with pytest.raises(MechDesignError, match="changed after saving"):
        load_mechanism(tmp_path / "two.json")


def test_files_without_texts_stay_as_they_were(tmp_path):
    MOOD.described("Mood", "How?", 50, "m").save(tmp_path / "m.json")
    assert '"version": 3' in (tmp_path / "m.json").read_text()


def test_guarantees_add_as_the_numbers_that_are_written():
    waves = [first(KaryResponse.of(3, "0.1"), "0")]
    for turn in range(1, 10):
        waves.append(after(waves[-1], str(turn), KaryResponse.of(3, "0.1")))
    assert total_of_waves(waves[-1]).epsilon == 1
    other = after(first(KaryResponse.of(3, 0.3)), "2027", KaryResponse.of(3, 0.15))
    assert total_of_waves(other).epsilon == Fraction(0.3) + Fraction(0.15)  # doubles below these decimals
    assert short_epsilon(total_of_waves(other).epsilon) == "0.45"


def test_a_wave_without_an_epsilon_has_no_total():
    wave = EarlierWave("old", "f" * 64, "2020")
    mechanism = first().with_about(changed(first().about, earlier=(wave,)))
    assert total_of_waves(mechanism) is None
    with pytest.raises(MechDesignError, match="no epsilon of one kind"):
        md.Survey(mechanism).epsilon_of_waves()


def test_wrong_waves_are_refused():
    one = first()
    two = after(one, "2027")
    with pytest.raises(ParameterError, match="wave '2026' exists already"):
        after(two, "2026")
    with pytest.raises(ParameterError, match="is the identity of wave 2026"):
        next_wave(MOOD.described(id="mood-2026"), "2028", two)
    with pytest.raises(ParameterError, match="has no survey identity"):
        next_wave(MOOD, "2027", MOOD)
    with pytest.raises(ParameterError, match="has no name"):
        next_wave(MOOD.described(id="x"), " ", one)
    with pytest.raises(ParameterError, match="appears twice"):
        About(id="a", earlier=[wave_of(first(name="x")), wave_of(first(name="x"))])


def results(*shares, population=False, users=2000, seed=1):
    waves, estimates = [first()], []
    for turn in range(1, len(shares)):
        waves.append(after(waves[-1], f"{2026 + turn}"))
    rng = np.random.default_rng(seed)
    for wave, share in zip(waves, shares, strict=True):
        answers = rng.choice(3, size=users, p=share)
        estimates.append(wave.estimate(wave.randomize(answers, rng=rng), population=population))
    return wave_estimates(waves, estimates, population)


def test_changes_are_the_differences_and_the_total_is_said():
    estimates = results([0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [0.5, 0.3, 0.2])
    assert [(start, end) for start, end, _ in estimates.changes()] == [
        ("2026", "2027"),
        ("2027", "2028"),
        ("2026", "2028"),
    ]
    for start, end, changes in estimates.changes():
        own = [estimates.results[estimates.names.index(name)] for name in (start, end)]
        values = [one.value for one in changes]
        assert values == pytest.approx(own[1].value - own[0].value)
        errors = np.hypot(own[0].standard_error, own[1].standard_error)
        assert [one.standard_error for one in changes] == pytest.approx(errors)
        assert all(one.low < one.value < one.high for one in changes)
    assert estimates.changes()[0][2][0].is_clear
    assert estimates.total == Guarantee(6, covers="3 waves")
    assert "each person who took part in all 3 waves has a total of epsilon = 2 + 2 + 2 = 6" in str(estimates)
    columns = estimates.tidy()
    assert set(columns["wave"]) == {"2026", "2027", "2028", "2026 to 2027", "2027 to 2028", "2026 to 2028"}
    assert len({len(values) for values in columns.values()}) == 1
    assert len(estimates.figures()) == 3
    assert estimates.as_json()["total"]["epsilon"] == "6"


def test_symmetric_intervals_give_the_normal_interval():
    """The interval of the difference of two normal estimates, computed by its own formula."""
    one, two = ((a, e, a - 1.96 * e, a + 1.96 * e) for a, e in ((0.2, 0.03), (0.5, 0.04)))
    change = change_between("q", "c", one, two)
    half = 1.96 * np.sqrt(0.03**2 + 0.04**2)
    assert (change.low, change.high) == pytest.approx((0.3 - half, 0.3 + half))


@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize("users", [200, 2000])
def test_intervals_of_changes_cover(population, users):
    """In 60 pairs of waves, of the same people where it is about them: 95 %, within four standard errors.

    Each of the three changes, and all together, which tell as much as two: they sum to 0.
    """
    rng = np.random.default_rng(7)
    one, two = first(), after(first(), "2027")
    shares = [[0.02, 0.38, 0.6], [0.1, 0.5, 0.4]]
    inside = []
    runs = 60
    for _ in range(runs):
        answers = [rng.choice(3, size=users, p=share) for share in shares]
        if not population:  # half of them answer the same twice
            answers[1][: users // 2] = answers[0][: users // 2]
        estimates = [
            wave.estimate(wave.randomize(codes, rng=rng), population=population)
            for wave, codes in zip((one, two), answers, strict=True)
        ]
        ((_, _, changes),) = wave_estimates([one, two], estimates, population).changes()
        truth = [np.bincount(codes, minlength=3) / users for codes in answers]
        if population:
            truth = list(map(np.array, shares))
        inside.append([a.low <= b <= a.high for a, b in zip(changes, truth[1] - truth[0], strict=True)])
    covered = np.mean(inside, axis=0)
    assert (abs(covered - 0.95) < 4 * np.sqrt(0.95 * 0.05 / runs) + 0.01).all(), covered
    assert abs(covered.mean() - 0.95) < 4 * np.sqrt(0.95 * 0.05 / (2 * runs)) + 0.01, covered


def test_the_same_people_with_answers_that_go_together_make_intervals_longer_than_needed():
    rng = np.random.default_rng(3)
    one, two = first(KaryResponse.of(3, 6.0)), None
    two = after(one, "2027", KaryResponse.of(3, 6.0))
    inside = []
    for _ in range(50):
        answers = rng.choice(3, size=500, p=[0.2, 0.3, 0.5])  # nobody changes
        estimates = [wave.estimate(wave.randomize(answers, rng=rng), population=True) for wave in (one, two)]
        ((_, _, changes),) = wave_estimates([one, two], estimates, True).changes()
        inside.append([change.low <= 0 <= change.high for change in changes])
    assert np.mean(inside) > 0.99


def test_surveys_that_are_no_waves_of_each_other_are_refused():
    one, other = first(), MOOD.described("Other", id="other")
    estimate = one.estimate(one.randomize([0, 1, 2] * 50, rng=1))
    with pytest.raises(ParameterError, match="is not an earlier wave of"):
        wave_estimates([one, other], [estimate, estimate])
    with pytest.raises(ParameterError, match="is there twice"):
        wave_estimates([one, one], [estimate, estimate])
    with pytest.raises(ParameterError, match="1 wave"):
        wave_estimates([one], [estimate])


def test_the_noun_goes_from_a_file_to_waves(tmp_path):
    path = tmp_path / "age.toml"
    path.write_text(
        '[survey]\ntitle = "Age"\nepsilon = 1.0\nwave = "2026"\n'
        '[[questions]]\nname = "age"\ntext = "How old are you?"\nrange = [0, 100]\n',
        encoding="utf-8",
    )
    one = md.Survey.load(path).build()
    two = one.wave("2027")
    reports = [
        survey.randomize({"age": [age] * 3000}, rng=seed)
        for seed, (survey, age) in enumerate([(one, 40), (two, 50)])
    ]
    estimates = one.estimate_waves(reports[0], (two, reports[1]))
    ((_, _, (change,)),) = estimates.changes()
    assert change.low < 10 < change.high
    assert str(two.epsilon_of_waves()) == "epsilon = 2, 2 waves"
    two.save(tmp_path / "two.json")
    assert md.Survey.load(tmp_path / "two.json").wave_name == "2027"
    frame = two.randomize(pandas.DataFrame({"age": [50] * 20}))
    assert two.estimate(frame).users == 20
    with pytest.raises(DataError, match="another mechanism or survey"):
        one.estimate(frame)


@pytest.mark.parametrize(
    "call",
    [
        lambda: md.Survey([1], 3.0, [[]]),
        lambda: md.Survey(questions=[1], epsilon=3.0),
        lambda: md.Survey(Duchi(1.0), None, []),
    ],
)
def test_the_former_constructor_says_the_new_name(call):
    with pytest.raises(ParameterError, match="is called SurveyMechanism now"):
        call()


def test_the_same_seed_gives_waves_independent_noise():
    """Without this, the errors of two simulated waves would go together, and their change look too exact."""
    one = first()
    two = after(one, "2027")
    answers = np.zeros(4000, dtype=int)
    same = np.mean(one.randomize(answers, rng=1) == two.randomize(answers, rng=1))
    row = one.rows(0) if hasattr(one, "rows") else one.channel[0]
    expected = float(np.sum(np.asarray(row, dtype=float) ** 2) / np.sum(np.asarray(row, dtype=float)) ** 2)
    assert abs(same - expected) < 5 * np.sqrt(expected * (1 - expected) / 4000)
    assert (one.randomize(answers, rng=1) == MOOD.randomize(answers, rng=1)).all()


def test_other_answers_in_a_later_wave_are_said():
    one = first(KaryResponse.of(2, 2.0, labels=["no", "yes"]))
    two = after(one, "2027", KaryResponse.of(3, 2.0, labels=["no", "yes", "maybe"]))
    three = after(two, "2028", KaryResponse.of(3, 2.0, labels=["no", "yes", "maybe"]))
    results = [wave.estimate(wave.randomize(["no", "yes"] * 100, rng=4)) for wave in (one, two, three)]
    notes = wave_estimates([one, two], results[:2]).notes
    assert notes[-1] == "the question offers other answers in some waves ('maybe'): people had other choices"
    assert len(wave_estimates([two, three], results[1:]).notes) == len(notes) - 1


def test_limits_of_a_change_are_newcombes():
    """Newcombe (1998), method 10, example (a): 56/70 less 48/80 is 0.2, from 0.0524 to 0.3339."""

    def wilson(hits: int, users: int) -> tuple[float, float, float, float]:
        z, share = 1.959963984540054, hits / users
        middle, half = 2 * users * share + z * z, z * (z * z + 4 * users * share * (1 - share)) ** 0.5
        low, high = ((middle + side * half) / (2 * (users + z * z)) for side in (-1, 1))
        return share, 0.05, low, high

    change = change_between("smokes", "yes", wilson(48, 80), wilson(56, 70))
    assert (change.low, change.high) == (pytest.approx(0.0524, abs=5e-5), pytest.approx(0.3339, abs=5e-5))
