"""Packages by name: extensions above the kernel, names imported on first use, and former names of modules.

The front registers the extensions: ``mechdesign.families``, with the problems and mechanisms of each family,
``mechdesign.papers``, which reproduces, judges and refutes the sources, and what a solution's parameters are
worth. What a family has of its own for the sources stands in its folder ``papers``, by the names of its
problems.

Former names last for one version more, with a warning. The front asks :class:`FormerNames` behind Python's
own finders, so it is asked for names that nothing else has; a deeper module is looked for below the name of
today.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, wraps
from importlib import import_module
from importlib.machinery import ModuleSpec
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

Kind = TypeVar("Kind")
Function = TypeVar("Function", bound=Callable[..., Any])

_EXTENSIONS: dict[str, str] = {}

PAPERS = "papers"
FAMILIES = "families"


def register_extension(package: str, extends: str) -> None:
    """Register a package or a module by its dotted name, without importing it.

    Parameters
    ----------
    package : str
        The dotted name.
    extends : str
        What it brings: ``families`` (mechanisms and problems), ``papers`` (claims about the sources) or
        ``sensitivity`` (the function of this name, of a solution).
    """
    _EXTENSIONS[package] = extends


def extensions(extends: str) -> tuple[str, ...]:
    """Return the names of what was registered for this.

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
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        return None


def import_all(packages: Iterable[str], group: str) -> None:
    """Import the modules that give a class a type, of packages and below; and those of entry points."""
    for module in _modules_with("type", "", packages):
        import_module(module)
    from importlib.metadata import entry_points  # takes as long as many modules

    for point in entry_points(group=group):
        import_module(point.value)


def class_with(
    subclasses: Callable[[], Iterable[type[Kind]]], attribute: str, word: str, packages: Iterable[str]
) -> type[Kind] | None:
    """Return the class below a base, given by its ``__subclasses__``, whose attribute is this word, or None.

    Where none was imported, the first module of packages and below whose text gives a class this word is.
    Those whose file or folder is called like a part of the attribute or the word are looked at first: all of
    them are some hundred.
    """
    for module in chain([""], _modules_with(attribute, word, packages)):
        if module:
            import_module(module)
        for kind in derived(subclasses()):
            if vars(kind).get(attribute) == word:
                return kind
    return None


def _modules_with(attribute: str, word: str, packages: Iterable[str]) -> Iterator[str]:
    """Yield the names of modules whose text gives a class this word, or any where it is empty."""
    mention = (f'{attribute}: ClassVar[str] = "' + (f'{word}"' if word else "")).encode()
    parts = {*attribute.split("_"), *word.split("-")} if word else set()
    others: list[tuple[str, str]] = []
    for path, module in _all_files(packages):
        if parts.isdisjoint(module.split(".")):
            others.append((path, module))
        elif _mentions(path, mention):
            yield module
    yield from (module for path, module in sorted(others) if _mentions(path, mention))


def _all_files(packages: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield path and name of each module of packages and below."""
    for package in packages:
        yield from _files(import_module(package).__path__[0], package)


def _files(folder: str, package: str) -> Iterator[tuple[str, str]]:
    """Yield path and name of each module, those of a folder before those below it."""
    inner = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py") and f"{package}.{entry.name}" != f"{__name__}.py":
                yield entry.path, f"{package}.{entry.name[:-3]}"
            elif "." not in entry.name and entry.is_dir():
                inner.append(entry)
    for entry in inner:
        yield from _files(entry.path, f"{package}.{entry.name}")


def _mentions(path: str, value: bytes) -> bool:
    with open(path, "rb") as file:
        return value in file.read()


def derived(kinds: Iterable[type[Kind]]) -> Iterator[type[Kind]]:
    """Yield classes and those derived from them that were imported.

    Examples
    --------
    >>> {OSError, FileNotFoundError} <= set(derived(Exception.__subclasses__()))
    True
    """
    for kind in kinds:
        yield kind
        yield from derived(kind.__subclasses__())


def offered(
    package: str, modules: Mapping[str, str], former: Mapping[str, str] | None = None
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__`` of a package, and its functions ``__getattr__`` and ``__dir__``.

    Parameters
    ----------
    package : str
        Its name.
    modules : mapping
        The modules of the package, each with the names that are offered of it, with spaces between them.
    former : mapping, optional
        Former names, each with the one of today.

    Examples
    --------
    >>> names, find, _ = offered("mechdesign.show", {"figure": "Figure Panel"})
    >>> names, find("Figure").__name__
    (['Figure', 'Panel'], 'Figure')
    >>> find("Picture")
    Traceback (most recent call last):
        ...
    AttributeError: module 'mechdesign.show' has no attribute 'Picture'
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def find(name: str) -> Any:
        if name in (former or {}):
            present = (former or {})[name]
            warn_of_former(f"{package}.{name}", present)
            return find(present)
        if name not in homes:
            return elsewhere(package, name)
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return sorted(homes), find, lambda: sorted({*vars(sys.modules[package]), *homes})


def elsewhere(package: str, name: str) -> Any:
    """Return what a package offered by this name and another one offers now, with a warning."""
    home = present_name(f"{package}.{name}")
    if home is None or not hasattr(import_module(home.split()[0]), name):
        raise AttributeError(f"module '{package}' has no attribute '{name}'")
    warn_of_former(f"{package}.{name}", f"{home}.{name}", stacklevel=4)
    return getattr(import_module(home), name)


def packaged_text(package: str, *names: str) -> str:
    """Return the text of a file of a package, by its path below it; also where the package is in an archive.

    ``importlib.resources`` does the same, and takes longer to import than all of a short command.

    Examples
    --------
    >>> packaged_text("mechdesign.export", "templates", "client.js")[:2]
    '//'
    """
    module: Any = import_module(package)
    data: bytes = module.__spec__.loader.get_data(os.path.join(os.path.dirname(module.__file__), *names))
    return data.decode("utf-8").replace("\r\n", "\n")


def installed_version() -> str:
    """Return the version of the installed package; ``0.0.0`` for a checkout that was never installed.

    Examples
    --------
    >>> installed_version().count(".") >= 2
    True
    """
    from importlib.metadata import PackageNotFoundError, version  # takes longer than a short command

    try:
        return version("mechdesign")
    except PackageNotFoundError:
        return "0.0.0"


@cache
def former_modules() -> dict[str, str]:
    """Return the former modules below ``mechdesign``, each with the one that has its names now.

    The file ``former_modules.txt`` has a line for each module of today. A module that was taken apart stands
    in several lines, and its present name is all of them. The file is read when nothing else has a name.
    """
    lines = Path(__file__).with_name("former_modules.txt").read_text(encoding="ascii").splitlines()
    result: dict[str, str] = {}
    for present, formers in (line.split(": ") for line in lines):
        for former in formers.split():
            result[former] = f"{result[former]} {present}" if former in result else present
    return result


def present_name(name: str) -> str | None:
    """Return what a module of a former name is called, or None where the name is not in the table.

    Examples
    --------
    >>> present_name("mechdesign.mechanisms.mean"), present_name("mechdesign.problems.response")
    ('mechdesign.families.mean', 'mechdesign.families.response')
    >>> present_name("mechdesign.solvers.solve") is None
    True
    """
    package, *parts = name.split(".")
    for length in range(len(parts), 0, -1):
        present = former_modules().get(".".join(parts[:length])) if package == "mechdesign" else None
        if present is not None:
            return " ".join(".".join([package, name, *parts[length:]]) for name in present.split())
    return None


def warn_of_former(former: str, present: str, stacklevel: int = 3) -> None:
    """Warn that something is called otherwise now."""
    text = f"{former} is called {present} now; the former name goes with the next version"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel)


class FormerAttribute:
    """The former name of an attribute or method of a class: it reads that of today, and warns.

    Examples
    --------
    >>> class Box:
    ...     size = 3
    ...     width = FormerAttribute("size")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     Box().width, str(caught[0].message)
    (3, 'Box.width is called size now; the former name goes with the next version')
    """

    def __init__(self, present: str) -> None:
        self.present, self.former = present, ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.former = f"{owner.__name__}.{name}"

    def __get__(self, instance: Any, owner: type) -> Any:
        warn_of_former(self.former, self.present)
        return getattr(owner if instance is None else instance, self.present)


def former_arguments(**present: str) -> Callable[[Function], Function]:
    """Return a decorator of functions that still take arguments by their former names, with a warning.

    Examples
    --------
    >>> @former_arguments(width="size")
    ... def area(size):
    ...     return size * size
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     area(width=2), str(caught[0].message)
    (4, "the argument 'width' is called 'size' now; the former name goes with the next version")
    """

    def decorated(function: Function) -> Function:
        @wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            for former in present.keys() & options.keys():
                warn_of_former(f"the argument '{former}'", f"'{present[former]}'")
                options[present[former]] = options.pop(former)
            return function(*args, **options)

        return cast(Function, call)

    return decorated


class FormerNames:
    """A finder and loader that gives the module of today for a former name."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load a module by its former name; None where it has none."""
        present = present_name(fullname) if fullname.startswith("mechdesign.") else None
        try:
            if present is None or importlib.util.find_spec(present.split()[0]) is None:
                return None
        except ModuleNotFoundError:
            return None
        return ModuleSpec(fullname, cls(), origin=present, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module of today, and warn; of one that was taken apart, the names of all its parts."""
        parts = [importlib.import_module(name) for name in str(spec.origin).split()]
        warn_of_former(spec.name, " and ".join(part.__name__ for part in parts))
        module = parts[0] if len(parts) == 1 else ModuleType(spec.name)
        for part in parts if len(parts) > 1 else ():
            vars(module).update({name: value for name, value in vars(part).items() if name[:2] != "__"})
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own specification back: it was executed under its own name."""
        module.__spec__ = self._own or module.__spec__
