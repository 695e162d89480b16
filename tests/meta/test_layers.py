"""Imports go one way only, for every module, at import time and inside functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx
import pytest

import mechdesign
from mechdesign.core.problem import modules_of
from mechdesign.families import problem_classes
from tests.support.sources import tree_of

PACKAGE = Path(mechdesign.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))

BELOW = {
    "core": "exact",
    "exact": "core",
    "work": "core exact",
    "data": "core exact work show",
    "show": "core exact work",
    "audit": "core exact",
    "solvers": "core exact work",
    "collect": "core exact work data show audit solvers",
    "primitives": "core exact work data show audit solvers collect",
    "families": "core exact work data show audit solvers collect primitives foreign",
    "catalog": "core exact work data show audit solvers collect primitives families",
    "export": "core exact work data show audit solvers collect primitives families",
    "foreign": "core exact work data audit",
    "ledger": "core exact work data show audit collect primitives families",
    "analysis": "core exact work data show audit solvers collect primitives families",
    "report": (
        "core exact work data show audit solvers collect primitives families catalog export foreign ledger "
        "analysis"
    ),
    "survey": (
        "core exact work data show audit solvers collect primitives families catalog export foreign ledger "
        "analysis report"
    ),
    "papers": (
        "core exact work data show audit solvers collect primitives families catalog foreign ledger report"
    ),
    "serve": (
        "core exact work data show audit solvers collect primitives families catalog export foreign ledger "
        "analysis report survey papers"
    ),
    "cli": (
        "core exact work data show audit solvers collect primitives families catalog export foreign ledger "
        "analysis report survey papers serve"
    ),
}
ALLOWED = {layer: {layer, *below.split()} for layer, below in BELOW.items()}
"""What each layer may import; ``__init__`` and ``__main__`` stand above all of them.

The kernel is ``core``, ``exact``, ``audit`` and ``collect``; it knows no family.
"""

SOLVERS = ("scipy.optimize", "cvxpy", "pulp")


def statements(node: ast.AST, path: Path) -> list[ast.AST]:
    """Return the parts of a node: without expressions, unless its file imports something by name."""
    parts = ast.iter_child_nodes(node)
    return (
        list(parts) if imports_by_name(path) else [part for part in parts if not isinstance(part, ast.expr)]
    )


@cache
def imports_by_name(path: Path) -> bool:
    """Whether a file may call ``import_module``."""
    return "import_module" in path.read_text(encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def trees() -> Iterator[None]:
    """Forget the trees after the last rule: they are large."""
    yield
    tree_of.cache_clear()


def is_for_typing(node: ast.AST) -> bool:
    """Whether a statement is run by type checkers only."""
    return isinstance(node, ast.If) and any(
        "TYPE_CHECKING" in getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(node.test)
    )


def imported_by_name(node: ast.AST) -> list[str]:
    """Return what a node imports, if it is a call of ``import_module``."""
    if not isinstance(node, ast.Call):
        return []
    if "import_module" not in getattr(node.func, "attr", getattr(node.func, "id", "")):
        return []
    return [item.value for item in node.args if isinstance(item, ast.Constant)]


@cache
def imports(module: str, package: Path = PACKAGE) -> list[tuple[str, bool]]:
    """Return (imported name, whether it is imported with the module itself); not for typing only."""
    found: list[tuple[str, bool]] = []

    def visit(node: ast.AST, eager: bool) -> None:
        if is_for_typing(node):
            return
        if isinstance(node, ast.Import):
            found.extend((alias.name, eager) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            found.append((node.module, eager))
            found.extend((f"{node.module}.{alias.name}", eager) for alias in node.names)
        else:
            found.extend((name, False) for name in imported_by_name(node))
        inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in statements(node, package / module):
            visit(child, eager and not inside)

    visit(tree_of(package / module), True)
    return found


def family_of(name: str) -> str | None:
    """Return the family a dotted name or a path of the package lies in."""
    parts = name.removesuffix(".py").replace("/", ".").removeprefix("mechdesign.").split(".")
    is_family = len(parts) > 1 and parts[0] == "families" and (PACKAGE / "families" / parts[1]).is_dir()
    return parts[1] if is_family else None


def is_of_papers(name: str) -> bool:
    """Whether a dotted name or a path is of what stands apart for the sources, in a family or above them."""
    return "papers" in name.removesuffix(".py").replace("/", ".").split(".")


def beyond_its_layer(module: str, package: Path = PACKAGE) -> list[str]:
    """Return what a module imports that its layer may not."""
    layer = "papers" if is_of_papers(module) else module.split("/")[0]
    if layer not in ALLOWED:
        known = layer in ("__init__.py", "__main__.py")
        return [] if known else [f"{module}: {layer}: a new layer needs a rule here"]
    found = []
    for name, _ in imports(module, package):
        if name == "mechdesign":
            found.append(f"{module}: a module inside the package does not import its front")
        elif name.startswith("mechdesign."):
            room = "papers" if is_of_papers(name) else name.split(".")[1]
            if room not in ALLOWED[layer]:
                found.append(f"{module} imports {name}")
    return found


def other_families(module: str, package: Path = PACKAGE) -> list[str]:
    """Return what a module of a family imports from other families."""
    own = None if is_of_papers(module) else family_of(module)
    if own is None:
        return []
    named = [name for name, _ in imports(module, package) if name.startswith("mechdesign.")]
    return [f"{module} imports {name}" for name in named if family_of(name) not in (None, own)]


def solvers_imported(module: str, package: Path = PACKAGE) -> list[str]:
    """Return how a module uses solvers that it may not."""
    layer = module.split("/")[0]
    used = [(name, eager) for name, eager in imports(module, package) if name.startswith(SOLVERS)]
    found = [f"{module} imports {name} while it is imported" for name, eager in used if eager]
    if layer == "solvers":
        return found
    allowed = ("cvxpy",) if layer == "families" else ()
    found += [f"{module} imports {name}" for name, _ in used if name.split(".")[0] not in allowed]
    if any(name.split(".")[0] == "cvxpy" for name, _ in used):
        tree = tree_of(package / module)
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        solved = [call for call in calls if isinstance(call, ast.Attribute) and call.attr == "solve"]
        found += [f"{module} solves by itself: {ast.unparse(call)}" for call in solved]
    return found


def test_a_module_imports_only_from_its_own_layer_and_below():
    assert len(MODULES) > 300
    assert [line for module in MODULES for line in beyond_its_layer(module)] == []


def test_families_never_import_each_other():
    modules = [name for name in MODULES if family_of(name)]
    assert len(modules) > 100
    assert [line for module in modules for line in other_families(module)] == []


def test_solvers_are_imported_on_first_use_and_only_by_the_layer_solvers():
    """scipy.optimize and pulp: only ``solvers``, inside functions.

    cvxpy is also the language in which users state own constraints, so a family may *write* cvxpy
    expressions, importing it inside functions; it may not solve them: that is ``solvers.convex``.
    """
    assert any(name.startswith("scipy.optimize") for module in MODULES for name, _ in imports(module))
    assert [line for module in MODULES for line in solvers_imported(module)] == []


def test_every_offence_is_listed(tmp_path):
    """The three rules on modules that break them, two offences each."""
    files = {
        "core/a.py": "import mechdesign\nfrom mechdesign.cli import main\n",
        "elsewhere/a.py": "",
        "families/mean/a.py": "import mechdesign.families.joint.b\nfrom mechdesign.families import auction\n",
        "report/a.py": "import pulp\n",
        "families/mean/b.py": "def f(p):\n    import cvxpy\n    p.solve()\n",
        "solvers/a.py": "def f():\n    import cvxpy\n    p.solve()\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert beyond_its_layer("core/a.py", tmp_path) == [
        "core/a.py: a module inside the package does not import its front",
        "core/a.py imports mechdesign.cli",
        "core/a.py imports mechdesign.cli.main",
    ]
    assert len(beyond_its_layer("elsewhere/a.py", tmp_path)) == 1
    assert other_families("families/mean/a.py", tmp_path) == [
        "families/mean/a.py imports mechdesign.families.joint.b",
        "families/mean/a.py imports mechdesign.families.auction",
    ]
    assert solvers_imported("report/a.py", tmp_path) == [
        "report/a.py imports pulp while it is imported",
        "report/a.py imports pulp",
    ]
    assert solvers_imported("families/mean/b.py", tmp_path) == [
        "families/mean/b.py solves by itself: p.solve"
    ]
    assert solvers_imported("solvers/a.py", tmp_path) == []


def parts_of(path: Path, typing: bool) -> Iterator[ast.AST]:
    """Yield the statements of a file and calls that may import by name; those for typing on request."""
    waiting: list[ast.AST] = [tree_of(path)]
    while waiting:
        node = waiting.pop()
        if typing or not is_for_typing(node):
            yield node
            waiting += statements(node, path)


@cache
def dependencies(package: Path = PACKAGE, typing: bool = False) -> dict[str, set[str]]:
    """Return which module of the package names which, be it lazily; for typing only on request."""
    modules = {
        "mechdesign." + path.relative_to(package).with_suffix("").as_posix().replace("/", "."): path
        for path in package.rglob("*.py")
    }
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        targets: set[str] = set()
        for node in parts_of(path, typing):
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                whole = {f"{node.module}.{alias.name}" for alias in node.names}
                targets |= (whole & set(modules)) or {node.module}
            else:
                targets |= set(imported_by_name(node))
        found[name] = (targets & set(modules)) - {name}
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that need one another."""
    network = networkx.DiGraph([(name, target) for name, targets in graph.items() for target in targets])
    groups = networkx.strongly_connected_components(network)
    return [sorted(group) for group in groups if len(group) > 1]


def test_no_modules_import_each_other_in_a_circle():
    """Not even inside functions: whoever runs one of them would have to run all."""
    graph = dependencies()
    assert len(graph) > 100
    assert circles(graph) == []


MAY_STAY = {"base", "codec", "collecting", "collector", "kernel", "report_scores", "server"}
"""Modules of ``collect`` that still name each other for typing; the list may only get shorter."""

NOUNS = ("mechdesign.core.", "mechdesign.solvers.sensitivity")
"""The nouns of the core, and what the parameters of a solution are worth, which is found by solving again."""


def circles_for_typing(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the circles that are neither among nouns of the core nor among those that may stay."""
    stay = {f"mechdesign.collect.{name}" for name in MAY_STAY}
    return [
        circle
        for circle in circles(graph)
        if not all(name.startswith(NOUNS) for name in circle) and not set(circle) <= stay
    ]


def test_no_modules_name_each_other_even_for_typing():
    """Whoever reads one of them would have to read all; only nouns of the core are stated together."""
    graph = dependencies(typing=True)
    assert circles_for_typing(graph) == []
    circle = {name for group in circles(graph) for name in group}
    assert {name for name in MAY_STAY if f"mechdesign.collect.{name}" not in circle} == set(), "strike it off"


FOR_PAPERS = re.compile(
    r"quantities|simulation|(printed|published|thesis|claim|witness|finding|bibliography)s?(_|$)"
)
"""Names of modules that exist to reproduce, judge or refute a source; not ``core/certificate.py``."""

FOUND_BY_NAME = {"methods", "figures", "outlook", "problem"}


def apparatus(graph: dict[str, set[str]]) -> list[str]:
    """Return the modules of the toolkit that are for the papers alone, by their name or by who imports them.

    A package's ``__init__`` that names a module does not use it. Solvers stand together, whoever needs them.
    """
    found = []
    for name in graph:
        _, room, *rest = [*name.split("."), ""]
        if (
            room in ("solvers", "")
            or is_of_papers(name)
            or not any(rest)
            or name == "mechdesign.core.certificate"
        ):
            continue
        package, _, last = name.rpartition(".")
        users = {user for user, targets in graph.items() if name in targets}
        judged = any(is_of_papers(user) for user in users)
        is_used = any(not is_of_papers(user) for user in users - {package})
        if FOR_PAPERS.match(last) or (judged and not is_used and last not in FOUND_BY_NAME):
            found.append(name)
    return found


def test_what_only_the_papers_need_is_in_their_room():
    by_name = {module.__name__ for problem in problem_classes().values() for module in modules_of(problem)}
    assert [name for name in apparatus(dependencies()) if name not in by_name] == []


def test_apparatus_in_the_toolkit_is_named():
    graph = {
        "mechdesign.families.joint.printed_rows": set(),
        "mechdesign.families.joint": {"mechdesign.families.joint.old", "mechdesign.families.joint.new"},
        "mechdesign.families.joint.old": set(),
        "mechdesign.families.joint.new": set(),
        "mechdesign.families.joint.server": {"mechdesign.families.joint.new"},
        "mechdesign.families.joint.methods": set(),
        "mechdesign.families.joint.papers.rival": {
            *("mechdesign.families.joint.old", "mechdesign.families.joint.new"),
            "mechdesign.families.joint.methods",
        },
    }
    assert apparatus(graph) == ["mechdesign.families.joint.printed_rows", "mechdesign.families.joint.old"]


def test_the_rule_sees_lazy_circles_and_leaves_out_names_for_typing(tmp_path):
    (tmp_path / "a.py").write_text("def f():\n    from mechdesign.b import g\n")
    (tmp_path / "b.py").write_text("def f():\n    from mechdesign import a\n")
    (tmp_path / "c.py").write_text(
        "import mechdesign.a\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import mechdesign.d\n"
    )
    (tmp_path / "d.py").write_text("import mechdesign.c\n")
    assert circles(dependencies(tmp_path)) == [["mechdesign.a", "mechdesign.b"]]


def test_circles_for_typing_are_seen_in_every_room_but_the_core(tmp_path):
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from mechdesign.{} import x\n"
    pairs = [
        ("core/a", "core/b"),
        ("collect/base", "collect/server"),
        ("collect/base", "collect/intervals"),
        ("families/mean/a", "families/mean/b"),
    ]
    found = []
    for number, (one, other) in enumerate(pairs):
        package = tmp_path / str(number)
        for name, target in ((one, other), (other, one)):
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            (package / f"{name}.py").write_text(typed.format(target.replace("/", ".")))
        assert circles(dependencies(package)) == []
        found += circles_for_typing(dependencies(package, typing=True))
    assert found == [
        ["mechdesign.collect.base", "mechdesign.collect.intervals"],
        ["mechdesign.families.mean.a", "mechdesign.families.mean.b"],
    ]


def test_the_rule_itself_sees_lazy_and_dynamic_imports(tmp_path):
    text = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import cvxpy
def f():
    from scipy.optimize import linprog
    import_module("mechdesign.cli")
class C:
    import pulp
"""
    (tmp_path / "x.py").write_text(text)
    found = dict(imports("x.py", tmp_path))
    assert found["scipy.optimize"] is False
    assert found["mechdesign.cli"] is False
    assert found["pulp"] is True
    assert "cvxpy" not in found


def test_audit_knows_no_algorithm():
    for module in MODULES:
        if module.startswith(("audit/", "core/")):
            third_party = {name.split(".")[0] for name, _ in imports(module)} & {"scipy", "networkx", "cvxpy"}
            assert not third_party, f"{module} imports {third_party}"
