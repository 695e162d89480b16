"""The items of the sources: none is left out, every place named exists, every claim has an item."""

from __future__ import annotations

import re

import pytest

import mechdesign as md
from mechdesign.catalog import models
from mechdesign.collect.base import CollectingMechanism, mechanism_types
from mechdesign.core.errors import MechDesignError
from mechdesign.families import problem_classes
from mechdesign.papers.claims import Claim
from mechdesign.papers.claims.bibliography import bibliography
from mechdesign.papers.claims.sources import (
    ALL,
    UNCLAIMED,
    Item,
    loose_claims,
    parse,
    source,
    sources,
    spanned,
    speaks_of,
    tally,
)
from tests.support.documents import ROOT
from tests.support.links import anchors
from tests.support.shipped import loaded

KEYS = [found.cite for found in sources()]
OF_OTHERS = {
    "zhang2019": r"Zhang \(2019\)|zhang2019",
    "wang2022": r"the survey",
}
"""How claims of models from elsewhere name one of the five sources in their place."""

OPERATION = re.compile(r"""Operation\(\s*"([a-z-]+)\"""")
LEAST = {"chu2022": 18, "liu2023": 41, "wang2022": 70, "zhang2019": 149, "zhou2019": 22}
"""The items of each source when they were counted in the source itself: fewer means that one was dropped."""


@pytest.mark.parametrize("cite", KEYS)
def test_the_numbers_of_a_source_have_an_item_each_and_once(cite):
    """The ranges are those of the source: whoever leaves out a number, or writes it twice, fails here."""
    found = source(cite)
    listed = set()
    for kinds, numbers in found.complete.items():
        assert sorted(item.number for item in found.items if item.kind in kinds) == sorted(numbers), kinds
        listed.update(kinds)
    assert {item.kind for item in found.items} - listed <= {"experiment", "component"}
    places = [(item.kind, item.place) for item in found.items]
    assert len(set(places)) == len(places)
    assert len(places) >= LEAST[cite]


@pytest.mark.parametrize("cite", KEYS)
def test_the_sections_of_a_source_have_items_or_a_reason(cite):
    found = source(cite)
    used = {item.section for item in found.items} - {""}
    assert used | set(found.bare) == set(found.sections)
    assert not used & set(found.bare)
    assert found.note.endswith(".")
    for item in found.items:
        if item.kind in ("experiment", "component") and found.sections:
            assert item.place.startswith(f"section {item.section}"), item.place


def test_sources_are_in_the_bibliography_and_their_files_are_no_models():
    assert set(LEAST) == set(KEYS) <= set(bibliography())
    assert not [slug for slug in models() if slug.startswith("sources/")]
    assert models("sources") == []


@pytest.mark.parametrize("cite", KEYS)
def test_every_place_that_an_item_names_exists(cite):
    methods = {
        f"{name}/{method.name}" for name, kind in problem_classes().items() for method in md.methods_of(kind)
    }
    known = {"models": set(models()), "problems": set(problem_classes()), "methods": methods}
    types = mechanism_types()
    for item in source(cite).items:
        assert set(item.all_models) <= known["models"], item.place
        assert set(item.problems) <= known["problems"], item.place
        assert set(item.methods) <= known["methods"], item.place
        assert set(item.mechanisms) <= set(types), item.place
        for name in item.operations:
            kind, _, operation = name.partition("/")
            assert operation in operations_of(types[kind]), f"{item.place}: {name}"
        for page in item.pages:
            path, _, anchor = page.partition("#")
            assert (ROOT / "docs" / path).is_file(), f"{item.place}: {page}"
            assert not anchor or anchor in anchors(ROOT / "docs" / path), f"{item.place}: {page}"


@pytest.mark.parametrize("cite", KEYS)
def test_every_item_has_a_verdict_or_a_reason(cite):
    """Words that no claim has any more are an error: else an item would lose its verdict unseen."""
    for item in source(cite).items:
        for slug, phrases in item.claims.items():
            assert phrases, f"{item.place}: {slug}"
            for words in phrases:
                one = Item("theorem", "theorem 1", "x", claims={slug: (words,)})
                assert list(one.reached()), f"{item.place}: no claim of {slug} has {words!r}"
        if not item.claims:
            assert item.verdict in UNCLAIMED, item.place
            assert len(item.why) > 10, item.place
            assert item.verdict == "described" or item.pages, f"{item.place}: explained on no page"


def test_every_model_of_a_source_has_an_item():
    named = {slug for found in sources() for item in found.items for slug in item.all_models}
    of_sources = {slug for slug in models() if loaded(slug).source.get("cite") in KEYS}
    assert len(of_sources) > 80
    assert of_sources <= named


def test_every_claim_of_a_source_belongs_to_an_item():
    assert loose_claims({cite: OF_OTHERS.get(cite, "(?!)") for cite in KEYS}) == []


def test_a_claim_without_an_item_is_found(monkeypatch):
    """The check of the test before can fail: without its items a source's claims are loose."""
    kept = tuple(found for found in sources() if found.cite != "zhou2019")
    monkeypatch.setattr("mechdesign.papers.claims.sources.sources", lambda: kept)
    loose = loose_claims({"zhou2019": "(?!)"})
    assert {slug.partition("/")[0] for slug, _, _ in loose} == {"response"}
    assert len(loose) > 40


@pytest.mark.parametrize(
    ("words", "where", "expected"),
    [
        ("table 1", "table 1, eq. (3)", True),
        ("table 1", "table 10", False),
        ("figure 6.1", "figure 6.13a", False),
        ("figure 6.1", "figure 6.1", True),
        ("section 5.1", "section 5.1.2", False),
        ("section 5.1", "section 5.1: the least error", True),
        ("2.3.2", "sections 1.2.1 and 2.3.2: for large eps", True),
        ("3.2", "section 1.3.2", False),
        ("(3.6)", "below figure 3.3, by (3.6)", True),
        (ALL, "", True),
    ],
)
def test_words_are_found_whole(words, where, expected):
    assert speaks_of(Claim("value", 1.0, where=where), words) is expected


def test_claims_about_a_method_are_found_by_its_name():
    assert speaks_of(Claim("value", 1.0, method="lasso"), "method lasso")
    assert not speaks_of(Claim("value", 1.0, method="sparse-lasso"), "method lasso")


def test_verdicts_are_counted_apart_for_the_source_and_for_us():
    one = Item(
        "theorem",
        "theorem 1",
        "x",
        claims={
            "contract/irregular": (
                "theorem 4.3.12",
                "ironing: H/lambda = (1, 102, 2.201) pools types 2 and 3",
            )
        },
    )
    assert dict(tally(one).printed) == {"refuted": 1}
    assert dict(tally(one).own) == {"holds": 1}
    assert tally(one).outcome == "refuted"
    own = Item(
        "theorem",
        "theorem 1",
        "x",
        claims={"contract/irregular": ("ironing: H/lambda = (1, 102, 2.201) pools types 2 and 3",)},
    )
    assert tally(own).outcome == "derived"


@pytest.mark.parametrize("text", ["1-1", "3-2", "2.1-3.4", "6.x-6.y"])
def test_a_wrong_range_is_refused(text):
    with pytest.raises(MechDesignError, match="is not a range"):
        spanned(text)


def test_ranges():
    assert spanned("6.9-6.11") == ["6.9", "6.10", "6.11"]
    assert spanned("3") == ["3"]


ENTRY = {"kind": "table", "place": "table 1", "title": "symbols"}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (ENTRY, "give verdict and why"),
        ({**ENTRY, "verdict": "described"}, "give verdict and why"),
        ({**ENTRY, "why": "a list", "verdict": "holds"}, "'holds' is not a choice"),
        ({**ENTRY, "why": "a list", "claims": {"contract/limits": ["*"]}}, "drop verdict and why"),
        ({**ENTRY, "kind": "tabel"}, "did you mean 'table'"),
        ({**ENTRY, "titel": "x"}, "did you mean 'title'"),
        ({"kind": "table", "place": "table 1"}, "title: is missing"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_number(entry, message):
    with pytest.raises(MechDesignError, match=re.escape(message)) as caught:
        parse("mine", {"cite": "mine", "item": [entry]})
    assert str(caught.value).startswith("mine: item 1")


def test_an_unknown_source_is_named():
    with pytest.raises(MechDesignError, match="did you mean 'liu2023'"):
        source("liu2032")


def operations_of(kind: type) -> set[str]:
    """Return the operations written in the modules beside a class, and those of all that collect."""
    folder = ROOT.joinpath(*kind.__module__.split(".")[:-1])
    files = [folder / f"{kind.__module__.rpartition('.')[2]}.py"]
    if folder.name != "collect":
        files += folder.rglob("*.py")
    if issubclass(kind, CollectingMechanism):
        files.append(ROOT / "mechdesign" / "collect" / "collecting.py")
    return {name for path in files for name in OPERATION.findall(path.read_text(encoding="utf-8"))}
