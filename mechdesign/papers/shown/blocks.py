"""Tables of the documentation that are printed from the claims of the models, between two comments.

They are written as follows::

    <!-- claims of zhang2019 in contract -->
    ...
    <!-- end of claims -->

The first names, in this order and each only if needed, sources (``of zhang2019 wang2022``), families or
models (``in contract location/planar_laplace``), whether what was only tried or derived here is shown as
well (``with ours``), and words of the place (``at section 4.4; theorem 4.3.12``). A test compares the tables
with the claims, and ``python -m tests.documented_outputs --update --claims`` writes them.
The overview of what does not hold stands between ``<!-- findings -->`` and ``<!-- end of findings -->``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mechdesign.catalog.shipped import models
from mechdesign.core.errors import ParameterError
from mechdesign.papers.claims.findings import Finding, Statement, claims_of, statements_of
from mechdesign.papers.claims.sources import sources, speaks_of
from mechdesign.papers.shown.letter import letter, overview_page
from mechdesign.papers.shown.statements import table_of

BLOCK = re.compile(
    r"(?P<head><!-- claims(?: of (?P<cites>[\w ]+?))?(?: in (?P<places>[\w/ ]+?))?(?P<own> with ours)?"
    r"(?: at (?P<words>[^\n]+?))? -->\n)(?P<table>.*?)(?P<end><!-- end of claims -->)",
    re.DOTALL,
)
"""A table with its two comments."""

OVERVIEW = re.compile(r"(?<=<!-- findings -->\n).*?(?=<!-- end of findings -->)", re.DOTALL)
"""The overview, without its comments."""


@dataclass(frozen=True)
class Selection:
    """Which claims a table is about.

    Attributes
    ----------
    cites : sequence of str
        Keys of sources; all where there is none.
    places : sequence of str
        Families, or slugs of models; all where there is none.
    words : sequence of str
        Words of the place of a claim, as items of sources name them; all where there are none.
    own : bool
        Whether what no source prints is among them.
    """

    cites: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    own: bool = False

    def statements(self) -> list[Statement]:
        """Return the selected statements, in the order of their source as far as its items tell it.

        Raises
        ------
        ParameterError
            When a name is unknown, or there is none.
        """
        known = {slug.rpartition("/")[0] for slug in models()} | set(models())
        for place in self.places:
            if place not in known:
                raise ParameterError("claims", f"no family or model '{place}'")
        slugs = [slug for slug in models() if not self.places or _is_in(slug, self.places)]
        selected = [finding for slug in slugs for finding in claims_of(slug) if self._has(finding)]
        if not selected:
            raise ParameterError("claims", f"no claim is selected by {self}")
        order = _order()
        selected.sort(key=lambda finding: order.get((finding.model.slug, finding.number), len(order)))
        return [each for each in statements_of(selected) if each.is_printed or self.own]

    def _has(self, finding: Finding) -> bool:
        is_cited = not self.cites or finding.cite in self.cites
        return is_cited and (not self.words or any(speaks_of(finding.claim, each) for each in self.words))


def _is_in(slug: str, places: Sequence[str]) -> bool:
    return any(slug == place or slug.startswith(f"{place}/") for place in places)


def _order() -> dict[tuple[str, int], int]:
    """Return the number of each claim in the order of the items of its source."""
    order: dict[tuple[str, int], int] = {}
    for document in sources():
        for item in document.items:
            for finding in item.findings():
                order.setdefault((finding.model.slug, finding.number), len(order))
    return order


def with_tables(text: str) -> str:
    r"""Return a page with the tables of claims that its comments ask for.

    Raises
    ------
    ParameterError
        When a comment names what does not exist.

    Examples
    --------
    >>> page = with_tables("<!-- claims in response/zhou2019_survey -->\n<!-- end of claims -->")
    >>> page.splitlines()[1]
    '| statement | where | verdict | shown by |'
    """
    text = OVERVIEW.sub(lambda _: overview_page([letter(document.cite) for document in sources()]), text)
    return BLOCK.sub(lambda block: f"{block['head']}{_table(block)}{block['end']}", text)


def _table(block: re.Match[str]) -> str:
    words = tuple(each.strip() for each in (block["words"] or "").split(";") if each.strip())
    cites, places = (tuple((block[name] or "").split()) for name in ("cites", "places"))
    return table_of(Selection(cites, places, words, bool(block["own"])).statements())
