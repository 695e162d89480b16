"""The table of problems, methods and certificates in the reference, made from what is registered.

``python -m tests.documented_outputs --update docs/reference/problems.md`` writes it between two comments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import mechdesign as md
from mechdesign.catalog.load import load_model
from mechdesign.catalog.shipped import models, models_folder
from mechdesign.core.certificate import Certificate
from mechdesign.families import problem_classes
from tests.support.shipped import loaded

Solver = Callable[[str], Sequence[Certificate]]
"""What gives the certificates of a model, by its name."""

MARKED = re.compile(r"(?<=<!-- registry -->\n).*?(?=<!-- end of registry -->)", re.DOTALL)
PROVEN = ("analytic", "numeric")
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "problems.md"
MOST_MODELS = 3
"""Number of models of a problem, the shortest files, that are solved to see which certificates there are."""


def examples() -> dict[str, list[str]]:
    """Return for each problem those of its models that are shortest to write down."""
    found: dict[str, list[str]] = {name: [] for name in problem_classes()}
    for slug in sorted(models(), key=lambda slug: (models_folder() / f"{slug}.toml").stat().st_size):
        name = loaded(slug).problem.name
        if len(found[name]) < MOST_MODELS:
            found[name].append(slug)
    return found


def solved_now(slug: str) -> Sequence[Certificate]:
    """Solve a model and return its certificates."""
    return md.solve(load_model(slug).problem).certificates


def certificates(slugs: list[str], solution_of: Solver = solved_now) -> dict[str, bool]:
    """Return the certificates of the best certified of these models, and which of them are exact."""
    solved = [solution_of(slug) for slug in slugs]
    best = max(solved, key=lambda found: (all(item.holds for item in found), len(found)), default=())
    return {f"{item.property}{'' if item.holds else ' (fails)'}": item.exact for item in best}


def row(name: str, shown: Mapping[str, bool]) -> str:
    """Return the line of a problem."""
    problem = problem_classes()[name]
    page = f"../families/{problem.__module__.split('.')[2]}.md"
    methods = md.methods_of(problem)
    proven = [method.name for method in methods if method.kind in PROVEN]
    others = [method.name for method in methods if method.kind not in PROVEN]
    names = [(f"**{key}**" if exact else key).replace("_", " ") for key, exact in shown.items()]
    cells = [f"[{name}]({page})", ", ".join(proven), ", ".join(others), ", ".join(names)]
    return "| " + " | ".join(cells) + " |"


def table(solution_of: Solver = solved_now) -> str:
    """Return the table in Markdown: a line for each problem, in the order of families."""
    shown = {name: certificates(slugs, solution_of) for name, slugs in examples().items()}
    order = sorted(shown, key=lambda name: (problem_classes()[name].__module__.split(".")[2], name))
    head = ["| problem | analytic and numeric methods | for comparison | certificates |", "|---|---|---|---|"]
    return "\n".join([*head, *(row(name, shown[name]) for name in order)]) + "\n"


def shown_in(text: str) -> str:
    """Return the table that a page has between its two comments."""
    (found,) = MARKED.findall(text)
    return str(found)


def with_table(text: str, new: str) -> str:
    """Return the page with this table between its two comments."""
    return MARKED.sub(lambda _: new, text)
