"""What is written where a parameter is missing: every problem has an example, and it is one."""

from __future__ import annotations

import math
import tomllib

import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import CertificateError, MethodError, ParameterError
from mechdesign.core.fields import fields_of, problem_from, toml_text
from mechdesign.families import problem_classes


@pytest.mark.parametrize("name", sorted(problem_classes()))
def test_the_example_is_a_problem_and_each_missing_part_of_it_is_told(name):
    problem_class = problem_classes()[name]
    example = problem_class.example
    problem_from(problem_class, example)
    needed = [field.name for field in fields_of(problem_class) if field.is_required]
    assert set(needed) <= set(example)
    for key in needed:
        rest = {word: value for word, value in example.items() if word != key}
        with pytest.raises(ParameterError) as caught:
            problem_from(problem_class, rest)
        written = f"{key} = {toml_text(example[key])}"
        assert str(caught.value).endswith(f"parameter '{key}' is missing; write for instance {written}")
        assert tomllib.loads(written) == {key: example[key]}


NOT_RUN = {
    *("covering-design", "deployed-histogram", "joint-distribution", "spectrum-partition", "survey-limit"),
    *("shuffle-amplification", "shuffle-local-budget"),
}
"""Problems whose solution is not a mechanism."""

REFUSED = {"spectrum-primary": "cloak: FAILS"}
"""Problems whose optimum is published and hides too little, so that no mechanism is built from it."""


@pytest.mark.everywhere
@pytest.mark.parametrize("name", sorted(problem_classes()))
def test_the_default_method_solves_the_example_and_its_mechanism_is_audited(name, tmp_path):
    """On each Python and with each release of the solvers; what is saved is the same when it is loaded."""
    solution = md.solve(problem_from(problem_classes()[name], problem_classes()[name].example))
    assert solution.found, solution.message
    assert math.isfinite(solution.value)
    if name in REFUSED:
        with pytest.raises(CertificateError, match=REFUSED[name]):
            solution.mechanism()
        return
    assert [str(item) for item in solution.broken] == []
    if name in NOT_RUN:
        with pytest.raises(MethodError, match="this problem has no mechanism to run"):
            solution.mechanism()
        return
    solution.mechanism().save(tmp_path / "m.json")
    assert md.load_mechanism(tmp_path / "m.json") == solution.mechanism()


def test_several_missing_parameters_are_told_together():
    with pytest.raises(
        ParameterError, match=r"write for instance prior = \[0\.5, 0\.3, 0\.2\] and epsilon = 1\.0"
    ):
        problem_from(md.RandomizedResponse, {})


def test_labels_are_enough_for_a_frequency_oracle(tmp_path, capsys):
    by_names = md.FrequencyOracle(labels=["no", "sometimes", "often"], epsilon=1.0)
    assert by_names.categories == 3
    assert by_names == md.FrequencyOracle(categories=3, labels=["no", "sometimes", "often"], epsilon=1.0)
    assert md.solve(by_names).value == md.solve(md.FrequencyOracle(categories=3, epsilon=1.0)).value
    with pytest.raises(ParameterError, match="labels: 2 names for 3 categories"):
        md.FrequencyOracle(categories=3, labels=["no", "yes"], epsilon=1.0)
    with pytest.raises(ParameterError, match=r'categories: is missing; write labels = \["no", "yes"\]'):
        md.FrequencyOracle(epsilon=1.0)
    with pytest.raises(ParameterError, match="labels: 1 is not from 2 to 1048576"):
        md.FrequencyOracle(labels=["no"], epsilon=1.0)
    path = tmp_path / "survey.toml"
    text = '[model]\ntitle = "t"\nproblem = "frequency-oracle"\n[parameters]\nlabels = ["no", "yes"]\n'
    path.write_text(text + "epsilon = 1.0\n")
    assert main(["build", str(path), "-o", str(tmp_path / "survey.json")]) == 0
    assert md.load_mechanism(tmp_path / "survey.json").labels.names == ("no", "yes")
    capsys.readouterr()


def test_labels_are_enough_for_marginal_views():
    labels = [["no", "yes"], ["young", "middle", "old"]]
    problem = md.MarginalViews(labels=labels, users=1000, epsilon=1.0, order=2)
    assert tuple(problem.sizes) == (2, 3)
    for wrong, text in (
        ({"attributes": [2, 2]}, "labels: entry 1 has to be 2 different names"),
        ({"attributes": [2]}, "labels: expected 1 list of names, got 2"),
    ):
        with pytest.raises(ParameterError, match=text):
            md.MarginalViews(labels=labels, users=1000, epsilon=1.0, order=2, **wrong)
    with pytest.raises(ParameterError, match=r"attributes: is missing; write attributes = \[2, 3\]"):
        md.MarginalViews(users=1000, epsilon=1.0, order=2)
    with pytest.raises(
        ParameterError, match=r'write order = 2 for all pairs, or workload = \[\["a", "b"\]\]'
    ):
        md.MarginalViews(labels=labels, names=["a", "b"], users=1000, epsilon=1.0)
