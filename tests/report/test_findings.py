"""Findings: every verdict once, as a letter to the authors, for a family, for documentation and programs."""

from __future__ import annotations

import json
import runpy
from functools import cache, partial
from pathlib import Path

import pytest

from benchmarks.recorded_claims import documents
from mechdesign.catalog import load_model, models
from mechdesign.catalog.shipped import models_folder, read_toml
from mechdesign.cli import main
from mechdesign.papers.claims import Claim, recorded
from mechdesign.papers.claims.bibliography import bibliography
from mechdesign.papers.claims.claim import MISPRINT, UNCHECKED, UNDECIDED
from mechdesign.papers.claims.findings import (
    Finding,
    Statement,
    claimed_model,
    claims_document,
    claims_of,
    findings,
    statements,
    statements_of,
)
from mechdesign.papers.claims.sources import sources, statements_on, tally_of
from mechdesign.papers.shown.findings import HEADINGS, counted, findings_text
from mechdesign.papers.shown.letter import Letter, letter, letter_page, letter_text, others_page
from mechdesign.papers.shown.statements import escaped, tally_text, verdict_text
from tests.support.failures import assert_each
from tests.support.shipped import loaded

DOCS = Path(__file__).parents[2] / "docs"
REFUTED = {"verdict": "refuted", "reason": "it is 0.83", "readings": ["as printed: 0.83"]}
SURVEY = load_model("response/zhou2019_survey")
CITES = [found.cite for found in sources()]
MOST_WORDS = 2500


@cache
def claims_with(verdict: str) -> list[tuple[str, int, Claim]]:
    """Return model, number and claim of all claims of a verdict, read without the report."""
    return [
        (slug, number, claim)
        for slug in models()
        for number, claim in enumerate(loaded(slug).claims, 1)
        if claim.verdict == verdict
    ]


@cache
def pages() -> str:
    """Return all letters and the page of the other sources, as Markdown."""
    return "\n".join([*(letter_page(letter(cite)) for cite in CITES), others_page()])


def has_its_readings(slug):
    """Of every printed claim that is refuted and of every one that is undecided: a sentence at least."""
    for number, claim in enumerate(loaded(slug).claims, 1):
        if claim.verdict == UNDECIDED or (claim.verdict == "refuted" and claim.is_printed):
            assert claim.readings, f"{slug}, claim {number}"
            texts = [reading.text for reading in claim.reading_records]
            assert all(len(text) > 15 for text in texts), f"{slug}, claim {number}"
            assert len(set(texts)) == len(texts), f"{slug}, claim {number}"


def test_the_most_charitable_readings_are_recorded():
    assert_each({slug: partial(has_its_readings, slug) for slug in models()})


def of(number, **given):
    fields = {"quantity": "value", "value": 0.9, **REFUTED, **given}
    if fields["verdict"] == "holds":
        fields = {key: fields[key] for key in fields if key not in ("reason", "readings")}
    return Finding(SURVEY, number, Claim(**fields))


def test_claims_that_refute_one_statement_count_once():
    rule, other = {"statement": "the rule"}, {"statement": "another"}
    assert statements([of(1), of(2)]) == 2
    assert statements([of(1, **rule), of(2, **rule), of(3, **other)]) == 2
    assert statements([of(1, **rule), of(2, cite="duchi2018", **rule)]) == 2, "of two sources"
    undecided = {"verdict": UNDECIDED, "outcome": "holds", "decided_by": "the page"}
    assert counted([of(1, **rule), of(2, **rule), of(3, origin="derived"), of(4, **undecided)]) == (
        "1 statement of the sources is refuted (2 claims); 1 statement that was only tried here (1 claim); "
        "1 statement of the sources is not decidable here (1 claim); in 1 model"
    )
    one_rule = [found for found in findings("contract") if found.claim.statement.startswith("theorem 4.3.12")]
    assert len({found.model.slug for found in one_rule}) > 1
    assert statements(one_rule) == 1


def test_a_statement_has_the_worst_verdict_of_its_printed_points():
    points = [of(number, verdict="holds", statement="rule") for number in range(1, 4)]
    (whole,) = statements_of(points)
    assert (whole.verdict, verdict_text(whole), len(whole.judged)) == ("holds", "holds", 3)
    (mixed,) = statements_of([*points, of(4, statement="rule")])
    assert (mixed.verdict, mixed.first.number) == ("refuted", 4)
    assert verdict_text(mixed) == "refuted at 1 of 4 points: it is 0.83"
    (tried,) = statements_of([*points, of(4, statement="rule", origin="derived")])
    assert (tried.verdict, len(tried.judged)) == ("holds", 3), "what was tried here is none of its points"
    (own,) = statements_of([of(1, origin="computed")])
    assert verdict_text(own) == "derived here: refuted: it is 0.83"


def test_misprints_and_what_is_not_checked_have_their_words():
    claim = {"text": "the mean of n is 1/n", "reason": "squares", "readings": ()}
    words = {**claim, "quantity": "", "value": None}
    (misprint,) = statements_of([of(1, **words, verdict=MISPRINT, instead="1/n^2", evidence=["source: (2)"])])
    assert verdict_text(misprint) == "misprint: squares; instead: 1/n^2"
    (left,) = statements_of([of(1, **words, verdict=UNCHECKED)])
    assert verdict_text(left) == "not checked: squares"
    found = Letter("liu2023", (), (misprint, left))
    assert found.counts.startswith("1 statement was judged: 1 looks like a misprint. 1 was not checked.")
    text = letter_text(found)
    assert "What looks like a misprint (1)" in text
    assert "1. the mean of n is 1/n" in text
    assert "What holds instead: 1/n^2" in text
    assert "Shown by: source: (2)" in text
    assert "What does not hold" not in text


@pytest.mark.parametrize("cite", CITES)
def test_a_letter_counts_its_statements_and_lists_all_that_do_not_hold(cite):
    found = letter(cite)
    headings = {section.heading: section for section in found.sections()}
    for verdict, heading in (
        ("refuted", "What does not hold as stated"),
        (MISPRINT, "What looks like a misprint"),
        (UNDECIDED, "What could not be decided"),
    ):
        own = found.of(verdict)
        assert len(own) == len(headings[heading].entries if heading in headings else ())
        number = str(len(own)) if own else ""
        assert not own or f" {number} " in f" {found.counts} "
    total = sum(
        len(found.of(verdict, own)) for verdict in (*HEADINGS, "holds", UNCHECKED) for own in (True, False)
    )
    assert total == len(found.statements)
    assert sum(len(each.points) for each in statements_on(cite)) == sum(
        len(each.points) for each in found.statements
    )


def test_every_claim_that_does_not_hold_is_on_a_page():
    """As a point of a statement: its model is among the commands, or counted there."""
    reached = {
        (point.model.slug, point.number)
        for cite in CITES
        for each in letter(cite).statements
        for point in each.points
    }
    assert len(claims_with("refuted")) > 60
    text = pages().replace("\\", "")
    for verdict in HEADINGS:
        for slug, number, claim in claims_with(verdict):
            is_own = f"mechdesign check {slug}" in text or claim.is_in_words
            assert (slug, number) in reached or is_own, (slug, number)


def test_every_entry_says_what_was_computed_why_and_what_shows_it():
    for cite in CITES:
        for statement in letter(cite).of("refuted"):
            claim = statement.first.claim
            text = pages()
            assert escaped(claim.reason) in text
            assert escaped(claim.instead) in text
            assert all(escaped(str(reading)) in text for reading in claim.reading_records)
            assert claim.is_in_words or escaped(statement.first.witness) in text
        for statement in letter(cite).of(UNDECIDED):
            claim = statement.first.claim
            assert escaped(claim.decided_by) in pages()
    assert "none recorded" not in pages()


def test_sources_are_those_of_the_bibliography():
    assert {finding.cite for verdict in HEADINGS for finding in findings(verdict=verdict)} <= set(
        bibliography()
    )


def has_sources(slug):
    assert {claim.cite for claim in loaded(slug).claims} <= {"", *bibliography()}


def test_the_source_of_a_claim_is_in_the_bibliography():
    assert_each({slug: partial(has_sources, slug) for slug in models()})


def test_a_number_of_ours_is_not_called_stated():
    assert of(1).statement == "value: stated 0.9"
    assert of(1, origin="derived").statement == "value: tried 0.9"
    beyond = of(1, value=5.0, relation="<=", stated=0.0429).statement
    assert beyond == "value: <= 5, where the source states 0.0429"
    assert of(1, value=0.7310585786300049).statement == "value: 0.7310585786 by the formula of the source"


def test_what_was_tried_is_not_called_a_statement_of_the_text():
    (statement,) = statements_of([of(1, origin="derived")])
    found = Letter("liu2023", (), (statement,))
    text = letter_text(found)
    assert "What does not hold" not in text
    assert "What was tried beside (1)" in text
    assert found.counts.startswith("0 statements were judged")
    assert "tried here, not printed in the source" in findings_text([*statement.points])


def test_the_overview_is_short_and_links_a_page_for_each_source():
    text = (DOCS / "papers" / "findings.md").read_text(encoding="utf-8")
    assert len(text.split()) <= MOST_WORDS
    for name in (*CITES, "others"):
        assert f"(findings_{name}.md)" in text
        page = (DOCS / "papers" / f"findings_{name}.md").read_text(encoding="utf-8")
        assert page.count("<!-- letter -->") == 1
    assert "(papers/findings.md)" in (DOCS / "index.md").read_text(encoding="utf-8")
    assert "(docs/papers/findings.md)" in (DOCS.parent / "README.md").read_text(encoding="utf-8")


def test_the_build_puts_letters_in_their_pages_and_in_no_other():
    put = runpy.run_path(str(DOCS / "conf.py"))["add_findings"]
    for name, text in (("liu2023", letter_page(letter("liu2023"))), ("others", others_page())):
        page, other = ["<!-- letter -->"], ["<!-- letter -->"]
        put(None, f"papers/findings_{name}", page)
        put(None, "index", other)
        assert page == [text]
        assert other == ["<!-- letter -->"]


def test_texts_are_shown_as_they_are():
    assert escaped("q*(1-p*) < x_1 $2^18$ [a|b] `c`") == (r"q\*(1-p\*) \< x\_1 \$2\^18\$ \[a\|b\] \`c\`")


def test_a_letter_in_the_terminal(capsys):
    assert main(["findings", "liu2023"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100
    assert letter("liu2023").counts in " ".join(text.split())
    assert text.index("statements were judged") < 300, "counts stand at the head"
    assert "Dear authors" in text
    assert "true_epsilon = inf" in text
    assert "mechdesign check mean/rcp2023_single" in text


def test_a_family_in_the_terminal(capsys):
    assert main(["findings", "contract"]) == 0
    text = capsys.readouterr().out
    numbers = {
        verdict: sum(slug.startswith("contract/") for slug, _, _ in claims_with(verdict))
        for verdict in HEADINGS
    }
    assert text.count("\n    claim ") == sum(numbers.values())
    head = " ".join(text.split("\n\n")[0].split())
    assert head == f"{counted(of_family('contract'))}; mechdesign check MODEL finds them again"
    assert max(map(len, text.splitlines())) <= 100
    assert findings_text([]).startswith("no statement is refuted")


def of_family(family):
    return [finding for verdict in HEADINGS for finding in findings(family, verdict)]


def test_for_programs(capsys):
    assert main(["findings", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["model"], row["claim"]) for row in rows] == [
        (finding.model.slug, finding.number) for finding in of_family(None)
    ]
    assert all(row["reason"] and row["command"].endswith(row["model"]) for row in rows)
    assert all(row["witness"] or not row["quantity"] for row in rows if row["verdict"] == "refuted")
    assert all(row["decided_by"] for row in rows if row["verdict"] == UNDECIDED)
    assert {"refuted", UNDECIDED} <= {row["verdict"] for row in rows} <= set(HEADINGS)
    assert main(["findings", "zhou2019", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["source"] for row in rows} == {"zhou2019"}


def test_an_unknown_name_is_one_line(capsys):
    assert main(["findings", "nothing"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("mechdesign: findings: no family or source 'nothing'; known: andres2013")
    assert said.count("\n") == 1
    assert main(["findings", "liu2032"]) == 2
    assert "did you mean 'liu2023'" in capsys.readouterr().err


def test_statements_by_verdict_in_words():
    (holding,) = statements_of([of(1, verdict="holds")])
    assert isinstance(holding, Statement)
    assert tally_text(tally_of([holding, holding])) == "2 hold"


OUTDATED = "a model, a source or the bibliography has changed; run python -m benchmarks.recorded_claims"


def test_the_record_is_what_the_files_claim_today():
    """It is written from the models as they are loaded, and is the same text again; nothing is outdated."""
    assert recorded.record_text(documents()) == recorded.FILE.read_text(encoding="utf-8"), OUTDATED


def has_the_claims_of_its_model(slug):
    """Claims made of the record are those of the loaded model, also in the type of each number."""
    pairs = zip(claims_of(slug), loaded(slug).claims, strict=True)
    assert all(found.claim == claim for found, claim in pairs)
    kinds = [list(map(type_of, vars(claim).values())) for claim in loaded(slug).claims]
    assert [list(map(type_of, vars(found.claim).values())) for found in claims_of(slug)] == kinds


def type_of(value):
    if isinstance(value, (list, tuple)):
        return list(map(type_of, value))
    return {key: type_of(item) for key, item in value.items()} if isinstance(value, dict) else type(value)


def test_claims_of_the_record_are_those_of_the_models():
    assert_each({slug: partial(has_the_claims_of_its_model, slug) for slug in models()})


def test_a_changed_file_is_read_and_not_its_record(tmp_path, monkeypatch):
    """Another digest: what the file says now counts, and is checked."""
    folder = tmp_path / "models"
    (folder / "response").mkdir(parents=True)
    text = (models_folder() / "response" / "zhou2019_survey.toml").read_text(encoding="utf-8")
    changed_file = folder / "response" / "zhou2019_survey.toml"
    monkeypatch.setattr(recorded, "models_folder", lambda: folder)
    changed_file.write_text(text, encoding="utf-8", newline="\r\n")  # as a checkout on Windows has it
    assert recorded.recorded_document(changed_file, dict)["claim"]
    changed_file.write_text(text.replace("Zhou", "Chou", 1) + "\n", encoding="utf-8")
    assert recorded.recorded_document(changed_file, lambda: read_toml(changed_file))["parameters"]


def test_without_the_record_findings_are_the_same(tmp_path, monkeypatch):
    before = claims_document(load_model("response/zhou2019_survey"))
    (tmp_path / "damaged.json").write_text('{"response/', encoding="utf-8")
    monkeypatch.setattr(recorded, "FILE", tmp_path / "damaged.json")
    recorded._entries.cache_clear()
    claimed_model.cache_clear()
    assert claimed_model("response/zhou2019_survey").claims == before["claim"]
    recorded._entries.cache_clear()
    claimed_model.cache_clear()
