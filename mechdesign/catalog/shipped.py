"""Where the shipped models are, and which there are."""

from __future__ import annotations

from functools import cache, lru_cache
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
    if not package.is_dir():  # inside an archive
        what = "the shipped models cannot be read from a zip archive"
        raise ModelFileError("models", what, "install the package")
    raise ModelFileError("models", "the folder of the shipped models is missing", "reinstall the package")


def models(family: str | None = None) -> list[str]:
    """Return the slugs of all shipped models, or of one family.

    Examples
    --------
    >>> "response/zhou2019_survey" in models("response")
    True
    """
    folder = models_folder()
    families = [path for path in folder.iterdir() if path.is_dir() and path.name != SOURCES]
    wanted = [path for path in families if family in (None, path.name)]
    found = [model for path in wanted for model in path.rglob("*.toml")]
    return sorted(model.relative_to(folder).with_suffix("").as_posix() for model in found)


def is_model(slug: str) -> bool:
    """Whether a shipped model has this slug; the family's folder is read again only for an unknown slug.

    Examples
    --------
    >>> is_model("response/zhou2019_survey"), is_model("response/zhou2019")
    (True, False)
    """
    family = slug.partition("/")[0]
    return slug in _seen(family) or slug in models(family)


@lru_cache(maxsize=64)
def _seen(family: str) -> frozenset[str]:
    return frozenset(models(family))
