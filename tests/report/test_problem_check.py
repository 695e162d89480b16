"""``check_problem``: a right class holds, and each wrong one is caught by the rule that it breaks."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import pytest

import mechdesign as md
from mechdesign.cli import main
from mechdesign.core.errors import ParameterError
from mechdesign.families import problem_classes

RIGHT = '''
"""Buy a share of each of several goods: the largest worth within a budget."""
import attrs
import numpy as np
import mechdesign as md
from mechdesign.core.fields import checked, frozen_problem, real
from mechdesign.core.validation import finite_array


def worths(name, value):
    return finite_array(name, value, 1)


@frozen_problem(eq=False)
class Knapsack(md.Problem):
    """Maximise the worth of the shares."""

    name, sense, summary = "shares", "max", "shares of goods within a budget"
    compared_with = "all shares"
    example = {"worth": [3.0, 1.0, 2.0], "budget": 1.5}

    worth: np.ndarray = checked("Worth of a whole good.", worths, form="list of numbers")
    budget: float = real("Number of goods that can be paid.", low=0.0)

    def objective(self, variables):
        return float(self.worth @ variables["shares"])

    def residuals(self, variables):
        shares = variables["shares"]
        return {
            "budget": max(0.0, float(shares.sum()) - self.budget),
            "range": float(max(0.0, -shares.min(), shares.max() - 1.0)),
        }

    def certificates(self, solution):
        return (self.optimality(solution),)


def greedy(problem):
    shares, left = np.zeros(len(problem.worth)), problem.budget
    for place in np.argsort(-problem.worth, kind="stable"):
        shares[place] = min(1.0, left)
        left -= shares[place]
    value = float(problem.worth @ shares)
    return md.Outcome("optimal", {"shares": shares}, bound=value, bound_source="order")


def program(problem):
    import cvxpy
    shares = cvxpy.Variable(len(problem.worth), nonneg=True)
    limits = [cvxpy.sum(shares) <= problem.budget, shares <= 1]
    statement = cvxpy.Problem(cvxpy.Maximize(problem.worth @ shares), limits)
    statement.solve()
    proven = md.prove(statement)
    found = np.clip(shares.value, 0.0, 1.0)
    found *= min(1.0, problem.budget / max(found.sum(), 1e-300))  # within tolerances is not enough
    return md.Outcome("optimal", {"shares": found}, bound=proven.bound, bound_source="a proven dual")


METHODS = (
    md.Method("greedy", Knapsack, "analytic", "the best first", greedy),
    md.Method("program", Knapsack, "numeric", "linear program", program),
)
'''


@pytest.fixture
def class_of(monkeypatch):
    """Return a function that makes the class of a module with some text replaced."""

    def made(*changes: tuple[str, str]) -> type[md.Problem]:
        code = RIGHT
        for before, after in changes:
            assert before in code
            code = code.replace(before, after)
        module = ModuleType("knapsack_problem")
        monkeypatch.setitem(sys.modules, "knapsack_problem", module)
        exec(code, module.__dict__)
        return module.Knapsack

    return made


def test_a_right_class_holds_and_says_what_was_checked(class_of):
    check = md.check_problem(class_of())
    assert check.holds, str(check)
    assert check.advice == ()
    assert list(check.skipped) == ["mechanism"]
    assert "mechanism     not checked  it has none" in str(check)
    assert repr(check) == "ProblemCheck(Knapsack (shares): holds)"
    assert "<table" in check._repr_html_()
    assert md.check_problem(class_of()(worth=[1.0, 5.0], budget=0.0)).holds


WRONG = {
    "not frozen": (
        "frozen",
        "budget can be set later, unchecked; decorate the class with @frozen_problem()",
        ("@frozen_problem(eq=False)\nclass", "@attrs.define(kw_only=True, slots=False)\nclass"),
        (
            'checked("Worth of a whole good.", worths, form="list of numbers")',
            "attrs.field(converter=np.array)",
        ),
        ('real("Number of goods that can be paid.", low=0.0)', "attrs.field()"),
    ),
    "an array that is shared": (
        "frozen",
        "worth is an array that can be written to",
        ("return finite_array(name, value, 1)", "return np.array(finite_array(name, value, 1))"),
    ),
    "parameters that are not checked": (
        "inputs",
        "budget = nan is accepted; check it in its field",
        (
            'real("Number of goods that can be paid.", low=0.0)',
            'checked("Number.", lambda name, value: value, form="number")',
        ),
    ),
    "an error that is not ours": (
        "inputs",
        'worth[0] = "no number" raises ValueError: could not convert string to float',
        ("return finite_array(name, value, 1)", "return np.array(value, dtype=float)"),
    ),
    "an error of several lines": (
        "inputs",
        "budget = nan is refused in several lines; raise ParameterError with one line",
        (
            'real("Number of goods that can be paid.", low=0.0)',
            'checked("Number.", lambda name, value: several(name, value), form="number")',
        ),
        (
            "def worths(",
            """def several(name, value):
    if not isinstance(value, float) or value != value:
        raise Lines(name, "is wrong")
    return value


class Lines(md.ParameterError):
    def __str__(self):
        return "is wrong\\nvery wrong"


def worths(""",
        ),
    ),
    "a check that does not take what it returns": (
        "round trips",
        "JSON gives another problem: budget = 6.0 in place of 3.0",
        (
            'real("Number of goods that can be paid.", low=0.0)',
            'checked("Number.", lambda name, value: 2.0 * real_budget(name, value), form="number")',
        ),
        (
            "def worths(",
            """def real_budget(name, value):
    from mechdesign.core.validation import in_range
    return in_range(name, value, 0.0, 1e9)


def worths(""",
        ),
    ),
    "arrays that are compared": (
        "round trips",
        "comparing it with another one raises ValueError: The truth value of an array",
        ("@frozen_problem(eq=False)", "@frozen_problem()"),
    ),
    "no name and no set of mechanisms": (
        "class",
        "name = 'My Shares' is not lower-case words joined by '-'",
        ('"shares", "max"', '"My Shares", "max"'),
        ('compared_with = "all shares"', 'compared_with = ""'),
    ),
    "no methods": (
        "methods",
        "it has no method; define METHODS = (md.Method(...),)",
        ("METHODS = (", "OTHER = ("),
    ),
    "a reason that is no sentence": (
        "methods",
        "why_not of 'greedy' returns False; return None or a sentence",
        ('"the best first", greedy)', '"the best first", greedy, lambda problem: False)'),
    ),
    "optimal without a bound": (
        "outcomes",
        "method 'greedy' says 'optimal' without a bound",
        (', bound=value, bound_source="order"', ""),
    ),
    "optimal with a bound that is not met": (
        "outcomes",
        "method 'greedy' says 'optimal' but its bound 7 is not its value 4",
        ("bound=value,", "bound=7.0,"),
    ),
    "a method that fails": (
        "outcomes",
        "method 'greedy' fails: ZeroDivisionError",
        ("np.zeros(len(problem.worth)), problem.budget", "np.zeros(len(problem.worth)), 1 / 0"),
    ),
    "an objective that changes its variables": (
        "values",
        "objective changes the variables of 'greedy'",
        (
            'return float(self.worth @ variables["shares"])',
            """value = float(self.worth @ variables["shares"])
        variables["shares"][:] -= 0.1
        return value""",
        ),
    ),
    "a constraint that the method violates": (
        "values",
        "'greedy' is optimal, but violates 'budget' by 1.5",
        ("left -= shares[place]", "left -= 0.0"),
    ),
    "a bound on the wrong side": (
        "bounds",
        "the bound 3.5 of 'program' is below the value 4 of 'greedy'",
        ("bound=proven.bound", "bound=3.5"),
    ),
    "a formula that is wrong": (
        "bounds",
        "the bound 2 of 'greedy' is below the value 4 of 'program'",
        ("for place in np.argsort(-problem.worth", "for place in np.argsort(problem.worth"),
    ),
    "a point that is feasible within tolerances only": (
        "bounds",
        "methods disagree: program finds 4.00000000",
        ("found *= min(", "found *= 1.000000001  # min("),
    ),
    "residuals that judge nothing": (
        "residuals",
        "2 times the variables of 'greedy' are worth 8, beyond the bound 4, and residuals find nothing wrong",
        ('"budget": max(0.0, float(shares.sum()) - self.budget)', '"budget": 0.0'),
        ('"range": float(max(0.0, -shares.min(), shares.max() - 1.0))', '"range": 0.0'),
    ),
    "a stamp in place of a certificate": (
        "certificates",
        "optimality holds for 0 times the variables of 'greedy', worth 0, with the bound 4",
        ("return (self.optimality(solution),)", 'return (md.Certificate("optimality", True, exact=False),)'),
    ),
    "an optimum without a certificate": (
        "certificates",
        "'greedy' is optimal and has no certificate of it",
        ("return (self.optimality(solution),)", "return ()"),
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_class_is_caught_by_its_rule(class_of, case):
    rule, text, *changes = WRONG[case]
    check = md.check_problem(class_of(*changes))
    assert not check.holds
    found = [str(finding) for finding in check.of_rule(rule)]
    assert any(text in line for line in found), str(check)
    assert all("\n" not in str(finding) and finding.remedy for finding in check.findings)


MECHANISM = '''
from mechdesign.collect import Mechanism


class Basket(Mechanism):
    """Shares that are bought."""

    type = "basket-of-a-test"
    fields = ("shares",)

    def __init__(self, shares):
        self.shares = tuple(float(share) for share in shares)

    def certificates(self):
        return (md.Certificate("range", max(self.shares) <= 1.0, exact=True),)


@frozen_problem(eq=False)
class Knapsack(md.Problem):'''


@pytest.mark.parametrize(
    ("built", "change", "text"),
    [
        ('Basket(solution.variables["shares"])', None, None),
        ("Basket([7.0])", None, "its mechanism fails its audit: range: FAILS"),
        (
            'solution.variables["shares"]',
            None,
            "mechanism returns a ndarray; return a subclass of md.Mechanism",
        ),
        ("1 / 0", None, "mechanism of 'greedy' raises ZeroDivisionError"),
        (
            'Basket(solution.variables["shares"])',
            ("for share in shares)", "for share in reversed(shares))"),
            "its mechanism is another one after it was saved and loaded; list all parts in fields",
        ),
        (
            'Basket(solution.variables["shares"])',
            ('fields = ("shares",)', "fields = ()"),
            "saving and loading its mechanism raises ModelFileError",
        ),
    ],
)
def test_a_mechanism_is_saved_loaded_and_audited(class_of, built, change, text):
    code = MECHANISM.replace(*change) if change else MECHANISM
    added = (
        f"    def mechanism(self, solution):\n        return {built}\n\n    def certificates(self, solution):"
    )
    kind = class_of(
        ("\n@frozen_problem(eq=False)\nclass Knapsack(md.Problem):", code),
        ("    def certificates(self, solution):\n        return (self", added + "\n        return (self"),
    )
    check = md.check_problem(kind)
    lines = [str(finding) for finding in check.of_rule("mechanism")]
    if text is None:
        assert check.holds, str(check)
        assert check.skipped == {}
    else:
        assert any(text in line for line in lines), str(check)


TWO_LISTS = """
import cvxpy as cp
import mechdesign as md
from mechdesign.core.fields import frozen_problem, reals


@frozen_problem()
class Pick(md.Problem):
    name, sense, compared_with = "pick", "max", "all sets"
    worth: tuple[float, ...] = reals("Worth of each.", low=0.0)
    size: tuple[float, ...] = reals("Size of each.", low=0.0)

    def statement(self):
        chosen = cp.Variable(len(self.worth), name="chosen", boolean=True)
        return cp.Problem(cp.Maximize(self.worth @ chosen), [self.size @ chosen <= 5])


METHODS = (md.statement_method(Pick),)
"""


@pytest.fixture
def pick(monkeypatch):
    """Return a function that makes the class of a statement with some text replaced."""

    def made(*change: str) -> type[md.Problem]:
        module = ModuleType("pick_problem")
        monkeypatch.setitem(sys.modules, "pick_problem", module)
        exec(TWO_LISTS.replace(*change) if change else TWO_LISTS, module.__dict__)
        return module.Pick

    return made


def test_a_statement_alone_says_objective_and_residuals(pick):
    solution = md.solve(pick()(worth=[3, 4, 5], size=[2, 3, 4]))
    assert (solution.value, solution.variables["chosen"].round().tolist()) == (7.0, [1, 1, 0])
    assert solution.residuals == {"domain of chosen": 0.0, "constraint 1": 0.0}
    problem = solution.problem
    assert problem.residuals({"chosen": [1.0, 1.0, 0.5]}) == {"domain of chosen": 0.5, "constraint 1": 2.0}
    assert problem.objective({"chosen": [0.0, 0.0, 1.0]}) == 5.0


def test_lists_of_different_lengths_are_noticed(pick):
    check = md.check_problem(pick()(worth=[3, 4, 5], size=[2, 3, 4]))
    texts = [str(fault) for fault in check.findings]
    assert len(texts) == 2
    assert texts[0].startswith("lengths: worth with an entry less is accepted, and then 'statement' fails")
    refusing = "    def __attrs_post_init__(self):\n        if len(self.worth) != len(self.size):\n"
    refusing += "            raise md.ParameterError('size', 'has another length')\n\n    def statement"
    assert md.check_problem(pick("    def statement", refusing)(worth=[3, 4, 5], size=[2, 3, 4])).holds


def test_a_variable_without_a_name_is_named(pick):
    kind = pick(', name="chosen"', "")
    with pytest.raises(md.MethodError, match="a variable of its statement has another name in each call"):
        md.solve(kind(worth=[3, 4], size=[2, 3]))


NOT_ALL = {
    "spectrum-primary": "its example is a widening that an attack undoes, and the certificate says so",
    "deployed-frequencies": "its variable is a choice between two reports, whose size has no residual",
}
SLOW = ("event-counts", "deployed-histogram")


@pytest.mark.parametrize("name", [name for name in problem_classes() if name not in SLOW])
def test_the_classes_of_the_package_hold(name):
    check = md.check_problem(problem_classes()[name])
    assert check.holds != (name in NOT_ALL), str(check)


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (3, "expected a problem or its class, got int"),
        ("mean-channel", "expected a problem or its class, got str"),
        (md.Problem, "Problem does not define objective and residuals; define them, or a statement"),
        (type("Bare", (md.Problem,), {}), "Bare does not define objective and residuals"),
    ],
)
def test_what_is_no_problem_is_refused(thing, text):
    with pytest.raises(ParameterError, match=text):
        md.check_problem(thing)


def test_a_class_without_an_example_that_can_be_made_is_refused(class_of):
    kind = class_of(("return finite_array(name, value, 1)", "return value / 0"))
    with pytest.raises(ParameterError, match="its example cannot be made: TypeError"):
        md.check_problem(kind)
    kind = class_of(('example = {"worth": [3.0, 1.0, 2.0], "budget": 1.5}', 'example = {"worth": [3.0]}'))
    with pytest.raises(ParameterError, match="its example cannot be made: shares: parameter 'budget'"):
        md.check_problem(kind)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the current folder, with the class in a file."""
    (tmp_path / "own_shares.py").write_text(RIGHT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", str(tmp_path))])
    yield tmp_path
    sys.modules.pop("own_shares", None)


def test_the_shell_checks_a_class_of_a_file_here(folder, capsys):
    assert main(["check", "--problem", "own_shares:Knapsack"]) == 0
    assert capsys.readouterr().out.startswith("Knapsack (shares): holds\nrule ")
    assert main(["check", "--problem", "own_shares:Knapsack", "--set", "budget=2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["problem"], answer["holds"], answer["findings"]) == ("shares", True, [])
    assert main(["check", "--problem", "screening"]) == 0
    assert capsys.readouterr().out.startswith("Screening (screening): holds\n")


def test_the_shell_exits_1_where_a_class_is_wrong(folder, capsys):
    text = RIGHT.replace("return (self.optimality(solution),)", "return ()")
    (folder / "own_shares.py").write_text(text)
    assert main(["check", "--problem", "own_shares:Knapsack"]) == 1
    assert "FINDING certificates: 'greedy' is optimal and has no certificate of it; return" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--problem", "sharess"], "no 'sharess'"),
        (["--problem", "own_shares:Sack"], "own_shares has no class of problems 'Sack'"),
        (["--problem", "own_shares:np"], "own_shares has no class of problems 'np'"),
        (["--problem", "nothing_here:Sack"], "nothing_here cannot be imported: ModuleNotFoundError"),
        (["--problem", "screening", "--all"], "cannot be combined with --all"),
        (["--problem", "screening", "incentives/trade"], "cannot be combined with 'incentives/trade'"),
        (["--problem", "screening", "--set", "types=[]"], "types: is empty"),
    ],
)
def test_what_the_shell_cannot_check_is_one_line(folder, capsys, arguments, text):
    assert main(["check", *arguments]) == 2
    error = capsys.readouterr().err
    assert text in error
    assert error.count("\n") == 1
