"""Where the shipped models are, and which there are."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from mechdesign.core.errors import ModelFileError

SOURCES = "sources"
"""The folder next to those of families that lists the items of sources; its files are not models."""


@cache
def models_folder() -> Path:
    """Return the folder of the shipped models: inside the installed package, or next to it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "models", package.parent / "models"):
        if folder.is_dir():
            return folder
    raise ModelFileError("models", "the folder of the shipped models is missing", "reinstall the package")


def models(family: str | None = None) -> list[str]:
    """Return the slugs of all shipped models, or of one family.

    Examples
    --------
    >>> "response/zhou2019_survey" in models("response")
    True
    """
    folder = models_folder()
    paths = (path.relative_to(folder) for path in folder.rglob("*.toml"))
    kept = (path for path in paths if len(path.parts) > 1 and path.parts[0] != SOURCES)
    slugs = [path.with_suffix("").as_posix() for path in kept]
    return sorted(slug for slug in slugs if family is None or slug.startswith(f"{family}/"))


def is_model(slug: str) -> bool:
    """Whether a shipped model has this slug; the folder is read again only for one not yet seen.

    Examples
    --------
    >>> is_model("response/zhou2019_survey"), is_model("response/zhou2019")
    (True, False)
    """
    return slug in _seen() or slug in models()


@cache
def _seen() -> frozenset[str]:
    return frozenset(models())
