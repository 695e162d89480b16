"""Homes: packages that hold what belongs to problems and models without standing next to them.

The toolkit does not import them. The front registers each by its name, and its modules are imported when they
are asked for: ``mechdesign.papers`` is the home of what reproduces, judges and refutes the sources.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

_HOMES: dict[str, str] = {}


def register_home(home: str, beside: str) -> None:
    """Register a package whose folders stand next to those of another one, by the same names.

    Parameters
    ----------
    home : str
        The dotted name of the package, which is not imported now.
    beside : str
        The package that it adds to: with ``mechdesign.families``, the modules of ``home.auction.slot`` are
        taken as if they stood in ``mechdesign.families.auction.slot``.
    """
    _HOMES[home] = beside


def homes() -> tuple[str, ...]:
    """Return the names of the registered homes.

    Examples
    --------
    >>> homes()
    ('mechdesign.papers',)
    """
    return tuple(_HOMES)


def beside(package: str) -> Iterator[ModuleType]:
    """Yield the packages of the homes that stand next to a package.

    Examples
    --------
    >>> [found.__name__ for found in beside("mechdesign.families.auction.slot")]
    ['mechdesign.families.auction.papers.slot']
    """
    for home, whole in _HOMES.items():
        if package == whole or package.startswith(f"{whole}."):
            found = _imported(home + package.removeprefix(whole))
            if found is not None:
                yield found


def in_homes(name: str) -> Iterator[ModuleType]:
    """Yield the modules of this name, relative to its home, of all homes that have it.

    Examples
    --------
    >>> [found.__name__ for found in in_homes("claims.reading")]
    ['mechdesign.papers.claims.reading']
    """
    for home in _HOMES:
        found = _imported(f"{home}.{name}")
        if found is not None:
            yield found


def _imported(name: str) -> ModuleType | None:
    """Return a module, or None if there is none of this name; an import that fails inside it is an error."""
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        return None
