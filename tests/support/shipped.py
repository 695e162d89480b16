"""Catalog models by the text of their files, while tests are collected; and each model, loaded once."""

from __future__ import annotations

import re
from functools import cache

from mechdesign.catalog import load_model, models
from mechdesign.catalog.load import Model
from mechdesign.catalog.shipped import models_folder


def mentioning(pattern: str) -> list[str]:
    r"""Return the models with a line in whose beginning a pattern is found; none of them is loaded.

    >>> mentioning(r"problem\s*=\s*.location-noise")[:1]
    ['location/planar_laplace']
    """
    return [slug for slug, text in _texts().items() if re.search(rf"^\W*{pattern}", text, re.MULTILINE)]


@cache
def _texts() -> dict[str, str]:
    folder = models_folder()
    return {slug: (folder / f"{slug}.toml").read_text(encoding="utf-8") for slug in models()}


@cache
def loaded(slug: str) -> Model:
    """Return a model that is only looked at; many rules look at all of them."""
    return load_model(slug)
