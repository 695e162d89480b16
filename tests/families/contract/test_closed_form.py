"""The closed form against independent solvers, its bound against feasible menus, every extra constraint."""

import itertools
import math
import time
from fractions import Fraction

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mechdesign as md
from mechdesign.core.fields import problem_from
from mechdesign.families.contract import PrivacyContract
from mechdesign.families.contract.allocation import ironed_costs, virtual_costs
from mechdesign.families.contract.population import Population

IRREGULAR = {"types": [1, 2, 2.1], "counts": [100, 1, 100], "budget": 1000}


def stated_in_cvxpy(types, counts, budget, information="incomplete", cost=0.0, low=0.0, high=None):
    """Write the thesis's program down once more, loop by loop, for Laplace noise."""
    k = len(types)
    epsilon, payment = cvxpy.Variable(k, pos=True), cvxpy.Variable(k)
    rows = [counts @ payment <= budget, epsilon >= low]
    rows += [payment[i] - types[i] * epsilon[i] >= cost for i in range(k)]
    if high is not None:
        rows.append(epsilon <= high)
    if information == "incomplete":
        rows += [
            payment[i] - types[i] * epsilon[i] >= payment[j] - types[i] * epsilon[j]
            for i, j in itertools.permutations(range(k), 2)
        ]
    program = cvxpy.Problem(cvxpy.Minimize(counts @ cvxpy.power(epsilon, -2)), rows)
    program.solve(solver="CLARABEL")
    return program.value


def random_people(seed, size=5):
    rng = np.random.default_rng(seed)
    return np.sort(rng.uniform(0.5, 4.0, size)), rng.integers(1, 60, size).astype(float)


@given(st.integers(0, 10**6), st.sampled_from(["incomplete", "complete"]))
@settings(max_examples=25, deadline=None)
def test_equals_the_program_as_stated(seed, information):
    types, counts = random_people(seed)
    solution = md.solve(PrivacyContract(types=types, counts=counts, budget=300, information=information))
    assert solution.value == pytest.approx(stated_in_cvxpy(types, counts, 300, information), rel=1e-6)
    assert all(certificate.holds for certificate in solution.certificates)
    assert solution.bound <= solution.value <= solution.bound * (1 + 1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_limits_and_participation_equal_the_program_as_stated(seed):
    types, counts = random_people(seed)
    floor = 100.0 / float(counts.sum() * types[-1])
    limits = {"low": floor, "high": 4 * floor, "cost": 20.0 / float(counts.sum())}
    problem = PrivacyContract(
        types=types,
        counts=counts,
        budget=200,
        epsilon_min=floor,
        epsilon_max=4 * floor,
        participation_cost=limits["cost"],
    )
    solution = md.solve(problem)
    assert solution.value == pytest.approx(stated_in_cvxpy(types, counts, 200, **limits), rel=1e-5)
    assert max(solution.residuals.values()) < 1e-9
    assert all(certificate.holds for certificate in solution.certificates)


@given(st.integers(0, 10**6), st.sampled_from(["laplace", "duchi", "piecewise"]))
@settings(max_examples=60, deadline=None)
def test_no_feasible_menu_is_below_the_bound(seed, noise):
    types, counts = random_people(seed)
    problem = PrivacyContract(types=types, counts=counts, budget=300, noise=noise)
    bound = md.solve(problem).bound
    rng = np.random.default_rng(seed)
    for _ in range(20):
        epsilon = np.sort(rng.exponential(1.0, len(types)))[::-1]
        payment = (
            np.append(np.cumsum((types[:-1] * -np.diff(epsilon))[::-1])[::-1], 0) + types[-1] * epsilon[-1]
        )
        scale = 300 / (counts @ payment)
        assert problem.error(epsilon * scale) >= bound


def test_the_irregular_example_of_the_notes():
    optimum = md.solve(PrivacyContract(**IRREGULAR))
    assert optimum.value == pytest.approx(32.408979, abs=1e-6)
    assert optimum.notes["ironed_types"] == 1
    printed = md.solve(PrivacyContract(**IRREGULAR), method="published")
    assert printed.value == pytest.approx(24.651247, abs=1e-6)
    failed = {c.property: c for c in printed.certificates if not c.holds}
    assert set(failed) == {"incentive_compatibility", "monotonicity"}  # and it claims no optimality
    assert failed["incentive_compatibility"].exact
    assert failed["incentive_compatibility"].figures["worst_gain"] == pytest.approx(1.906, abs=1e-3)
    assert (
        failed["incentive_compatibility"].witness["type"],
        failed["incentive_compatibility"].witness["better_item"],
    ) == (0, 2)


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_published_is_right_exactly_where_virtual_costs_do_not_fall(seed):
    types, counts = random_people(seed, size=3)
    problem = PrivacyContract(types=types, counts=counts, budget=300)
    regular = bool((np.diff(virtual_costs(problem.population)) >= 0).all())
    printed = {c.property: c.holds for c in md.solve(problem, method="published").certificates}
    assert printed["incentive_compatibility"] == printed["monotonicity"] == regular
    if regular:
        assert md.solve(problem, method="published").value == pytest.approx(md.solve(problem).value, rel=1e-9)


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 20)), min_size=1, max_size=9))
@settings(max_examples=150, deadline=None)
def test_ironing_is_the_convex_minorant_of_cost(rows):
    types = np.cumsum([step for step, _ in rows]).astype(float)
    counts = np.array([count for _, count in rows], dtype=float)
    costs = ironed_costs(Population(types, counts, np.zeros(len(types))))
    points = [(Fraction(0), Fraction(0))]
    points += [
        (Fraction(int(users)), Fraction(int(users)) * Fraction(int(theta)))
        for users, theta in zip(np.cumsum(counts), types, strict=True)
    ]
    for place in range(
        1, len(points)
    ):  # the slope of the greatest convex minorant left of each point, by definition
        slope = min(
            max((points[j][1] - points[i][1]) / (points[j][0] - points[i][0]) for i in range(place))
            for j in range(place, len(points))
        )
        assert costs.prices[place - 1] == pytest.approx(float(slope), rel=1e-12)
    assert 1 - 1e-12 < costs.factor <= 1


@pytest.mark.parametrize("noise", ["laplace", "duchi", "piecewise"])
@pytest.mark.parametrize("information", ["incomplete", "complete"])
def test_target_accuracy_is_the_mirror_image_of_the_budget(noise, information):
    people = {
        "types": [1, 2, 2.1, 4],
        "counts": [100, 1, 100, 20],
        "noise": noise,
        "information": information,
    }
    forward = md.solve(PrivacyContract(**people, budget=700, participation_cost=0.2))
    back = md.solve(
        PrivacyContract(**people, target_error=forward.quantities["alpha"], participation_cost=0.2)
    )
    assert back.value == pytest.approx(700, rel=1e-9)
    assert back.residuals["target_error"] == 0.0
    assert back.bound <= back.value <= back.bound * (1 + 1e-9)


def test_table_noise_mixes_at_its_kinks_and_is_optimal():
    table = {"epsilon": [0.1, 0.5, 1, 2, 5], "variance": [800, 32, 8, 2, 0.3]}
    solution = md.solve(PrivacyContract(types=[1, 2, 3], counts=[100, 50, 10], budget=300, noise=table))
    assert solution.value == pytest.approx(325.0)
    assert solution.gap < 1e-9 * solution.value


def test_fewest_buyers_is_the_best_prefix():
    base = {
        "types": [1, 2, 3, 4],
        "counts": [40, 30, 20, 10],
        "budget": 200.0,
        "noise": "duchi",
        "epsilon_max": 3.0,
    }
    solution = md.solve(PrivacyContract(**base, minimum_buyers=60))
    values = []
    for size in (2, 3, 4):
        users = sum(base["counts"][:size])
        part = PrivacyContract(**{**base, "types": base["types"][:size], "counts": base["counts"][:size]})
        values.append(md.solve(part).value * (100 / users) ** 2)
    assert solution.value == pytest.approx(min(values), rel=1e-12)
    assert solution.quantities["buyers"] >= 60
    assert all(certificate.holds for certificate in solution.certificates)


@given(st.integers(0, 10**6), st.sampled_from(["laplace", "duchi", "piecewise"]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_minimum_buyers_equals_trying_every_number_of_types(seed, noise, with_budget):
    types, counts = random_people(seed, size=4)
    information = ["incomplete", "complete"][seed % 2]
    fewest = 1 + seed % int(counts.sum())
    base = {"noise": noise, "information": information, "participation_cost": 0.1 * (seed % 3)}
    goal = {"budget": 5.0 * counts.sum()} if with_budget else {"target_error": 1.0}
    solution = md.solve(PrivacyContract(types=types, counts=counts, minimum_buyers=fewest, **base, **goal))
    values = []
    for size in range(1, 5):
        buyers = float(counts[:size].sum())
        if buyers >= fewest:
            found = md.solve(PrivacyContract(types=types[:size], counts=counts[:size], **base, **goal))
            if found.found:
                values.append(found.value * ((counts.sum() / buyers) ** 2 if with_budget else 1.0))
    assert solution.found == bool(values)
    if values:
        assert solution.value == pytest.approx(min(values), rel=1e-9)
        assert solution.residuals["buyers"] == 0.0


def test_leaving_out_a_lower_type_is_against_the_rules():
    problem = PrivacyContract(
        types=[1, 2, 3], counts=[10, 20, 30], budget=100.0, information="complete", minimum_buyers=10
    )
    menu = {
        "epsilon": np.array([1.0, 0.0, 1.0]),
        "payment": np.array([1.0, 0.0, 3.0]),
        "types": np.arange(1.0, 4.0),
    }
    assert problem.residuals(menu)["buyers"] == 20.0
    allowed = {"epsilon": np.array([1.0, 1.0, 0.0]), "payment": np.array([1.0, 2.0, 0.0])}
    assert problem.residuals(menu | allowed)["buyers"] == 0.0


def test_infeasible_names_the_least_budget_and_it_is_the_least():
    base = {"types": [1.0, 2.1, 3.3], "counts": [100, 50, 10], "epsilon_min": 0.7, "participation_cost": 0.1}
    answer = md.solve(PrivacyContract(**base, budget=300))
    assert answer.status == "infeasible"
    least = answer.notes["least_budget"]
    assert f"the least budget that does is {least!r}" in answer.message
    assert md.solve(PrivacyContract(**base, budget=least)).status == "optimal"
    assert md.solve(PrivacyContract(**base, budget=math.nextafter(least, 0))).status == "infeasible"
    capped = md.solve(PrivacyContract(types=[1], counts=[10], target_error=0.1, epsilon_max=1.0))
    assert capped.status == "infeasible"
    least_error = capped.notes["least_error"]
    again = md.solve(
        PrivacyContract(types=[1], counts=[10], target_error=least_error * (1 + 1e-12), epsilon_max=1.0)
    )
    assert again.status == "optimal"


def test_a_budget_of_participation_costs_only_is_infeasible():
    answer = md.solve(PrivacyContract(types=[1, 2], counts=[5, 5], budget=10, participation_cost=1.0))
    assert (answer.status, answer.notes["least_budget"]) == ("infeasible", 10.0)


@pytest.mark.parametrize("shift", [-20, 0, 20])
def test_value_scales_with_money_and_preferences(shift):
    scale = 10.0**shift
    solution = md.solve(
        PrivacyContract(types=np.array([1, 2, 2.1]) * scale, counts=[100, 1, 100], budget=1000 * scale)
    )
    assert solution.value == pytest.approx(32.408979008, rel=1e-9)
    assert all(certificate.holds for certificate in solution.certificates)


def test_a_million_types_need_no_array_of_pairs():
    """About a second of this process on an idle machine."""
    rng = np.random.default_rng(0)
    types, counts = np.sort(rng.uniform(1, 10, 10**6)), rng.integers(1, 9, 10**6)
    start = time.process_time()
    solution = md.solve(PrivacyContract(types=types, counts=counts, budget=1e6))
    assert time.process_time() - start < 20
    assert solution.gap < 1e-8 * solution.value


@pytest.mark.parametrize("size", [5, 10, 20])
def test_error_rises_with_the_number_of_types(size):
    def alpha(count):
        types = {"name": "uniform", "low": 5, "high": 15, "size": count}
        problem = problem_from(
            PrivacyContract, {"types": types, "counts": 200, "budget": 1000, "data_range": 10}
        )
        return md.solve(problem).quantities["alpha"]

    assert alpha(size) < alpha(size + 1)


def test_unsorted_repeated_and_empty_types_are_put_in_order_with_notes():
    messy = PrivacyContract(types=[3, 1, 2, 2, 9], counts=[10, 60, 20, 30, 0], budget=100)
    tidy = PrivacyContract(types=[1, 2, 3], counts=[60, 50, 10], budget=100)
    one, two = md.solve(messy), md.solve(tidy)
    assert one.value == two.value
    assert (one.variables["types"] == [1, 2, 3]).all()
    for word in ("sorted", "merged", "dropped (9)"):
        assert word in one.notes["input"]
    assert "input" not in two.notes


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"types": [1, -2, 3]}, r"^types: entry 1 \(-2\) is not positive"),
        ({"types": []}, r"^types: is empty"),
        ({"types": [1, 2e31, 3e31]}, r"^types: span a factor"),
        ({"types": [1e31, 2e31, 3e31]}, r"^types: entry 0 \(1e\+31\) is outside \[1e-30, 1e\+30\]"),
        ({"types": [1, float("nan"), 2]}, r"^types: has NaN at index 1"),
        ({"counts": [1, 2]}, r"^counts: has 2 entries for 3 types"),
        ({"counts": [1, -2, 3]}, r"^counts: entry 1 \(-2\) is negative"),
        ({"counts": [0, 0, 0]}, r"^counts: are all zero"),
        ({"counts": 0}, r"^counts: 0 is outside"),
        ({"counts": "many"}, r"^counts: expected"),
        ({"budget": 0}, r"^budget: 0 is outside"),
        ({"budget": float("inf")}, r"^budget: inf is outside"),
        ({"budget": None}, r"^budget: give either a budget or a target_error"),
        ({"target_error": 0.1}, r"^budget: give either a budget or a target_error"),
        ({"confidence": 1.0}, r"^confidence: 1 is outside \[0, 1\)"),
        ({"data_range": -1}, r"^data_range: -1 is outside"),
        ({"information": "partial"}, r"^information: 'partial' is not a choice"),
        ({"noise": "gauss"}, r"^noise: 'gauss' is not a choice"),
        ({"epsilon_min": 2, "epsilon_max": 1}, r"^epsilon_max: 1 is below the floor 2"),
        ({"participation_cost": -1}, r"^participation_cost: -1 is outside"),
        ({"participation_cost": [0, 1]}, r"^participation_cost: has 2 entries for 3 types"),
        (
            {"types": [1, 1, 2], "participation_cost": [0, 1, 1]},
            r"^participation_cost: differs between users of the same",
        ),
        ({"minimum_buyers": 7}, r"^minimum_buyers: 7 is more than the 6 users"),
        ({"minimum_buyers": 0}, r"^minimum_buyers: 0 is not at least 1"),
    ],
)
def test_bad_input_names_the_field_in_one_line(changes, text):
    with pytest.raises(md.MechDesignError, match=text) as caught:
        PrivacyContract(**{"types": [1, 2, 3], "counts": [1, 2, 3], "budget": 10, **changes})
    assert "\n" not in str(caught.value)


def numbers(low, high):
    """Numbers of any size between two powers of ten."""
    return st.floats(low, high).map(lambda power: 10.0**power)


@given(
    st.lists(st.tuples(numbers(-5, 5), numbers(-2, 4)), min_size=1, max_size=5),
    st.one_of(
        st.tuples(st.just("budget"), numbers(-8, 8)), st.tuples(st.just("target_error"), numbers(-3, 3))
    ),
    st.fixed_dictionaries(
        {
            "noise": st.sampled_from(["laplace", "duchi", "piecewise"]),
            "information": st.sampled_from(["incomplete", "complete"]),
            "participation_cost": st.sampled_from([0.0, 0.01, 3.0]),
            "epsilon_min": st.sampled_from([0.0, 0.01, 1.0]),
            "epsilon_max": st.sampled_from([None, 2.0, 50.0]),
        }
    ),
)
@settings(max_examples=300, deadline=None)
def test_whatever_is_found_is_certified(rows, goal, extras):
    types, counts = zip(*rows, strict=True)
    solution = md.solve(PrivacyContract(types=types, counts=counts, **dict([goal]), **extras))
    assert solution.status in ("optimal", "infeasible"), solution
    assert all(certificate.holds for certificate in solution.certificates), solution
    if solution.status == "infeasible" and solution.notes.get("least_budget"):
        assert solution.notes["least_budget"] >= goal[1]


@pytest.mark.parametrize("information", ["incomplete", "complete"])
@pytest.mark.parametrize(
    "noise",
    ["laplace", "duchi", "piecewise", {"epsilon": [0.1, 0.5, 1, 2, 5], "variance": [800, 32, 8, 2, 0.3]}],
)
def test_no_menu_of_a_grid_beats_the_optimum_of_any_noise(noise, information):
    rng = np.random.default_rng(8)
    first, second = np.meshgrid(np.linspace(0.2, 4.0, 300), np.linspace(0.2, 4.0, 300), indexing="ij")
    for _ in range(12):
        types, counts = np.sort(rng.uniform(0.3, 3.0, 2)), rng.integers(1, 30, 2).astype(float)
        budget = float(counts.sum() * types[1] * rng.uniform(0.3, 3.0))
        limits = {"noise": noise, "epsilon_min": 0.2, "epsilon_max": 4.0}
        problem = PrivacyContract(
            types=types, counts=counts, budget=budget, information=information, **limits
        )
        if information == "complete":
            cost = counts[0] * types[0] * first + counts[1] * types[1] * second
        else:  # the first type is kept from the second item
            cost = counts.sum() * types[1] * second + counts[0] * types[0] * (first - second)
        allowed = (cost <= budget) & ((first >= second) | (information == "complete"))
        loss = problem.noise_model.loss
        errors = counts[0] * loss(first[allowed]) + counts[1] * loss(second[allowed])
        assert md.solve(problem).value <= errors.min() * (1 + 2.0**-40)


def test_each_type_keeps_most_with_its_own_item():
    """Figure 4.5: by the local constraint a type is indifferent to the next item, to no other."""
    found = md.solve(md.load_model("contract/monotone").problem).quantities
    for name, place in (("lowest", 0), ("middle", 10), ("highest", 19)):
        kept = found[f"kept_by_{name}"]
        assert len(kept) == 20
        assert int(np.argmax(kept)) in (place, place + 1)
        assert (np.diff(kept[: place + 1]) > 0).all()
        assert (np.diff(kept[place + 1 :]) < 0).all()
