"""The problem ``survey-design``: its theorems in small cases, its bounds, goals, and what it refuses."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import mechdesign as md
from mechdesign.families.survey import design as building
from mechdesign.families.survey.design_bundles import Joint, best_bundles, division, read_back
from mechdesign.families.survey.design_mixtures import generate_mixture, rotated
from mechdesign.families.survey.design_setting import Ask, design_information, effective, menu_of


def yes_no(count: int) -> list[dict]:
    return [{"name": f"q{number}", "labels": ["no", "yes"]} for number in range(count)]


def sizes(*counts: int) -> list[dict]:
    return [
        {"name": f"q{number}", "labels": [str(label) for label in range(size)]}
        for number, size in enumerate(counts)
    ]


NUMBERS = [{"name": "age", "range": [18, 90], "spread": 17}, *sizes(2, 16, 15)]


def test_one_yes_no_question_has_the_closed_form() -> None:
    """n x variance over 1/4 is coth(epsilon/2)^2 for one yes/no question."""
    for epsilon in (0.5, 1.0, 3.0):
        solution = md.solve(md.SurveyDesign(questions=yes_no(1), epsilon=epsilon))
        assert solution.value == pytest.approx(1 / math.tanh(epsilon / 2) ** 2, rel=1e-12)


@pytest.mark.parametrize(
    ("counts", "epsilon", "value"),
    [
        ((2, 2), 1.0, 9.3654),
        ((2, 2), 2.0, 2.6441),
        ((2, 2), 4.0, 1.1548),
        ((2, 2, 2), 2.0, 3.9662),
        ((2, 2, 2), 4.0, 1.3208),
        ((2, 2, 2, 2), 6.0, 1.0811),
        ((2, 3), 2.0, 3.7429),
        ((3, 3), 3.0, 2.1655),
        ((4, 4), 4.0, 1.6861),
        ((2, 2, 4), 2.0, 5.1370),
        ((2, 3, 3), 4.0, 1.7844),
    ],
)
def test_small_surveys_attain_what_any_mechanism_can(counts, epsilon, value) -> None:
    """The values of table 3.5, found there by enumerating all reports: no private mechanism is better."""
    problem = md.SurveyDesign(questions=sizes(*counts), epsilon=epsilon)
    solution = md.solve(problem)
    assert solution.value == pytest.approx(value, rel=1e-4)
    bound = solution.quantities["bound_for_any"]
    assert solution.notes["bound_for_any_mechanism"] <= bound * (1 + 1e-12)
    assert bound <= solution.value * (1 + 1e-12)


def test_the_second_way_agrees() -> None:
    for questions in (yes_no(3), NUMBERS):
        for epsilon in (1.0, 4.0):
            problem = md.SurveyDesign(questions=questions, epsilon=epsilon)
            best, grid = md.solve(problem), md.solve(problem, method="grid")
            assert best.bound is not None
            assert best.bound <= grid.value * (1 + 1e-6)
            assert grid.value <= best.value * 1.01  # the grid is coarse, but has the best bundles


def test_a_bound_is_below_every_design_of_its_class() -> None:
    """300 random mixtures of random divisions, bundles of sets and mixed designs: none beats the bound."""
    problem = md.SurveyDesign(questions=NUMBERS, epsilon=3.0)
    solution, setting = md.solve(problem), problem.own_setting
    rng, menu = np.random.default_rng(1), setting.menu
    columns = []
    for _ in range(200):
        asked = sorted(rng.choice(4, size=rng.integers(1, 5), replace=False).tolist())
        if rng.random() < 0.5:
            cuts = rng.multinomial(200, np.full(len(asked), 1 / len(asked)))
            parts = zip(asked, cuts.tolist(), strict=True)
            columns.append([menu.ask(place, step) for place, step in parts if step])
        else:
            widths = tuple(int(rng.integers(1, problem.questionnaire[place].size)) for place in asked)
            columns.append([Ask("sets", tuple(asked), 3.0, widths)])
    table = np.array([setting.information(column) for column in columns])
    for _ in range(300):
        chosen = rng.choice(len(columns), size=12, replace=False)
        information = rng.dirichlet(np.ones(12)) @ table[chosen]
        if (information > 0).all():
            assert (setting.each_weight / information).sum() >= solution.bound


def test_the_program_over_budgets_finds_what_enumeration_finds() -> None:
    problem = md.SurveyDesign(questions=sizes(2, 3, 5), epsilon=5.0)
    setting = problem.own_setting
    menu = menu_of(problem.questionnaire, setting.targets, 5.0, 20)
    prices = np.array([1.0, 2.0, 0.7])
    best, steps = division(menu, prices, [0, 1, 2])
    listed = [
        prices @ [menu.information[0, a], menu.information[1, b], menu.information[2, 20 - a - b]]
        for a in range(21)
        for b in range(21 - a)
    ]
    assert best[-1] == pytest.approx(max(listed), rel=1e-14)
    taken = read_back(steps, [0, 1, 2], 20)
    assert sum(
        prices[place] * menu.information[place, step] for place, step in taken.items()
    ) == pytest.approx(best[-1])


def test_the_knapsack_bounds_and_finds_the_best_product_of_sets() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        counts = rng.integers(2, 7, size=3).tolist()
        prices, epsilon = rng.random(3), float(rng.uniform(0.5, 6))
        found, bound = best_bundles(counts, prices, epsilon, 20_000)
        every = []
        for widths in np.ndindex(*counts):
            share = math.prod((width + 1) / size for width, size in zip(widths, counts, strict=True))
            rho = math.expm1(epsilon) * share / (1 + math.expm1(epsilon) * share)
            gains = [
                price * (size - width - 1) / ((width + 1) * (size - 1))
                for price, width, size in zip(prices, widths, counts, strict=True)
            ]
            every.append(rho**2 * sum(gains))
        assert bound >= max(every)
        assert found[0].price == pytest.approx(max(every), rel=2e-3)
        assert found[0].price <= max(every) * (1 + 1e-12)


def test_sets_tell_what_their_reports_tell() -> None:
    """The information of a product of sets is 1 over the variance of its exact estimator at even answers."""
    problem = md.SurveyDesign(questions=sizes(3, 4), epsilon=2.0)
    information = design_information(
        problem.questionnaire, problem.targets, [Ask("sets", (0, 1), 2.0, (1, 2))]
    )
    t, k, d = 1 / 3 * 2 / 4, 4, 2
    rho = math.expm1(2.0) * t / (1 + math.expm1(2.0) * t)
    p, q = rho + (1 - rho) * d / k, rho * (d - 1) / (k - 1) + (1 - rho) * d / k
    mixed = (p + (k - 1) * q) / k
    assert information[1] == pytest.approx((p - q) ** 2 / (k * mixed * (1 - mixed)), rel=1e-12)


def test_like_questions_are_asked_alike() -> None:
    problem = md.SurveyDesign(questions=yes_no(10), epsilon=4.0)
    solution = md.solve(problem)
    mechanism = solution.mechanism()
    errors = list(mechanism.errors(1000).values())
    assert max(errors) <= min(errors) * (1 + 1e-9)
    assert {len(item["questions"]) for design in solution.variables["designs"] for item in design} == {4}
    assert solution.value == pytest.approx(10 / 2.3723, rel=1e-4)  # table 3.6


def test_rotations_give_each_member_each_place() -> None:
    problem = md.SurveyDesign(questions=sizes(5, 5, 5, 5, 5, 5, 5), epsilon=8.0)
    solution = md.solve(problem)
    share = {}
    for design, part in zip(solution.variables["designs"], solution.variables["shares"], strict=True):
        for item in design:
            for place, name in enumerate(item["questions"]):
                width = item["sets"][place] if "sets" in item else 1
                share[name, width] = share.get((name, width), 0.0) + part
    for width in {key[1] for key in share}:
        listed = [value for (_, one), value in share.items() if one == width]
        assert len(listed) == 7
        assert max(listed) == pytest.approx(min(listed), rel=1e-9)


def test_cross_tables_are_asked_as_views_not_as_split_answers() -> None:
    """For the pair of two questions of four answers at epsilon 1 the best is one report of all cells."""
    problem = md.SurveyDesign(questions=sizes(4, 4), epsilon=1.0, tables=[["q0", "q1"]])
    solution = md.solve(problem)
    both = [part for part in solution.variables["designs"] if part[0]["questions"] == ["q0", "q1"]]
    assert both
    found = solution.mechanism().errors(1000)
    assert set(found) == {"q0", "q1", "q0 x q1"}
    assert found["q0 x q1"] < found["q0"]  # of a cell: a sixteenth, not a quarter


def test_goals_answer_the_same_question() -> None:
    questions = [{**item, "error": 0.02} for item in sizes(2, 3, 8)]
    needed = md.solve(md.SurveyDesign(questions=questions, epsilon=3.0, goal="users"))
    users = math.ceil(needed.value)
    worst = md.solve(md.SurveyDesign(questions=questions, epsilon=3.0, users=users, goal="worst"))
    assert worst.value == pytest.approx(math.sqrt(needed.value / users), rel=1e-4)
    least = md.solve(md.SurveyDesign(questions=questions, epsilon=6.0, users=users, goal="epsilon"))
    assert least.value == pytest.approx(3.0, rel=1e-3)
    assert all(error <= 0.02 * 1.001 for error in least.mechanism().errors(users).values())
    few = md.solve(md.SurveyDesign(questions=questions, epsilon=1.0, users=10, goal="epsilon"))
    assert few.status == "infeasible"
    assert "users are needed" in few.message


@pytest.mark.parametrize("goal", ["worst", "users"])
def test_prices_that_are_not_unique_are_no_circle(goal) -> None:
    """One design is as good for all three questions: any prices are prices of the master program."""
    questions = [
        {"name": "hours", "kind": "number", "range": [0, 10], "error": 0.1},
        {"name": "income", "kind": "number", "range": [0, 100], "error": 1.0},
        {"name": "smokes", "labels": ["no", "yes"], "error": 0.01},
    ]
    problem = md.SurveyDesign(questions=questions, epsilon=3.0, goal=goal)
    found = md.solve(problem)
    assert found.status == "optimal"
    assert found.notes["rounds"] < 20


def test_importance_moves_users() -> None:
    even = md.solve(md.SurveyDesign(questions=yes_no(2), epsilon=1.0))
    questions = [{**yes_no(2)[0], "importance": 4.0}, yes_no(2)[1]]
    moved = md.solve(md.SurveyDesign(questions=questions, epsilon=1.0))
    assert even.variables["shares"] == pytest.approx([0.5, 0.5])
    assert moved.variables["shares"] == pytest.approx([2 / 3, 1 / 3], abs=1e-6)  # as the roots, 2 : 1


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"questions": []}, "0 of them"),
        ({"questions": "age"}, "expected a list of tables"),
        (
            {"questions": [{"name": "a", "labels": ["x", "y"]}, {"name": "a", "labels": ["x", "y"]}]},
            "two are named 'a'",
        ),
        ({"questions": [{"name": "a"}]}, "list the possible answers"),
        ({"tables": [["q0", "q9"]]}, "no question 'q9'"),
        ({"tables": [["q0"]]}, "two questions or more"),
        ({"tables": [["q0", "q0"]]}, "twice"),
        ({"tables": [["q0", "q1"], ["q1", "q0"]]}, "requested twice"),
        ({"group_means": [{"number": "q0", "by": "q1"}]}, "not a number"),
        ({"goal": "users"}, "needs the target standard error of 'q0'"),
        ({"epsilon": 60.0}, "give 0.000001 to 50"),
    ],
)
def test_bad_input_is_named_with_a_remedy(changed, expected) -> None:
    with pytest.raises(md.MechDesignError, match=expected):
        md.SurveyDesign(**{"questions": yes_no(2), "epsilon": 1.0, **changed})


def test_no_epsilon_is_infeasible_with_a_reason() -> None:
    solution = md.solve(md.SurveyDesign(questions=yes_no(2), epsilon=0.0))
    assert solution.status == "infeasible"
    assert "larger epsilon" in solution.message


def test_effective_share_of_a_yes_no_question() -> None:
    assert float(effective(2.0, 2, 1)) == pytest.approx(math.tanh(1.0) ** 2)


def test_the_order_in_which_designs_are_found_does_not_matter() -> None:
    """Designs and their parts in another order, with other last digits: the same values."""
    problem = md.SurveyDesign(questions=sizes(2, 2, 2, 2, 3, 3), epsilon=3.0)
    setting = problem.own_setting
    mixture = generate_mixture(setting, Joint(setting).start(), Joint(setting))
    columns, shares = rotated(mixture, setting.groups)
    found = building.variables_of(problem.questionnaire, columns, shares.tolist(), 3.0)
    order = np.random.default_rng(3).permutation(len(columns))
    moved = [tuple(reversed(columns[place])) for place in order]
    noisy = shares[order] * (1.0 + 1e-13 * np.arange(len(order)))
    assert len(set(found["shares"])) < len(columns)  # ties
    assert building.variables_of(problem.questionnaire, moved, noisy.tolist(), 3.0) == found


MADE = """
import json, mechdesign as md
ordered = {"name": "rating", "kind": "ordered", "labels": list("abcde"), "cumulative": True}
alike = [{"name": name, "labels": ["0", "1", "2"]} for name in "xyz"]
numbers = [{"name": "age", "range": [18, 90], "spread": 17}]
problem = md.SurveyDesign(questions=[ordered, *alike, *numbers], epsilon=2.5, tables=[["x", "y"]])
print(json.dumps(md.solve(problem).mechanism().content()))
"""


def test_another_processor_makes_the_same_mechanism() -> None:
    """Linear algebra in the order of an old processor rounds otherwise: the same bytes come out."""
    made = [
        subprocess.run(
            [sys.executable, "-c", MADE], env=os.environ | more, capture_output=True, text=True, check=True
        ).stdout
        for more in ({}, {"OPENBLAS_CORETYPE": "Prescott"})
    ]
    assert made[0] == made[1]
    assert len(json.loads(made[0])["designs"]) > 3
