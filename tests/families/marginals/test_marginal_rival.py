"""Rivals as mechanisms: files, merged counts, errors given the groups that came, commands, refusals."""

import json
import math

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.collect import load_mechanism
from mechdesign.core.errors import (
    CertificateError,
    DataError,
    EstimationError,
    MechDesignError,
    ParameterError,
)
from mechdesign.families.marginals.papers.rivals import MarginalRival, PriView, UniformAnswer, true_marginal
from mechdesign.families.marginals.papers.rivals.base import extreme_marginals
from mechdesign.families.marginals.papers.rivals.mechanism import NAMES, collection_of

SIZES = (3, 2, 4)
VIEWS = [(0, 1, 2), (2, 3, 4), (0, 1, 3, 4)]


def rival(name, epsilon=2.0, sizes=SIZES, order=2, users=None):
    """Return a rival for three attributes, or for others."""
    views = VIEWS if name == "BE" else None
    return MarginalRival.of(name, sizes, epsilon, order, users=users, views=views)


def people(users, seed=1):
    """Return dependent attributes."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, users)
    second = (rng.random(users) < 0.2 + 0.3 * first).astype(int)
    return np.column_stack([first, second, np.minimum(first + rng.integers(0, 2, users), 3)])


@pytest.mark.parametrize("name", NAMES)
def test_a_file_gives_back_the_same_and_is_audited_again(name, tmp_path):
    path = tmp_path / "m.json"
    mechanism = rival(name)
    mechanism.save(path)
    again = load_mechanism(path)
    assert isinstance(again, MarginalRival)
    assert again.fingerprint == mechanism.fingerprint
    assert again.audit().holds
    assert again.audit().true_epsilon <= 2.0
    reports = mechanism.randomize(people(50), rng=1)
    assert reports.tolist() == again.randomize(people(50), rng=1).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_a_file_whose_oracles_were_weakened_or_exchanged_is_refused(name, tmp_path):
    path = tmp_path / "m.json"
    rival(name, 1.0).save(path)
    document = json.loads(path.read_text())
    weaker = rival(name, 3.0).content()["oracles"]
    document["content"]["oracles"] = weaker
    path.write_text(json.dumps(document))
    with pytest.raises(CertificateError, match="refused"):
        load_mechanism(path)
    content = rival(name, 1.0).content()
    content["oracles"] = weaker
    with pytest.raises(CertificateError, match="guarantee of epsilon"):
        MarginalRival.from_content(content)


@pytest.mark.parametrize("name", NAMES)
def test_merging_is_counting_together_and_counts_go_through_json(name):
    mechanism = rival(name)
    reports = mechanism.randomize(people(3000), rng=2)
    whole, first, second = (mechanism.aggregator() for _ in range(3))
    whole.update(reports)
    first.update(reports[:1200])
    second.update(reports[1200:])
    kept = second.as_json()
    first.merge(second)
    assert second.as_json() == kept
    restored = type(first).from_json(mechanism, json.loads(json.dumps(first.as_json())))
    assert restored.as_json() == whole.as_json()
    wanted = (2, 0)
    shown, places = whole.estimate().as_json(), range(whole.estimate().attributes.count)
    assert shown["marginals"] == [whole.estimate().marginal((place,)).as_json() for place in places]
    assert (set(shown), shown["users"]) == ({"users", "marginals"}, 3000)
    assert np.array_equal(restored.estimate().marginal(wanted).value, whole.estimate().marginal(wanted).value)
    with pytest.raises(DataError, match="different mechanism"):
        first.merge(rival(name, 1.0).aggregator())


@pytest.mark.parametrize("name", ["FC", "AM", "FT", "EM"])
def test_the_error_is_exact_given_how_many_users_each_group_has(name):
    """The mean of error over prediction over 120 repetitions is 1 within 4 standard errors (fixed seed)."""
    mechanism = rival(name, sizes=(4, 2, 2))  # powers of two: for FT exact as well
    codes = np.minimum(people(600), [3, 1, 1])
    truth = true_marginal(codes, (4, 2, 2), (0, 1))
    ratios = []
    for seed in range(120):
        estimate = mechanism.estimate(mechanism.randomize(codes, rng=seed))
        wanted = mechanism.collection.rival.error_of_groups((0, 1), estimate.group_users, truth)
        ratios.append(((estimate.marginal((0, 1), raw=True).value - truth) ** 2).sum() / wanted)
        assert estimate.marginal((0, 1)).total_squared_error >= wanted  # told: the largest over all data
    spread = np.std(ratios, ddof=1) / math.sqrt(len(ratios))
    assert abs(np.mean(ratios) - 1.0) < 4 * spread < 0.6


def test_the_nearest_table_is_never_further_from_the_truth():
    mechanism, codes = rival("AM", 0.5), people(2000)
    estimate = mechanism.estimate(mechanism.randomize(codes, rng=1, anyway=True))
    truth = true_marginal(codes, SIZES, (0, 2))
    raw, near = (estimate.marginal((0, 2), raw=flag).value for flag in (True, False))
    assert raw.min() < 0.0 <= near.min()
    assert ((near - truth) ** 2).sum() < ((raw - truth) ** 2).sum()
    turned = estimate.marginal((2, 0), raw=True)
    assert np.array_equal(turned.value, raw.T)
    assert turned.attributes == ("2", "0")


def test_what_cannot_be_done_is_said():
    with pytest.raises(ParameterError, match="rival"):
        rival("XX")
    with pytest.raises(ParameterError, match="BE needs sets of bits"):
        MarginalRival.of("BE", SIZES, 1.0, 2)
    with pytest.raises(ParameterError, match="FC has none"):
        MarginalRival.of("FC", SIZES, 1.0, 2, views=VIEWS)
    with pytest.raises(ParameterError, match="collects nothing on devices"):
        collection_of(UniformAnswer([2, 2], 1.0, 1))
    with pytest.raises(ParameterError, match="collects nothing on devices"):
        collection_of(PriView([2, 2], 1.0, 1, views=[(0, 1)]))
    with pytest.raises(EstimationError, match="CANNOT"):
        rival("EM", 0.05, users=50).randomize(people(50))
    assert not rival("AM").forecast(2).possible
    mechanism = rival("FT")
    with pytest.raises(DataError, match="no user reported a coefficient"):
        mechanism.estimate(mechanism.randomize(people(2), rng=1)).marginal((0, 1))
    with pytest.raises(DataError, match="fields 'group' and 'report'"):
        mechanism.estimate([1, 2])
    for report in ("0.1", "0.1.4", "0.x.1"):
        with pytest.raises(DataError, match="row 1"):
            rival("EM").aggregator().add([0], [report])
    with pytest.raises(DataError):
        mechanism.aggregator().add([0], ["2"])
    bits = rival("BE")
    decoded = bits.estimate(bits.randomize(people(500), rng=1))
    with pytest.raises(ParameterError, match="no unbiased form"):
        decoded.marginal((0,), raw=True)
    with pytest.raises(ParameterError, match="answers 2 at most"):
        mechanism.estimate(mechanism.randomize(people(500), rng=1)).marginal((0, 1, 2))


def test_one_marginal_of_each_combination_of_sizes():
    assert extreme_marginals([2, 2, 2], 2) == [(0, 1)]
    assert {tuple(sorted([2, 3, 3, 5][i] for i in one)) for one in extreme_marginals([2, 3, 3, 5], 2)} == {
        (2, 3),
        (2, 5),
        (3, 3),
        (3, 5),
    }


@pytest.mark.parametrize("method", ["fc", "am", "ft", "em", "be"])
def test_from_a_model_to_marginals_by_commands(method, tmp_path, monkeypatch, capsys):
    """The cells lie within 5.5 predicted errors (fixed seed)."""
    monkeypatch.chdir(tmp_path)
    people_by_name = {"age": SIZES[0], "smokes": SIZES[1], "diet": SIZES[2]}
    (tmp_path / "m.toml").write_text(
        '[model]\ntitle = "t"\nproblem = "marginal-views"\n[parameters]\n'
        f"attributes = {list(SIZES)}\nnames = {json.dumps(list(people_by_name))}\norder = 2\n"
        'users = 4000\nepsilon = 3.0\ncriterion = "mean"\n'
    )
    codes = people(4000)
    np.savetxt("p.csv", codes, fmt="%d", delimiter=",", header="age,smokes,diet", comments="")
    assert main(["build", "m.toml", "--method", method, "-o", "m.json"]) == 0
    assert main(["audit", "m.json"]) == 0
    assert main(["randomize", "m.json", "p.csv", "-o", "r.csv", "--seed", "3"]) == 0
    capsys.readouterr()
    assert main(["estimate", "m.json", "r.csv", "--marginal", "diet,age", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["marginals"]
    truth = true_marginal(codes, SIZES, (0, 2)).T
    assert found["users"] == 4000
    assert np.abs(np.array(found["value"]) - truth).max() < 5.5 * found["standard_error"]


def test_the_values_of_methods_are_those_of_the_rivals():
    problem = md.MarginalViews(attributes=[2] * 6, order=2, users=15000, epsilon=1.0, criterion="worst")
    for method, name in (("fc", "FC"), ("am", "AM"), ("ft", "FT"), ("em", "EM")):
        solution = md.solve(problem, method)
        mechanism = solution.mechanism()
        assert isinstance(mechanism, MarginalRival)
        assert mechanism.rival.name == name
        sampling = (1 - 1 / 4) / 15000  # of the users from their population, over the four cells
        wanted = mechanism.rival.predicted_error((1, 4), 15000) + sampling  # 15 and 21 groups
        assert solution.value == pytest.approx(wanted, rel=0.01 if name == "FT" else 1e-12)
        assert not solution.claims_optimality
    comparison = md.compare(problem)
    assert comparison.agree
    assert "be" in comparison.skipped
    ft = next(run for run in comparison.runs if run.method == "ft")
    assert comparison.best_bound is not None
    assert comparison.gap_to_best_bound(ft) is None
    rule = md.MarginalViews(attributes=[2] * 6, order=2, users=15000, epsilon=1.0)
    with pytest.raises(MechDesignError, match="'rule'"):
        md.solve(rule, "ft")
