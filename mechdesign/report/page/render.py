"""Pages from templates: one file with its style and script inside, that asks for nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from mechdesign.core.errors import MissingPackageError

PACKAGES = ("jinja2", "latex2mathml", "matplotlib")


def require_packages() -> None:
    """Raise MissingPackageError where no page could be written, before minutes are spent on one."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise MissingPackageError("report", f"needs {', '.join(missing)}", "install mechdesign[report]")


def rendered(template: str, **values: Any) -> str:
    """Return the page of a template.

    Everything that is put in is escaped, unless it was made here and says so (``markup``). The page's policy
    allows the one script that stands in it, by its digest, and nothing from elsewhere.

    Raises
    ------
    MissingPackageError
        Without jinja2.
    """
    script, style = _part("page.js"), _part("page.css")
    page: str = (
        _environment()
        .get_template(template)
        .render(script=markup(script), style=markup(style), script_digest=_digest(script), **values)
    )
    return page


@cache
def _environment() -> Any:
    """Return where templates are found; it keeps those that were read, ready to be filled in."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingPackageError(
            "report", "needs latex2mathml and jinja2", "pip install 'mechdesign[report]'"
        ) from None
    return Environment(
        loader=PackageLoader("mechdesign.report.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def markup(text: str) -> Any:
    """Return HTML that was made by the toolkit itself as what a template does not escape."""
    from markupsafe import Markup

    return Markup(text)


def _part(name: str) -> str:
    return files("mechdesign.report.page").joinpath("templates", name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
