"""Pictures for pages with a strict policy: SVG without styles in its elements."""

from __future__ import annotations

import re

STYLE = re.compile(r' style="([^"]*)"')


def for_page(picture: str) -> str:
    """Return an SVG element with its styles as attributes, which every policy allows.

    Pictures style each element by properties of SVG (``fill``, ``stroke``, ``font-size`` and the like), all
    of which are attributes as well.

    Examples
    --------
    >>> for_page('<path style="fill: none; stroke: #000"/>')
    '<path fill="none" stroke="#000"/>'
    """
    return STYLE.sub(lambda match: _attributes(match[1]), picture)


def _attributes(style: str) -> str:
    pairs = (part.partition(":") for part in style.split(";") if part.strip())
    return "".join(f' {name.strip()}="{value.strip()}"' for name, _, value in pairs)
