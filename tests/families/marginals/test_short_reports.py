"""Short reports: of the oracles within ``max_excess`` of the least variance the shortest is the default."""

from __future__ import annotations

import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import ParameterError
from mechdesign.solvers.solve import methods_of


def others(problem: md.FrequencyOracle) -> list[md.Solution]:
    """Return what the methods of one oracle each find."""
    kinds = [method for method in methods_of(problem)[1:] if method.kind == "analytic"]
    return [md.solve(problem, method) for method in kinds if method.why_not(problem) is None]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("categories", [3, 12, 40, 64, 300, 1000, 5000, 30_000])
def test_no_oracle_within_one_percent_has_shorter_reports(categories, epsilon):
    problem = md.FrequencyOracle(categories=categories, epsilon=epsilon)
    solution, runs = md.solve(problem), others(problem)
    least = min(run.value for run in runs)
    assert solution.value <= 1.01 * least * (1 + 1e-9)
    near = [run.notes["report_bits"] for run in runs if run.value <= 1.01 * least * (1 - 1e-9)]
    assert solution.notes["report_bits"] <= min(near)
    exact = md.solve(md.FrequencyOracle(categories=categories, epsilon=epsilon, max_excess=0))
    assert exact.value <= least * (1 + 1e-9)
    assert ("least_variance" in solution.notes) == (exact.variables != solution.variables)


def test_what_is_lost_is_stated_with_the_alternative():
    solution = md.solve(md.FrequencyOracle(categories=30_000, epsilon=1.0))
    assert solution.variables["oracle"] == "local-hashing"
    assert solution.notes["report_bits"] == 32
    assert (solution.notes["least_variance"], solution.notes["its_report_bits"]) == (
        "subset-selection",
        25191,
    )
    assert 0.0024 < solution.notes["excess"] < 0.0025
    assert solution.status == "feasible", "not the least variance, and it does not say so"
    assert str(solution.outlook()) == (
        "reports of 32 bits for 0.24% more variance than the least: 'subset-selection' has that, "
        "with 25191 bits (--method subset-selection, or max_excess = 0)"
    )
    assert md.solve(md.FrequencyOracle(categories=3, epsilon=1.0)).outlook() is None


def test_hash_functions_are_not_taken_where_counting_them_takes_minutes():
    few, many = (md.FrequencyOracle(categories=30_000, epsilon=1.0, users=users) for users in (10**6, 10**7))
    assert md.solve(few).variables["oracle"] == "local-hashing"
    assert md.solve(many).variables["oracle"] == "subset-selection"
    largest = md.FrequencyOracle(categories=1 << 20, epsilon=3.0, users=10**6)
    assert md.solve(largest).variables["oracle"] == "local-hashing", "where it has the least variance, it is"


def test_the_part_that_is_given_is_a_parameter():
    def oracle(excess: float) -> str:
        return md.solve(md.FrequencyOracle(categories=30_000, epsilon=1.0, max_excess=excess)).variables[
            "oracle"
        ]

    assert [oracle(excess) for excess in (0.0, 0.002, 0.0025, 0.03)] == [
        "subset-selection", "subset-selection", "local-hashing", "projective-geometry"
    ]  # fmt: skip
    with pytest.raises(ParameterError, match="max_excess"):
        md.FrequencyOracle(categories=3, epsilon=1.0, max_excess=-0.1)


def test_build_names_the_alternative(tmp_path, capsys):
    model = tmp_path / "many.toml"
    model.write_text(
        '[model]\ntitle = "Many"\nproblem = "frequency-oracle"\n'
        "[parameters]\ncategories = 3000\nepsilon = 1.0\n"
    )
    assert main(["build", str(model), "-o", str(tmp_path / "many.json")]) == 0
    told = capsys.readouterr().out
    assert "LocalHashing" in told
    assert "0.24% more variance than the least: 'subset-selection' has that, with 2515 bits" in told
    exact = ["build", str(model), "--set", "max_excess=0", "-o", str(tmp_path / "exact.json")]
    assert main(exact) == 0
    told = capsys.readouterr().out
    assert "SubsetSelection" in told
    assert "more variance" not in told
