"""The menu as it runs: exact choices, payments, reports, promises, files."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mechdesign as md
from mechdesign.collect.base import digest
from mechdesign.core.errors import CertificateError, DataError, ModelFileError, ParameterError
from mechdesign.families.contract import PrivacyContract
from mechdesign.families.contract.menu import NOT_BUYING, ContractMenu, Terms

THREE = {"types": [1.0, 2.0, 3.0], "counts": [100, 50, 10], "budget": 1000.0}


def menu_for(**changes):
    return md.solve(PrivacyContract(**{**THREE, **changes})).mechanism()


def best_item(menu, theta, cost):
    """Brute force in rationals; ties to the larger epsilon; staying out only when strictly better."""
    values = [Fraction(pay) - Fraction(theta) * Fraction(level) for level, pay in menu.items.tolist()]
    best = max(range(len(values)), key=lambda item: (values[item], -item))
    return best if values[best] >= Fraction(cost) else NOT_BUYING


@given(st.lists(st.floats(0.01, 5.0), min_size=1, max_size=20), st.sampled_from([0.0, 0.1]))
@settings(max_examples=100, deadline=None)
def test_choice_is_exact_for_any_type(thetas, cost):
    menu = menu_for(participation_cost=cost)
    near = [float(t) for s in menu._switches for t in (s, np.nextafter(s, 9), np.nextafter(s, 0))]
    people = [*thetas, *near]
    assert menu.choose(people).tolist() == [best_item(menu, theta, cost) for theta in people]


@pytest.mark.parametrize("changes", [{}, {"types": [1, 2, 2.1], "counts": [100, 1, 100]}, {"noise": "duchi"}])
def test_designed_types_take_their_own_items(changes):
    menu = menu_for(**changes)
    assert (menu.choose(menu.terms.types) == menu.item_of_type).all()
    assert (menu.payments(menu.choose(menu.terms.types)) == menu.payment).all()


def test_left_out_types_stay_out():
    menu = menu_for(minimum_buyers=120, participation_cost=0.1)
    assert menu.item_of_type.tolist() == [0, 1, NOT_BUYING]
    assert menu.choose([1, 2, 3]).tolist() == [0, 1, NOT_BUYING]
    assert menu.payments(menu.choose([3.0])).tolist() == [0.0]


def test_costs_that_differ_by_type_are_honoured():
    menu = menu_for(participation_cost=[1.5, 0.1, 0.0], budget=300.0)
    assert (menu.choose([1, 2, 3]) == menu.item_of_type).all()


def test_known_types_are_assigned_and_strangers_refused():
    menu = menu_for(information="complete")
    assert menu.choose([3, 1]).tolist() == [2, 0]
    with pytest.raises(DataError, match=r"theta: 1\.5 is not a type of this menu"):
        menu.choose([1.5])


@pytest.mark.parametrize("noise", ["laplace", "duchi", "piecewise"])
def test_reports_are_unbiased_and_the_error_as_predicted(noise):
    menu = menu_for(noise=noise, data_range=4.0)
    rng = np.random.default_rng(5)
    values = rng.uniform(-1.0, 3.0, 160)
    chosen = menu.choose(np.repeat([1.0, 2.0, 3.0], [100, 50, 10]))
    averages = [menu.estimate(menu.randomize(values, chosen, low=-1.0, rng=rng), chosen) for _ in range(400)]
    off = np.array([average.value for average in averages]) - values.mean()
    error = averages[0].standard_error
    assert abs(off.mean()) < 5 * error / 20
    assert off.std() < 1.15 * error
    assert averages[0].alpha == pytest.approx(menu.alpha())
    assert np.mean(abs(off) > menu.alpha()) <= 0.1


def test_utilities_are_exact_differences():
    menu = menu_for()
    level, pay = menu.items[1]
    assert menu.utility(2.0, 1) == float(Fraction(pay) - 2 * Fraction(level))


def test_saved_and_loaded_unchanged(tmp_path):
    for changes in (
        {},
        {"noise": {"epsilon": [0.1, 1.0, 5.0], "variance": [800.0, 8.0, 0.3]}},
        {"information": "complete"},
    ):
        menu = menu_for(**changes)
        menu.save(tmp_path / "menu.json")
        again = ContractMenu.load(tmp_path / "menu.json")
        assert again.fingerprint == menu.fingerprint
        assert (again.items == menu.items).all()
        assert [str(c) for c in again.certificates()] == [str(c) for c in menu.certificates()]


def test_a_payment_lowered_by_one_unit_is_refused(tmp_path):
    menu = menu_for()
    menu.save(tmp_path / "menu.json")
    document = json.loads((tmp_path / "menu.json").read_text())
    document["content"]["payment"][0] = float(np.nextafter(document["content"]["payment"][0], 0) - 1e-12)
    (tmp_path / "menu.json").write_text(json.dumps(document))
    with pytest.raises(CertificateError, match=r"incentive_compatibility: FAILS \(exact\).*type = 0"):
        md.load_mechanism(tmp_path / "menu.json")
    del document["content"]["counts"]
    (tmp_path / "menu.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match="damaged"):
        md.load_mechanism(tmp_path / "menu.json")


def test_the_published_menu_is_refused_naming_the_deviation():
    problem = PrivacyContract(types=[1, 2, 2.1], counts=[100, 1, 100], budget=1000)
    with pytest.raises(
        CertificateError, match=r"incentive_compatibility: FAILS \(exact\); worst_gain = 1\.906083755"
    ):
        md.solve(problem, method="published").mechanism()


def test_bad_data_is_refused():
    menu = menu_for()
    for call, text in (
        (lambda: menu.choose([0.0]), "theta: entry 0 is not positive"),
        (lambda: menu.randomize([2.0], [0]), "answers: reach outside"),
        (lambda: menu.randomize([0.5, 0.5], [0]), "answers: has 2 entries for 1 item;"),
        (lambda: menu.payments([3]), r"items: a number is outside -1 \.\.\. 2"),
        (lambda: menu.estimate([0.5], [0, 1]), "reports: 1 for 2 buyers"),
    ):
        with pytest.raises(DataError, match=text):
            call()
    terms = Terms(np.array([2.0, 1.0]), np.ones(2), np.zeros(2))
    with pytest.raises(ParameterError, match="types: are not positive and strictly increasing"):
        ContractMenu([1.0, 0.5], [2.0, 1.0], terms)


@pytest.mark.parametrize("noise", ["laplace", "duchi", "piecewise"])
def test_each_item_has_a_randomizer_with_its_own_certificates(noise):
    menu = menu_for(noise=noise, data_range=4.0)
    for item, (level, _) in enumerate(menu.items.tolist()):
        client = menu.randomizer(item, low=-1.0)
        assert all(certificate.holds for certificate in client.certificates())
        values = np.full(20_000, 0.5)
        found = client.estimate(client.randomize(values, rng=item))
        worst = float(menu.noise.variance(np.array(level))) * 4.0  # half the range, squared
        assert abs(found.value - 0.5) < 5 * np.sqrt(worst / len(values))


def test_a_table_has_no_randomizer():
    menu = menu_for(noise={"epsilon": [0.1, 1.0, 5.0], "variance": [800.0, 8.0, 0.3]})
    with pytest.raises(md.MechDesignError, match="without a client"):
        menu.randomizer(0)


def leaves(value, path=()):
    """Yield the path of every number and text of a document."""
    if not isinstance(value, (dict, list)):
        yield path, value
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(item, (*path, key))


@pytest.mark.parametrize("changes", [{}, {"noise": "duchi", "information": "complete"}])
def test_every_single_change_of_the_file_is_refused(changes, tmp_path):
    path = tmp_path / "menu.json"
    menu_for(**changes).save(path)
    original = json.loads(path.read_text())
    for keys, value in leaves(original["content"]):
        document = json.loads(json.dumps(original))
        place = document["content"]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value + "x" if isinstance(value, str) else 0.1 if value is None else value + 0.001
        path.write_text(json.dumps(document))
        with pytest.raises(md.MechDesignError, match="rebuild it"):
            md.load_mechanism(path)


@pytest.mark.parametrize("limit", [{"epsilon_max": 5.0}, {"epsilon_min": 3.0, "budget": 181.0}])
def test_known_types_are_paid_what_was_certified_where_a_limit_makes_epsilons_equal(limit):
    parameters = {"types": [1, 2, 3], "counts": [10, 10, 10], "budget": 1000.0, "information": "complete"}
    menu = md.solve(md.PrivacyContract(**(parameters | limit))).mechanism()
    chosen = menu.choose([1.0, 2.0, 3.0])
    assert menu.items[chosen].tolist() == np.column_stack([menu.epsilon, menu.payment]).tolist()
    assert (menu.payments(chosen) >= np.array([1.0, 2.0, 3.0]) * menu.epsilon).all()


def optimality_of(menu):
    return [certificate for certificate in menu.certificates() if certificate.property == "optimality"]


@pytest.mark.parametrize("noise", ["laplace", "duchi", "piecewise"])
@pytest.mark.parametrize("goal", [{}, {"budget": None, "target_error": 0.2}])
@pytest.mark.parametrize("extra", [{}, {"information": "complete", "participation_cost": [0.1, 0.2, 0.3]}])
def test_a_loaded_menu_proves_its_optimality_from_its_prices(noise, goal, extra, tmp_path):
    limits = {"epsilon_min": 0.5, "epsilon_max": 20.0}
    menu_for(noise=noise, **goal, **extra, **limits).save(tmp_path / "menu.json")
    (certificate,) = optimality_of(md.load_mechanism(tmp_path / "menu.json"))
    assert certificate.holds
    assert certificate.figures["gap"] <= 1e-6 * certificate.figures["value"]


def forged(path, content):
    """Write a menu file whose certificates and digest fit its content, as a forger would."""
    ContractMenu.from_content(content).save(path)
    return md.load_mechanism(path)


@given(st.floats(0.01, 0.999), st.lists(st.floats(0.0, 1e6), min_size=3, max_size=3))
@settings(max_examples=60, deadline=None)
def test_no_prices_make_a_worse_menu_optimal(tmp_path_factory, part, prices):
    path = tmp_path_factory.getbasetemp() / "forged.json"
    content = menu_for().content()
    part = round(part * 2**20) / 2**20  # keeps every inequality exact
    worse = [[part * number for number in content[key]] for key in ("epsilon", "payment")]
    for tried in (content["prices"], prices, [part**-3 * price for price in content["prices"]], None):
        menu = forged(path, content | {"epsilon": worse[0], "payment": worse[1], "prices": tried})
        assert optimality_of(menu) == []


def test_a_claimed_bound_is_no_part_of_a_menu(tmp_path):
    content = menu_for().content()
    worse = {key: [0.25 * number for number in content[key]] for key in ("epsilon", "payment")}
    value = ContractMenu.from_content(content | worse).error
    path = tmp_path / "forged.json"
    ContractMenu.from_content(content | worse).save(path)
    document = json.loads(path.read_text())
    document["content"] |= {"bound": value, "bound_source": "proof\n  optimality: holds\x1b[2J"}
    document["sha256"] = digest("contract-menu", document["content"])
    path.write_text(json.dumps(document))
    with pytest.raises(CertificateError, match="holds more than the mechanism"):
        md.load_mechanism(path)


def test_epsilons_beyond_the_limits_of_the_terms_are_refused():
    content = menu_for().content()
    for limit in (
        {"epsilon_max": 0.5 * content["epsilon"][0]},
        {"epsilon_min": 2.0 * content["epsilon"][-1]},
    ):
        with pytest.raises(ParameterError, match="epsilon: reaches outside"):
            ContractMenu.from_content(content | limit)


def test_with_fewer_buyers_optimality_is_for_these_buyers():
    menu = menu_for(minimum_buyers=120, participation_cost=0.1)
    (certificate,) = optimality_of(menu)
    assert "exactly these types" in certificate.note
    assert certificate.figures["value"] == menu.error


def test_no_optimality_where_no_prices_are_known():
    menu = menu_for(participation_cost=[1.5, 0.1, 0.0], budget=300.0)
    assert menu.terms.prices is None
    assert optimality_of(menu) == []
