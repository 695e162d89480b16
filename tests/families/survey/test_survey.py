"""The mechanism ``survey``: one epsilon for everything, estimates from several designs, its files."""

import json
from fractions import Fraction

import numpy as np
import pytest

import mechdesign as md
from mechdesign.core.errors import CertificateError, DataError, ParameterError, RowError
from mechdesign.families.marginals.oracles.blocks import SubsetSelection
from mechdesign.families.marginals.sets import ProductSet, SetResponse
from mechdesign.families.mean.discrete import DiscretePiecewise
from mechdesign.families.survey import (
    NumberPart,
    Question,
    Questions,
    Request,
    SetPart,
    SurveyCounts,
    SurveyMechanism,
    TablePart,
)
from mechdesign.families.survey.part_plans import outlook_of, part_information
from mechdesign.families.survey.survey import best_part
from mechdesign.primitives.kary import KaryResponse

ASKED = Questions(
    [
        Question("sex", labels=("f", "m")),
        Question("agrees", "ordered", labels=("no", "perhaps", "yes")),
        Question("age", "number", low=20, high=80),
        Question("job", labels=("a", "b", "c", "d"), skip=True),
    ]
)
WANTED = (Request("table", (0, 1)), Request("group means", (0, 2), 2))


def survey(epsilon: float = 4.0) -> SurveyMechanism:
    half = epsilon / 2.0
    designs = [
        [best_part(ASKED, 1, half), best_part(ASKED, 2, half)],
        [TablePart(ASKED, [0, 1], SubsetSelection.of(6, epsilon, 2))],
        [TablePart(ASKED, [0, 2], KaryResponse.of(4, epsilon))],
        [SetPart(ASKED, [0, 3], SetResponse.of([2, 5], epsilon, ProductSet([1, 2]), tables=()))],
        [best_part(ASKED, 3, epsilon)],
    ]
    return SurveyMechanism(ASKED, epsilon, designs, [2, 3, 3, 1, 1], WANTED, 5000)


def people(users: int, seed: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], users, p=[0.3, 0.7])
    return {
        "sex": sex,
        "agrees": np.where(sex == "f", "yes", rng.choice(["no", "perhaps", "yes"], users)),
        "age": np.where(sex == "f", 30.0, 60.0) + rng.uniform(-10, 10, users),
        "job": rng.choice(["a", "b", "c", "d", ""], users, p=[0.4, 0.3, 0.1, 0.1, 0.1]),
    }


def test_every_result_is_unbiased_and_its_error_right() -> None:
    """The mean of 100 estimates is within 4.5 of its standard errors for all 27 numbers; chance 2e-4."""
    mechanism, data = survey(), people(2000)
    everybody = {name: np.tile(answers, 100) for name, answers in data.items()}  # users are independent
    runs = [mechanism.estimate(reports) for reports in np.split(mechanism.randomize(everybody, rng=1), 100)]
    female = data["sex"] == "f"
    truth = {
        "sex": [female.mean(), 1 - female.mean()],
        "agrees": [np.mean(data["agrees"] == label) for label in ("no", "perhaps", "yes")],
        "age": data["age"].mean(),
        "job": [np.mean(data["job"] == label) for label in ("a", "b", "c", "d", "")],
        "sex x agrees": [
            np.mean((data["sex"] == sex) & (data["agrees"] == label))
            for sex in ("f", "m")
            for label in ("no", "perhaps", "yes")
        ],
        "age by sex": [data["age"][female].mean(), data["age"][~female].mean()],
    }
    for name, right in truth.items():
        found = np.array([run[name].value for run in runs])
        stated = np.array([run[name].standard_error for run in runs]).mean(axis=0)
        spread = found.std(axis=0, ddof=1)
        ratio = 1.15 if name == "age by sex" else 1.0  # a ratio: its bias is small beside its error
        assert np.all(np.abs(found.mean(axis=0) - right) < 4.5 * ratio * spread / np.sqrt(len(runs))), name
        # Means are for the population, so that they are stated up to a third too large.
        assert np.all(stated / spread < 1.75), name
        assert np.all(stated / spread > 0.78), name


def test_errors_foretold_are_those_found() -> None:
    """At even answers the root mean squared error of a table is the one foretold, within 12 % of 150 runs."""
    asked = Questions([Question("a", labels=("0", "1")), Question("b", labels=("0", "1", "2"))])
    designs = [
        [best_part(asked, 0, 2.0)],
        [TablePart(asked, [0, 1], SubsetSelection.of(6, 2.0, 1))],
        [SetPart(asked, [0, 1], SetResponse.of([2, 3], 2.0, ProductSet([1, 1]), tables=()))],
    ]
    mechanism = SurveyMechanism(asked, 2.0, designs, [1, 2, 2], [Request("table", (0, 1))])
    rng, squares = np.random.default_rng(5), {"a": 0.0, "b": 0.0, "a x b": 0.0}
    even = {"a": np.full(2, 1 / 2), "b": np.full(3, 1 / 3), "a x b": np.full(6, 1 / 6)}
    cells = rng.integers(6, size=300 * 1000)
    rows = {"a": (cells // 3).astype(str), "b": (cells % 3).astype(str)}
    for reports in np.split(mechanism.randomize(rows, rng=rng), 300):
        results = mechanism.estimate(reports)
        for name, right in even.items():
            squares[name] += np.mean((results[name].value - right) ** 2) / 300
    for name, error in mechanism.errors(1000).items():
        assert abs(np.sqrt(squares[name]) / error - 1.0) < 0.12, name


def test_all_parts_together_keep_one_epsilon() -> None:
    mechanism = survey(3.0)
    audit = mechanism.audit()
    assert audit.holds
    assert 2.9 < audit.true_epsilon <= 3.0
    assert {"design", "parts"} <= set(audit.certificate().witness)
    too_much = [[best_part(ASKED, 0, 1.5), best_part(ASKED, 1, float(np.nextafter(1.5, 2)))]]
    with pytest.raises(CertificateError, match="not private as stated"):
        SurveyMechanism(ASKED, 3.0, too_much)


def test_budgets_are_added_as_exact_fractions() -> None:
    """0.1 + 0.2 is 0.3 as decimals, though above it in fractions of doubles; one double less is refused."""
    assert Fraction(0.1) + Fraction(0.2) > Fraction(0.3)
    parts = [best_part(ASKED, 0, 0.1), best_part(ASKED, 1, 0.2)]
    with pytest.raises(CertificateError):
        SurveyMechanism(ASKED, float(np.nextafter(0.3, 0.0)), [parts])
    assert SurveyMechanism(ASKED, 0.3, [parts]).audit().holds


def test_one_file_one_fingerprint(tmp_path) -> None:
    mechanism = survey()
    mechanism.save(tmp_path / "survey.json")
    loaded = md.load_mechanism(tmp_path / "survey.json")
    assert loaded == mechanism
    data = people(300)
    assert (loaded.randomize(data, rng=1) == mechanism.randomize(data, rng=1)).all()
    document = json.loads((tmp_path / "survey.json").read_text())
    document["content"]["designs"][0]["parts"][0]["content"]["epsilon"] = 3.5
    (tmp_path / "forged.json").write_text(json.dumps(document))
    with pytest.raises((CertificateError, ParameterError)):
        md.load_mechanism(tmp_path / "forged.json")


def test_servers_merge_in_any_order_and_survive_json() -> None:
    mechanism, data = survey(), people(3000)
    reports = mechanism.randomize(data, rng=2)
    whole = mechanism.aggregator()
    whole.update(reports)
    parts = []
    for piece in (reports[2000:], reports[:700], reports[700:2000]):
        counter = mechanism.aggregator()
        counter.update(piece)
        parts.append(SurveyCounts.from_json(mechanism, json.loads(json.dumps(counter.as_json()))))
    parts[0].merge(parts[1])
    parts[0].merge(parts[2])
    assert parts[0].as_json() == whole.as_json()
    assert str(parts[0].estimate()) == str(whole.estimate())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9:1", "names no design"),
        ("0:1", "has 1 part, its design 2"),
        ("nonsense", "names no design"),
        ("2:77", "unknown category"),
        ("1:x00", "a set of 0"),
        ("", "names no design"),
    ],
)
def test_impossible_reports_are_refused_with_their_row(text: str, expected: str) -> None:
    counter = survey().aggregator()
    good = survey().randomize(people(5), rng=1).tolist()
    with pytest.raises(RowError, match=expected) as caught:
        counter.update([*good, text])
    assert caught.value.row == 5
    assert counter.users == 0


def test_reports_of_another_survey_are_refused(tmp_path) -> None:
    here, there = survey(4.0), survey(3.0)
    with pytest.raises(DataError, match="different mechanism"):
        here.aggregator().merge(there.aggregator())


def test_answers_are_checked_by_question_and_row() -> None:
    mechanism, data = survey(), people(50)
    for name, value, expected in [
        ("sex", "x", "question 'sex'.*row 8.*unknown category"),
        ("age", 17.0, "outside"),
        ("sex", "", "no answer, which is not allowed"),
        ("age", np.nan, "no answer"),
    ]:
        wrong = dict(data)
        wrong[name] = wrong[name].astype(object)
        wrong[name][7] = value
        with pytest.raises(DataError, match=expected):
            mechanism.randomize(wrong)
    with pytest.raises(DataError, match="no column 'job'"):
        mechanism.randomize({key: data[key] for key in ("sex", "agrees", "age")})


def test_a_question_nobody_was_asked_has_the_whole_range() -> None:
    mechanism = SurveyMechanism(ASKED, 2.0, [[best_part(ASKED, 0, 2.0)]], requests=WANTED)
    results = mechanism.estimate(mechanism.randomize(people(200), rng=1))
    low, high = results["job"].interval()
    assert low.tolist() == [0.0] * 5
    assert high.tolist() == [1.0] * 5
    assert results["age"].interval() == (20.0, 80.0)
    assert "no user was asked" in str(results)
    assert (results.users, results["job"].users, results["age"].users) == (200, 0, 0)
    assert not mechanism.forecast(1000).possible


def test_quartiles_are_those_of_the_answers() -> None:
    """With epsilon 12 and 4000 users the quartiles of 10 even categories are told to one category."""
    asked = Questions([Question("income", "number", low=0, high=100, bins=tuple(range(0, 101, 10)))])
    mechanism = SurveyMechanism(asked, 12.0, [[best_part(asked, 0, 12.0)]])
    results = mechanism.estimate(mechanism.randomize({"income": np.arange(4000) % 100 + 0.5}, rng=1))
    found = results.result("income").quantiles
    assert found is not None
    assert found.category[0] == "20 to 29"
    assert found.category[2] == "70 to 79"
    assert found.low[1] in ("40 to 49", "50 to 59")


def test_the_clearest_questions_are_refused_or_normalized() -> None:
    for given, expected in [
        ({"name": "q"}, "labels.*missing.*list the possible answers"),
        ({"name": "q", "kind": "number"}, "range: is missing"),
        ({"name": "q", "labels": ["a", "a"]}, "'a' appears twice"),
        ({"name": "q", "labels": ["a"]}, "at least two"),
        ({"name": "q", "range": [0, 1], "bins": [0, 0.5]}, "bins"),
        ({"name": "q", "range": [0, 1], "bins": [0, 0.5, 2]}, "not from 0 to 1"),
        ({"name": "q", "range": [0, 1], "open_ends": "high"}, "are of bins, and there are none"),
        ({"name": "q", "lables": ["a", "b"]}, "did you mean 'labels'"),
        ({"labels": ["a", "b"]}, "has no name"),
    ]:
        with pytest.raises(md.MechDesignError, match=expected):
            Question.from_json(given)


def test_users_needed_reach_the_wanted_errors() -> None:
    mechanism = survey()
    wanted = [0.01, 0.02, 0.5, None, None, None]
    needed = outlook_of(mechanism, 1, wanted).users_needed
    assert needed is not None
    errors = list(mechanism.errors(needed).values())
    assert all(error <= goal * (1 + 1e-9) for error, goal in zip(errors, wanted, strict=True) if goal)
    fewer = list(mechanism.errors(needed - 1).values())
    assert any(error > goal for error, goal in zip(fewer, wanted, strict=True) if goal)


def test_information_is_that_of_the_exact_mechanisms() -> None:
    """A report about one yes/no question is worth tanh(epsilon/2)^2 answers in clear."""
    part = best_part(ASKED, 0, 2.0)
    assert part_information(ASKED, Request("question", (0,)), part) == pytest.approx(np.tanh(1.0) ** 2 * 2)
    number = NumberPart(ASKED, 2, DiscretePiecewise(1.0, 20, 80))
    told = part_information(ASKED, Request("question", (2,)), number)
    assert told == pytest.approx(1 / (number.mechanism.worst_variance() / 900 + 1 / 3))


def test_bins_of_large_numbers_have_names_of_their_own() -> None:
    start = 1_700_000_000
    asked = Question("b", "number", low=start, high=start + 100, bins=[start + x for x in (0, 30, 60, 100)])
    assert asked.categories[:2] == ("1700000000 to 1700000029", "1700000030 to 1700000059")
    assert len(set(asked.categories)) == 3
    with pytest.raises(DataError, match=r"1700000101 is outside \[1700000000, 1700000100\]"):
        asked.encode(np.array([start + 101]))
    with pytest.raises(ParameterError, match="go from 1700000000 to 1700000060, not from 1700000000 to"):
        Question("b", "number", low=start, high=start + 100, bins=[start, start + 30, start + 60])
