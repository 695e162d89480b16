"""The verdict on statements of the sources, in words: the one place that writes it, for tables and texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from mechdesign.papers.claims.claim import MISPRINT, UNDECIDED, VERDICT_WORDS, VERDICTS
from mechdesign.papers.claims.evidence import kind_of_evidence
from mechdesign.papers.claims.findings import Statement
from mechdesign.papers.claims.sources import VerdictTally

MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#$~|^])")
"""Characters that Markdown or mathematics in it would take for its own."""

HEAD = ("| statement | where | verdict | shown by |", "|---|---|---|---|")


def verdict_words(verdict: str) -> str:
    """Return a verdict in words.

    Examples
    --------
    >>> verdict_words("not-decidable"), verdict_words("holds")
    ('not decidable here', 'holds')
    """
    return VERDICT_WORDS.get(verdict, verdict)


def verdict_text(statement: Statement) -> str:
    """Return the verdict on a statement with its reason, as a sentence without a full stop.

    Where only some of its points have this verdict, they are counted.
    """
    verdict, claim = statement.verdict, statement.first.claim
    deciding = statement.deciding(verdict)
    text = verdict_words(verdict)
    if len(deciding) < len(statement.judged):
        text += f" at {len(deciding)} of {len(statement.judged)} points"
    if verdict != "holds":
        text += f": {claim.reason}"
    if claim.instead:
        text += f"; instead: {claim.instead}"
    if verdict == UNDECIDED:
        text += f"; would be decided by {claim.decided_by}"
    return text if statement.is_printed else f"derived here: {text}"


def tally_text(counts: VerdictTally) -> str:
    """Return the numbers of statements by verdict in words: ``2 hold, 1 refuted; derived here: 1 holds``.

    Examples
    --------
    >>> tally_text(VerdictTally({"holds": 2, "refuted": 1}, {"holds": 1}))
    '2 hold, 1 refuted; derived here: 1 holds'
    """
    parts = [_counts(counts.printed)] if counts.printed else []
    if counts.own:
        parts.append(f"derived here: {_counts(counts.own)}")
    return "; ".join(parts)


def _counts(counts: Mapping[str, int]) -> str:
    words = []
    for verdict in VERDICTS:
        number = counts.get(verdict, 0)
        if number:
            word = "hold" if (verdict, number > 1) == ("holds", True) else verdict_words(verdict)
            words.append(f"{number} {word}")
    return ", ".join(words)


def table_of(statements: Iterable[Statement]) -> str:
    """Return statements as a table in Markdown, a row each."""
    return "\n".join([*HEAD, *map(_row, statements)]) + "\n"


def _row(statement: Statement) -> str:
    verdict = escaped(verdict_text(statement))
    if statement.verdict in ("refuted", MISPRINT, UNDECIDED):
        words = verdict_words(statement.verdict)
        verdict = verdict.replace(words, f"**{words}**", 1)
    shown = [f"`{slug}`" for slug in statement.models]
    shown += [_evidence(piece) for piece in statement.evidence]
    cells = [*map(escaped, words_and_place(statement.text, statement.where, statement.is_worded)), verdict]
    return f"| {' | '.join(' '.join(cell.split()) for cell in [*cells, ', '.join(shown)])} |"


def words_and_place(text: str, where: str, is_worded: bool) -> tuple[str, str]:
    """Return the words of a statement and its place; a place often has the words after a colon.

    Examples
    --------
    >>> words_and_place("surplus: stated 0", "lemma 3: no type has a surplus", False)
    ('no type has a surplus (surplus: stated 0)', 'lemma 3')
    >>> words_and_place("table 6: ranks", "table 6: ranks", True)
    ('ranks', 'table 6')
    >>> words_and_place("surplus: stated 0", "lemma 3", False)
    ('surplus: stated 0', 'lemma 3')
    """
    place, _, words = where.partition(": ")
    if not words:
        return text, where
    if is_worded:
        return (words, place) if text == where else (text, where)
    return f"{words} ({text})", place


def _evidence(piece: str) -> str:
    """Return a piece of evidence as Markdown of a page in a folder of the documentation."""
    kind = kind_of_evidence("evidence", piece)
    if kind == "page":
        page, _, heading = piece.partition("#")
        name = heading.replace("-", " ") or page.rpartition("/")[2].removesuffix(".md").replace("_", " ")
        return f"[{name}](../{piece})"
    return f"the source: {escaped(piece.removeprefix('source: '))}" if kind == "place" else f"`{piece}`"


def escaped(text: str) -> str:
    r"""Return a plain text as Markdown shows it unchanged.

    Examples
    --------
    >>> print(escaped("H_i * 2 < 3"))
    H\_i \* 2 \< 3
    """
    return MARKDOWN.sub(r"\\\1", text)
