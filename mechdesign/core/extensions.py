"""Extensions: packages above the kernel, registered by name and imported when they are asked for.

The front registers two: ``mechdesign.families``, with the problems and mechanisms of each family, and
``mechdesign.papers``, which reproduces, judges and refutes the sources. What a family has of its own for the
sources stands in its folder ``papers``, by the names of its problems.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

_EXTENSIONS: dict[str, str] = {}

PAPERS = "papers"
FAMILIES = "families"


def register_extension(package: str, extends: str) -> None:
    """Register a package by its dotted name, without importing it.

    Parameters
    ----------
    package : str
        The dotted name of the package.
    extends : str
        What it brings: ``families`` (problems and mechanisms) or ``papers`` (claims about the sources).
    """
    _EXTENSIONS[package] = extends


def extensions(extends: str) -> tuple[str, ...]:
    """Return the names of the packages that were registered for this.

    Examples
    --------
    >>> extensions("papers")
    ('mechdesign.papers',)
    """
    return tuple(package for package, kind in _EXTENSIONS.items() if kind == extends)


def papers_beside(package: str) -> Iterator[ModuleType]:
    """Yield the folder of a problem's papers: of the same name, in the folder ``papers`` of its family.

    Examples
    --------
    >>> list(papers_beside("mechdesign.families.auction.slot"))  # a module, not a folder
    []
    """
    family, _, name = package.rpartition(".")
    papers = _module(f"{family}.{PAPERS}.{name}") if family else None
    if papers is not None and hasattr(papers, "__path__"):
        yield papers


def in_papers(name: str, package: str = "") -> Iterator[ModuleType]:
    """Yield the modules of this name in the papers of a family, or in what is registered for papers.

    Examples
    --------
    >>> [module.__name__ for module in in_papers("claims.reading")]
    ['mechdesign.papers.claims.reading']
    >>> [module.__name__ for module in in_papers("rules", "mechdesign.families.auction")]
    ['mechdesign.families.auction.papers.rules']
    """
    for papers in (f"{package}.{PAPERS}",) if package else extensions(PAPERS):
        module = _module(f"{papers}.{name}")
        if module is not None:
            yield module


def _module(name: str) -> ModuleType | None:
    """Return a module, or None if there is none of this name; an import that fails inside it is an error."""
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        return None
