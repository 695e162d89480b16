"""Agreement of methods: what counts as a contradiction, with methods that lie."""

from __future__ import annotations

import numpy as np
import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import MethodError
from mechdesign.core.values import changed
from mechdesign.families.response import RandomizedResponse
from mechdesign.report.compare import Comparison, disagreements

PROBLEM = RandomizedResponse(prior=[0.5, 0.3, 0.2], epsilon=1.0)
TRUTH = md.solve(PROBLEM).value


def lying(name: str, share: float, bound: float | None, kind: str = "numeric", status: str = "optimal"):
    """Return a run whose channel has a part of the optimum's diagonal, with the bound it claims."""
    best, constant = np.asarray(md.solve(PROBLEM).variables["channel"]), np.full((3, 3), 1 / 3)
    channel = share * best + (1 - share) * constant
    variables = {"channel": channel} if status in ("optimal", "feasible") else {}
    outcome = md.Outcome(status, variables, bound, "" if bound is None else "a claim")
    method = md.Method(name, RandomizedResponse, kind, "", lambda problem: outcome)
    return md.solve(PROBLEM, method)


def test_values_are_recomputed_from_the_variables():
    run = lying("a", 0.5, 1.0)
    assert run.value == pytest.approx(0.5 * TRUTH + 0.5 / 3)
    assert run.gap == pytest.approx(1.0 - run.value)


def test_a_wrong_optimum_is_a_disagreement():
    good, wrong = lying("good", 1.0, TRUTH), lying("wrong", 0.9, lying("x", 0.9, None).value)
    texts = disagreements([good, wrong])
    assert any("good finds" in text and "beyond" in text and "wrong" in text for text in texts)
    assert any("good and wrong differ by" in text for text in texts)


def test_a_value_within_the_certified_gap_is_none():
    assert disagreements([lying("good", 1.0, TRUTH), lying("rough", 0.9, TRUTH)]) == []
    assert disagreements([lying("good", 1.0, TRUTH), lying("no bound", 0.9, None)]) == []


def test_feasible_and_heuristic_runs_promise_no_optimum_but_their_bounds_count():
    low = lying("x", 0.9, None).value
    good = lying("good", 1.0, TRUTH)
    assert disagreements([good, lying("near", 0.9, TRUTH + 1e-3, status="feasible")]) == []
    assert disagreements([good, lying("heuristic", 0.9, TRUTH, kind="heuristic")]) == []
    assert len(disagreements([good, lying("near", 0.9, low, status="feasible")])) == 1


@pytest.mark.parametrize(("kind", "status"), [("heuristic", "optimal"), ("numeric", "feasible")])
def test_a_run_that_claims_no_optimality_is_judged_by_the_best_bound_of_the_others(kind, status):
    good, loose = lying("good", 1.0, TRUTH + 1e-9), lying("loose", 1.0, TRUTH + 0.1, status="feasible")
    modest = lying("modest", 0.9, None, kind=kind, status=status)
    assert not modest.claims_optimality
    assert all(certificate.holds for certificate in modest.certificates)
    assert {certificate.property for certificate in modest.certificates} == {"privacy", "normalization"}
    comparison = Comparison(PROBLEM, (good, loose, modest), {}, ())
    assert comparison.best_bound == TRUTH + 1e-9, "the tightest, not the first or the last"
    assert comparison.gap_to_best_bound(modest) == TRUTH + 1e-9 - modest.value
    entry = next(run for run in comparison.as_dict()["runs"] if run["method"] == "modest")
    assert entry["claims_optimality"] is False
    assert entry["bound"] is None
    assert entry["gap_to_best_bound"] == comparison.gap_to_best_bound(modest) > 0.01
    text = str(comparison)
    assert "FAILS" not in text
    assert f"modest: optimality is not claimed; gap {entry['gap_to_best_bound']:.3g} to the best" in text


def test_an_optimum_that_is_claimed_and_not_proven_is_none():
    for bound in (None, TRUTH):
        run = lying("claims", 0.9, bound)
        assert (run.status, run.claims_optimality, run.broken) == ("feasible", False, ())
        assert "optimality" not in {item.property for item in run.certificates}


def test_a_heuristic_whose_own_bound_proves_it_keeps_that_certificate():
    run = lying("lucky", 1.0, TRUTH, kind="heuristic")
    assert "optimality" in {certificate.property for certificate in run.certificates}


def test_bounds_of_published_formulas_and_of_a_minimum(monkeypatch):
    printed = lying("printed", 0.9, 0.4, kind="published")
    assert Comparison(PROBLEM, (printed,), {}, ()).best_bound is None
    assert "no method has a bound to compare it with" in str(
        Comparison(PROBLEM, (lying("x", 0.9, None, status="feasible"),), {}, ())
    )
    monkeypatch.setattr(RandomizedResponse, "sense", "min")
    monkeypatch.setattr(RandomizedResponse, "trivial_bound", lambda problem: 0.0)
    low, high = lying("low", 0.9, 0.1), lying("high", 0.9, 0.2)
    both = Comparison(PROBLEM, (low, high), {}, ())
    assert both.best_bound == 0.2
    assert both.gap_to_best_bound(low) == low.value - 0.2


def test_a_bound_of_infinity_is_no_bound():
    plain = Comparison(PROBLEM, (lying("loose", 0.9, np.inf, status="feasible"),), {}, ()).as_dict()
    assert (plain["best_bound"], plain["runs"][0]["gap_to_best_bound"]) == (None, None)


def test_one_method_does_not_agree_with_itself():
    good, other = lying("good", 1.0, TRUTH), lying("other", 1.0, TRUTH)
    printed = lying("printed", 0.5, None, kind="published", status="feasible")
    assert Comparison(PROBLEM, (good, other), {}, ()).agreement == "yes"
    assert Comparison(PROBLEM, (good, printed), {}, ()).agreement == "one method"
    assert Comparison(PROBLEM, (printed,), {}, ()).agreement == "no method"
    assert Comparison(PROBLEM, (good, other), {}, ("they differ",)).agreement == "NO"
    assert Comparison(PROBLEM, (good, printed), {}, ()).as_dict()["methods_judged"] == 1


def test_published_formulas_are_shown_and_not_asked():
    assert disagreements([lying("good", 1.0, TRUTH), lying("printed", 0.5, 0.4, kind="published")]) == []


def test_feasibility_must_agree_and_failures_are_told():
    good = lying("good", 1.0, TRUTH)
    assert disagreements([good, lying("other", 1.0, None, status="infeasible")]) == [
        "good has status optimal, other has status infeasible"
    ]
    broken = lying("broken", 1.0, None, status="failed")
    assert disagreements([good, broken]) == []
    assert Comparison(good.problem, (good, broken), {}, ()).failures == ("broken: ",)
    none = [lying(name, 1.0, None, status="infeasible") for name in "ab"]
    assert disagreements(none) == []


def test_a_minimum_is_judged_the_other_way_round(monkeypatch):
    monkeypatch.setattr(RandomizedResponse, "sense", "min")
    good, beyond = lying("good", 1.0, TRUTH), lying("lower", 0.9, None)
    assert any("lower finds" in text for text in disagreements([good, beyond]))


def test_an_error_of_a_method_becomes_a_failed_run(monkeypatch):
    import mechdesign.report.compare as module

    def broken(problem, **options):
        raise MethodError("no luck")

    method = md.Method("broken", RandomizedResponse, "numeric", "", broken)
    monkeypatch.setattr(module, "methods_of", lambda problem_class: (method,))
    comparison = md.compare(PROBLEM)
    assert comparison.runs[0].status == "failed"
    assert comparison.failures == ("broken: no luck",)
    assert comparison.agree, "who says nothing contradicts nobody"
    assert "FAILED: broken: no luck" in str(comparison)


class PanicException(BaseException):
    """What a solver written in Rust raises."""


@pytest.mark.everywhere
@pytest.mark.parametrize("error", [TypeError("of a\nsolver"), PanicException("index"), RecursionError()])
def test_a_method_that_throws_is_an_answer_in_one_line(error, monkeypatch, capsys):
    """Whatever a method raises, solve says that it failed and where; Ctrl-C still ends everything."""
    import mechdesign.solvers.solve as module

    def throwing(problem):
        raise error

    method = md.Method("throwing", RandomizedResponse, "numeric", "", throwing)
    solution = md.solve(PROBLEM, method)
    assert solution.status == "failed"
    assert solution.message.startswith(type(error).__name__)
    assert "test_compare.py, line" in solution.message
    assert "\n" not in solution.message
    undecided = md.Method("undecided", RandomizedResponse, "numeric", "", print, throwing)
    comparison = md.compare(PROBLEM, ["lp", method, undecided])
    assert [run.status for run in comparison.runs] == ["optimal", "failed"]
    assert comparison.skipped["undecided"].startswith(f"it failed: {type(error).__name__}")
    with pytest.raises(MethodError, match="it failed"):
        md.solve(PROBLEM, undecided)

    known = (undecided, method, *md.methods_of(RandomizedResponse))
    monkeypatch.setattr(module, "methods_of", lambda problem: known)
    for arguments, code in (([], 0), (["--method", "throwing"], 1)):
        assert main(["solve", "response/zhou2019_survey", *arguments]) == code
        output = capsys.readouterr()
        assert type(error).__name__ in output.out, "the next method says why the first was not taken"
        assert "Traceback" not in output.out + output.err


def test_an_interrupt_of_a_method_ends_everything():
    def interrupted(problem):
        raise KeyboardInterrupt

    method = md.Method("interrupted", RandomizedResponse, "numeric", "", interrupted)
    with pytest.raises(KeyboardInterrupt):
        md.solve(PROBLEM, method)


def test_the_table_shows_runs_reasons_and_failures():
    text = str(md.compare(PROBLEM))
    for word in ("closed-form", "lp", "convex", "extreme-points", "3 hold", "staircase: not applicable"):
        assert word in text
    only = md.compare(PROBLEM, ["lp"])
    assert [run.method for run in only.runs] == ["lp"]
    wrong = changed(lying("wrong", 0.9, 1.0), status="optimal")
    bad = Comparison(PROBLEM, (wrong,), {}, ("they differ",))
    assert "FAILS: optimality" in str(bad)
    assert "DISAGREE: they differ" in str(bad)


def test_published_methods_are_never_chosen_by_default(monkeypatch):
    import mechdesign.solvers.solve as module

    printed = md.Method("printed", RandomizedResponse, "published", "", lambda problem: None)
    monkeypatch.setattr(module, "methods_of", lambda problem_class: (printed,))
    with pytest.raises(MethodError, match="no method applies"):
        md.solve(PROBLEM)


def test_a_heuristic_whose_bound_is_met_is_called_optimal_once():
    """The table and the remark say the same: the status is optimal, and the bound proves it."""
    tasks, bids = [[0], [1], [0], [1]], [[2, 0], [6, 0], [2, 0], [6, 0]]
    problem = md.AuctionSlot(bids=bids, epsilon=1, tasks=tasks, requirements=[1, 1], backlog=[5, 5, 4, 0])
    text = md.compare(problem).text()
    (row,) = (line for line in text.splitlines() if line.startswith("greedy"))
    assert row.split()[:3] == ["greedy", "heuristic", "optimal"]
    assert "  greedy: proven optimal by its bound\n" in text
    assert "greedy: optimality is not claimed" not in text
    assert "  published: optimality is not claimed; gap 2 to the best proven bound -4" in text


def test_values_of_another_class_stand_in_a_table_of_their_own():
    """Reports by views and by other means: the bound is for views, so it is not next to the others."""
    tables = [[0, 1, 2], [1, 2, 3], [3, 4, 5], [0, 4, 5]]
    problem = md.MarginalViews(attributes=[8] * 6, users=40_000, epsilon=200.0, workload=tables)
    compared = md.compare(problem)
    by_name = {run.method: run for run in compared.runs}
    assert by_name["em"].value < compared.best_bound, "or the case shows nothing"
    (scope,) = {run.scope for run in compared.runs if run.method == "em"}
    first, second = compared.text().split(f"of another class, not judged by the bounds above: {scope}")
    table, _, _ = second.partition("\n  ")
    assert "allocation" in first
    assert "\nem " not in first
    assert "\nem " in table
    assert "allocation" not in table
    assert compared._repr_html_().count("<table") == len(compared.by_scope) >= 2
    assert by_name["em"].as_dict()["scope"] == scope
