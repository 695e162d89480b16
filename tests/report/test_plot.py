"""``plot`` and ``--figure``: of models, designs, mechanisms and estimates."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import ParameterError
from mechdesign.core.problem import companion
from mechdesign.families import problem_classes
from mechdesign.families.joint import JointResponse
from mechdesign.families.marginals import MarginalRelease
from mechdesign.families.mean import AttributeSampling, Duchi
from mechdesign.report.plot import figures_of
from mechdesign.show.draw import picture
from mechdesign.show.figure import Bars, Intervals, design_figures
from tests.meta.test_shown import MECHANISMS
from tests.support.clashes import clashes

SURVEY = md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=2.0, labels=["no", "once", "often"])

MODEL = """
[model]
title = "Small"
problem = "randomized-response"
[parameters]
prior = [0.5, 0.5]
epsilon = 1.0
[sweep]
epsilon = [0.5, 1.0, 2.0]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "small.toml").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", MECHANISMS)
def test_every_type_of_mechanism_is_drawn(kind):
    figures = figures_of(MECHANISMS[kind][0]())
    for figure in figures[:1]:  # the second of channels is the errors' one of the others
        assert clashes(picture(figure)) == []


def test_a_protocol_is_not_drawn_for_users_that_it_was_not_made_for():
    figure = figures_of(MECHANISMS["cnt-2m"][0]())[0]
    assert figure.panels[0].x_names == ("cnt-2m", "Laplace noise of a trusted curator")


def test_protocols_stand_beside_what_is_measured_alike():
    """A distance is not a count, one category more or less is not two, and Laplace noise tests nothing."""
    tested = figures_of(MECHANISMS["uniformity-dump"][0]())[0].panels[0]
    assert tested.y_label == "distance from uniform that is found"
    assert tested.marks[0].y[0] > tested.marks[0].y[1] > 0, "dummies cost distance"
    distinct = figures_of(MECHANISMS["distinct-parity"][0]())[0].panels[0]
    assert distinct.marks[0].y[1] == pytest.approx(np.sqrt(2.0))  # epsilon is 1
    assert figures_of(MECHANISMS["hist-kr"][0]())[0].panels[0].marks[0].y[1] == pytest.approx(
        2 * np.sqrt(2.0)
    )


def test_the_average_that_a_budget_bought_is_drawn_with_both_errors():
    menu = md.solve(md.PrivacyContract(types=[1, 2, 3], counts=[100, 100, 100], budget=1000)).mechanism()
    chosen = menu.choose([1.0, 2.0, 3.0] * 100)
    average = menu.estimate(menu.randomize(np.full(300, 0.4), chosen, rng=1), chosen)
    one, sure = figures_of(average)[0].panels[0].marks
    assert one.y.tolist() == sure.y.tolist() == [average.value]
    assert one.high[0] - average.value == pytest.approx(average.standard_error)
    assert sure.high[0] - average.value == pytest.approx(menu.alpha())
    assert clashes(picture(figures_of(average)[0])) == []


def test_ranges_and_tests_of_shuffled_messages_are_drawn():
    tree = MECHANISMS["range-tree"][0]()
    people = np.random.default_rng(1).integers(0, tree.labels.size, tree.promise.users)
    ranges = tree.analyze(tree.shuffle(tree.encode(people, rng=1), rng=1))
    drawn = figures_of(ranges)[0].panels[0].marks[0]
    assert drawn.y.tolist() == ranges.value.tolist()
    test = MECHANISMS["uniformity-dump"][0]()
    people = np.zeros(test.promise.users, dtype=np.int64)
    verdict = test.analyze(test.shuffle(test.encode(people, rng=1), rng=1))
    bars, line = figures_of(verdict)[0].panels[0].marks
    assert bars.y.tolist() == [verdict.collisions, verdict.expected]
    assert line.value == verdict.threshold


def test_an_estimate_stands_beside_the_reports_as_they_came():
    mechanism = md.solve(SURVEY).mechanism()
    reports = ["no"] * 60 + ["once"] * 30 + ["often"] * 10
    estimate = mechanism.estimate(reports)
    bars, found, naive = figures_of(estimate)[0].panels[0].marks
    assert isinstance(bars, Bars)
    assert isinstance(found, Intervals)
    assert naive.faint
    assert naive.y.tolist() == [0.6, 0.3, 0.1]
    low, high = estimate.interval()
    assert estimate.value[2] < 0.0, "so it is drawn at 0, and its interval from there"
    assert bars.y.tolist() == [*estimate.value[:2].tolist(), 0.0]
    assert (low[:2].min() > 0.0, high.max() < 1.0) == (True, True)
    assert found.low.tolist() == [*low[:2].tolist(), 0.0]
    assert found.high.tolist() == high.tolist()
    assert md.solve(SURVEY, "lp").mechanism().estimate(reports).reported.tolist() == [0.6, 0.3, 0.1]


def test_reports_that_are_no_answers_are_not_shown_as_such():
    more = md.RandomizedResponse(prior=[0.5, 0.5], epsilon=2.0, utility=[[1, 0, 0.6], [0, 1, 0.6]])
    channel = md.solve(more).mechanism()
    assert channel.estimate([0, 1, 1]).reported is None


def test_means_are_drawn_with_their_intervals():
    means = AttributeSampling.of(Duchi, 1.0, ["steps", "pulse"])
    figure = figures_of(means.estimate(means.randomize([[0.5, -0.5]] * 40, rng=1)))[0]
    assert figure.panels[0].x_names == ("steps", "pulse")
    assert figures_of(Duchi(1.0).estimate([0, 1, 1]))[0].panels[0].y_label == "mean"


def test_estimates_of_several_attributes_have_a_panel_each():
    release = MarginalRelease.of([2, 3, 2], [(0, 1), (1, 2)], epsilon=2.0)
    people = np.random.default_rng(1).integers(0, 2, (300, 3))
    panels = figures_of(release.estimate(release.randomize(people, rng=1)))[0].panels
    assert [len(panel.x_names) for panel in panels] == [2, 3, 2]
    joint = JointResponse.of([2, 3], 4.0, redraw=0.5, keep=0.75, add=0.5)
    estimate = joint.estimate(joint.randomize(people[:, :2], rng=1))
    panels = figures_of(estimate)[0].panels
    assert [len(panel.x_names) for panel in panels] == [2, 3]
    assert panels[1].marks[0].y.tolist() == estimate.marginal([1]).unbiased.tolist()


def test_every_problem_says_what_its_value_is():
    assert [name for name, problem in problem_classes().items() if problem.value_name == "value"] == []


def test_plot_saves_what_it_returns(tmp_path):
    drawn = md.plot(SURVEY, tmp_path / "survey.svg")
    assert drawn[0].axes[0].get_ylabel() == "true answer"
    assert [path.name for path in tmp_path.iterdir()] == ["survey.svg"]
    md.plot(md.solve(SURVEY).mechanism(), tmp_path / "two.png")
    assert {path.name for path in tmp_path.iterdir()} == {"survey.svg", "two.png", "two-2.png"}


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (3, "3 cannot be drawn; give a model"),
        (md.JointCollection(attributes=[2, 2], epsilon=1.0), "nothing to draw of JointCollection"),
    ],
)
def test_what_has_no_picture_says_so(thing, text):
    with pytest.raises(ParameterError, match=text):
        md.plot(thing)


def test_sweep_draws_and_does_not_overwrite(folder, capsys):
    assert main(["sweep", "small.toml", "--figure", "a.svg"]) == 0
    assert "status" in capsys.readouterr().out
    first = (folder / "a.svg").read_bytes()
    assert main(["sweep", "small.toml", "--set", "prior=[0.2, 0.8]", "--figure", "a.svg"]) == 2
    assert "--figure a.svg: file exists; choose another path or add --force" in capsys.readouterr().err
    assert (folder / "a.svg").read_bytes() == first
    assert main(["sweep", "small.toml", "--set", "prior=[0.2, 0.8]", "--figure", "a.svg", "--force"]) == 0
    assert (folder / "a.svg").read_bytes() != first


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["sweep", "small.toml", "--figure", "a.pdf"],
            "--figure a.pdf: is neither .png nor .svg; name it so",
        ),
        (["sweep", "small.toml", "--figure", "no/a.svg"], "--figure no/a.svg: cannot be written"),
        (["sweep", "small.toml", "--figure", "-"], "--figure -: is neither .png nor .svg"),
        (
            ["solve", "joint/many_reports", "--figure", "a.svg"],
            "--figure a.svg: nothing to draw of a design of joint-collection; omit it",
        ),
        (["tradeoff", "contract/monotone"], "privacy-contract: has no epsilon to trade for an error"),
        (["tradeoff", "small.toml", "--error", "0"], "error: 0 is not > 0"),
        (
            ["tradeoff", "shuffle/certified_any"],
            "shuffle-amplification: has no epsilon to trade for an error",
        ),
        (["tradeoff", "shuffle/distinct", "--users", "1"], "no error for 1 user at any of these epsilons"),
    ],
)
def test_bad_requests_end_in_one_line_and_write_nothing(folder, capsys, words, text):
    before = sorted(folder.iterdir())
    assert main(words) == 2
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_the_whole_way_of_a_survey_in_pictures(folder, capsys):
    """Of two answers: solve draws polygon and cells, audit the mechanism, estimate the answers."""
    (folder / "people.csv").write_text("answer\n" + "0\n1\n0\n" * 200)
    assert main(["solve", "small.toml", "--figure", "design.svg"]) == 0
    assert main(["build", "small.toml", "-o", "m.json"]) == 0
    assert main(["audit", "m.json", "--figure", "m.svg"]) == 0
    assert main(["randomize", "m.json", "people.csv", "-o", "reports.csv", "--seed", "1"]) == 0
    assert main(["estimate", "m.json", "reports.csv", "--figure", "shares.svg"]) == 0
    assert "600 reports" in capsys.readouterr().out
    assert {path.name for path in folder.glob("*.svg")} == {
        "design.svg", "design-2.svg", "m.svg", "m-2.svg", "shares.svg",
    }  # fmt: skip
    drawn = (folder / "shares.svg").read_text()
    assert "95% confidence interval" in drawn
    assert "share among the randomized reports" in drawn
    assert main(["estimate", "m.json", "reports.csv", "--figure", "shares.svg"]) == 2, "by force alone"
    assert main(["estimate", "m.json", "reports.csv", "--figure", "shares.svg", "--force"]) == 0


def test_users_for_an_error_are_the_fewest(folder, capsys):
    """The error falls with the number of users: the given number is enough, one fewer is not."""
    from mechdesign.report.tradeoff import tradeoff

    found = tradeoff(SURVEY, users=5000, errors=[0.02], epsilons=[1.0, 2.0])
    for row in found.rows:
        mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=row.epsilon)).mechanism()
        if row.error is None:
            assert not mechanism.forecast(5000).possible
            continue
        assert row.error == mechanism.forecast(5000).largest
        assert (
            mechanism.forecast(row.needed[0]).largest <= 0.02 < mechanism.forecast(row.needed[0] - 1).largest
        )
    assert found.rows[1].error is not None
    assert main(["tradeoff", "small.toml", "--users", "100", "--error", "0.1", "--figure", "t.svg"]) == 0
    assert "error with 100 users  margin of error  users for 0.1" in capsys.readouterr().out
    assert (folder / "t.svg").exists()


COUNTING = md.ShuffleCounting(users=1000, epsilon=1.0, delta=1e-6, protocol="cnt-sgm")


def test_shuffled_messages_trade_privacy_for_the_error_of_a_share():
    """A protocol is made for its users: the error of others is that of another protocol."""
    from mechdesign.report.tradeoff import tradeoff

    found = tradeoff(COUNTING, errors=[0.01, 1e-12], epsilons=[1.0])
    row = found.rows[0]
    assert found.users == 1000
    assert row.error == md.solve(COUNTING).value / 1000

    def error(users: int) -> float:
        return md.solve(attrs.evolve(COUNTING, users=users)).value / users

    enough, beyond = row.needed
    assert beyond is None, "a thousand millions are not enough"
    assert error(enough) <= 0.01 < error(int(0.985 * enough))
    panels = found.figures()[0].panels
    assert panels[0].y_label == "root mean squared error, at most (share of the users who hold 1)"
    assert panels[1].marks[0].y.tolist() == [enough]


@pytest.mark.parametrize(
    ("law", "wanted"),
    [
        (lambda users: 100.0 / users, 0.003),
        (lambda users: 7.0 / users**0.5, 0.01),
        (lambda users: 3.0 / users**0.5 + 40.0 / users, 0.02),
        (lambda users: 50.0 / max(users - 400, 1), 0.05),
        (lambda users: 1.0 / (users // 64 + 1), 0.001),
        (lambda users: 1.0 / (users // 3000 + 1), 0.25),
    ],
)
def test_the_search_for_users_ends_within_one_percent(law, wanted):
    """For errors that fall like a power, like a sum of powers, and in steps."""
    from mechdesign.report.tradeoff import _Error, _nearly_needed

    asked: list[int] = []

    def errors_of(users: int) -> _Error | None:
        asked.append(users)
        return _Error(law(users), "error", "share") if users > 1 else None

    found = _nearly_needed(errors_of, wanted, start=10_000)
    assert found is not None
    assert law(found) <= wanted < law(int(0.99 * found) - 1)
    assert len(asked) <= 40
    assert _nearly_needed(errors_of, 1e-12, start=10_000) is None


def test_other_tasks_say_which_error_it_is(folder, capsys):
    uniform = md.ShuffleUniformity(users=100_000, categories=10, epsilon=1.0, delta=1e-6)
    assert uniform.planned_error(md.solve(uniform))[0] == md.solve(uniform).value
    distinct = md.ShuffleDistinct(users=1000, categories=50, epsilon=1.0, delta=1e-6)
    assert distinct.planned_error(md.solve(distinct))[0] == md.solve(distinct).value / 50
    words = ["tradeoff", "shuffle/distinct", "--error", "0.5", "--figure", "t.svg"]
    assert main(words) == 0
    assert "share of the categories, largest root mean squared error" in capsys.readouterr().out
    assert (folder / "t.svg").exists()


DESIGNS = {
    "auction-horizon": ("auction/not_knowing", {}),
    "auction-slot": ("auction/setting_one_slot", {}),
    "covering-design": ("marginals/covering_calm", {}),
    "direct-mechanism": ("incentives/auction_two_bidders", {}),
    "joint-distribution": ("joint/by_hand", {}),
    "screening": ("incentives/menu_uniform", {}),
    "marginal-views": ("marginals/census_views", {}),
    "mean-channel": ("mean/best_channel", {"inputs": 5}),
    "privacy-contract": ("contract/irregular", {}),
    "privacy-contract-continuous": ("contract/uniform_density", {}),
    "randomized-response": ("response/zhou2019_survey", {}),
    "spectrum-channel": ("spectrum/six_users", {}),
    "spectrum-cloak": ("spectrum/owner_tile", {}),
    "spectrum-partition": ("spectrum/line_cloak", {}),
    "spectrum-primary": ("spectrum/zhang2019_figure6_13a", {}),
    "spectrum-secondary": ("spectrum/zhang2019_figure6_12", {}),
    "survey-design": ("survey/census", {}),
}


def test_every_problem_with_pictures_of_its_designs_is_here():
    have = {name for name, problem in problem_classes().items() if companion(problem, "figures")}
    assert set(DESIGNS) == have, "add the new problem to DESIGNS"


@pytest.mark.parametrize("problem", DESIGNS)
def test_designs_of_every_problem_are_drawn(problem):
    slug, parameters = DESIGNS[problem]
    model = md.load_model(slug, parameters)
    assert model.problem.name == problem
    solution = md.solve(model.problem)
    figures = design_figures(model.problem, solution)
    assert figures
    for figure in figures:
        assert clashes(picture(figure)) == []


def test_winners_are_paid_at_least_what_they_ask_for():
    """What the picture of a slot has to show: payments of a truthful auction, each beside its own bid."""
    problem = md.load_model("auction/setting_one_slot").problem
    solution = md.solve(problem)
    cost, paid = design_figures(problem, solution)[0].panels[0].marks
    assert (paid.y >= cost.y).all()
    assert (paid.y > cost.y).any()


def test_the_best_channel_for_a_number_has_its_value_as_largest_variance():
    """On the inputs and between them, where users are rounded to a neighbour."""
    problem = md.MeanChannel(epsilon=1.0, inputs=5)
    solution = md.solve(problem)
    variance = design_figures(problem, solution)[0].panels[0].marks[0]
    assert variance.y.max() <= solution.value + solution.gap
    assert variance.y.max() >= solution.value * (1 - 1e-3), "a parabola a segment, drawn at 50 points of each"


def test_table_and_picture_need_two_places_and_appear_together_or_not(tmp_path, capsys):
    path = tmp_path / "m.toml"
    head = '[model]\ntitle = "t"\nproblem = "mean-interval"\n'
    text = head + "[parameters]\nepsilon = 1.0\n[sweep]\nepsilon = [1.0, 2.0]\n"
    path.write_text(text)
    both = str(tmp_path / "both.svg")
    place = tmp_path / "link.csv"
    place.symlink_to(both)
    assert main(["sweep", str(path), "-o", str(place), "--figure", both]) == 2
    assert "is where -o writes to" in capsys.readouterr().err
    place.unlink()
    path.write_text(text + '[[figure]]\ny = "valu"\n')
    assert main(["sweep", str(path), "-o", str(tmp_path / "t.csv"), "--figure", both]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [path]


def test_given_axes_are_drawn_on_and_come_back():
    from matplotlib.figure import Figure as Sheet

    mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=2.0)).mechanism()
    estimate = mechanism.estimate(mechanism.randomize([0] * 300 + [1] * 100, rng=1))
    left, right = Sheet().subplots(1, 2)
    assert md.plot(estimate, ax=right) is right
    assert right.get_ylabel() == "share"
    assert right.has_data()
    assert not left.has_data()
    assert right.get_legend() is not None
    assert right.get_figure().legends == []
    with pytest.raises(ParameterError, match=r"^path: is not for given axes"):
        md.plot(estimate, "p.png", ax=right)


def test_several_panels_need_as_many_axes():
    from matplotlib.figure import Figure as Sheet

    release = MarginalRelease.of([2, 2], [(0, 1)], 4.0, ["s", "c"])
    found = release.estimate(release.randomize([[0, 1], [1, 0]] * 200, rng=1))
    axes = Sheet().subplots(1, 2)
    assert md.plot(found, ax=axes) is axes
    assert all(each.has_data() for each in axes)
    with pytest.raises(ParameterError, match=r"^ax: 1 for 2 panels; give 2 axes"):
        md.plot(found, ax=axes[0])
