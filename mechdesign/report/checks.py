"""Readable tables of ``check``: every method on every model, every claim, and what is wrong."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Sequence

from mechdesign.core.certificate import format_figure
from mechdesign.core.compare import verdict_on_certificates
from mechdesign.core.solution import Solution
from mechdesign.core.text import table
from mechdesign.papers.claims.check import ClaimResult, ModelCheck
from mechdesign.papers.claims.claim import UNDECIDED, VERDICT_WORDS

METHOD_COLUMNS = ("method", "kind", "status", "value", "gap", "to best", "certificates")
CLAIM_COLUMNS = ("claim", "origin", "stated", "found", "verdict")
AGREEMENT = {
    "yes": "methods agree",
    "NO": "methods DISAGREE",
    "one method": "one method only",
    "no method": "no method",
}
LONGEST_NAME = 40
"""Claims about more than this many letters continue in the next line."""


def overview(checks: Sequence[ModelCheck], width: int | None = None) -> str:
    """Return the tables of ``check``: every method on every model, then every claim, then a summary.

    Parameters
    ----------
    checks : sequence of ModelCheck
    width : int, optional
        The longest line; by default lines are as long as they come.
    """
    return "\n\n".join([methods_table(checks, width), claims_table(checks, width), summary(checks, width)])


def methods_table(checks: Sequence[ModelCheck], width: int | None = None) -> str:
    """Return a line for each model with the agreement of its methods, and under it a line for each run."""
    rows: list[list[str] | str] = []
    for check in checks:
        rows.append(f"{check.model.slug}: {AGREEMENT[check.comparison.agreement]}")
        rows += [_run(check, run) for run in check.comparison.runs]
    return table(METHOD_COLUMNS, rows, width)


def _run(check: ModelCheck, run: Solution) -> list[str]:
    to_best = None if run.claims_optimality else check.comparison.gap_to_best_bound(run)
    return [
        f"  {run.method}",
        run.kind,
        run.status,
        format_figure(run.value) if run.found else "-",
        f"{run.gap:.1e}" if math.isfinite(run.gap) else "-",
        "-" if to_best is None else f"{to_best:.1e}",
        verdict_on_certificates(run),
    ]


def claims_table(checks: Sequence[ModelCheck], width: int | None = None) -> str:
    """Return a line for each claim under its model, then why some are refuted or not decidable here."""
    rows: list[list[str] | str] = []
    reasons = []
    for check in checks:
        if check.claims:
            rows.append(check.model.slug)
        for result in check.claims:
            rows += _claim(result)
            if result.remark:
                place = f"{check.model.slug}, {result.subject}"
                reasons.append(f"{result.verdict_words}, {place}: {result.remark}")
    if not rows:
        return "no claims"
    return "\n".join([table(CLAIM_COLUMNS, rows, width), *[_filled(text, width) for text in reasons]])


def _claim(result: ClaimResult) -> list[list[str]]:
    verdict = result.verdict_words
    if not result.as_expected:
        verdict = f"{verdict}, here {result.outcome}" if result.verdict == UNDECIDED else verdict
        verdict = f"{verdict} (EXPECTED: {_expected(result)})"
    subject = textwrap.wrap(result.subject, LONGEST_NAME)
    first = ["  " + subject[0], result.claim.origin, result.stated, result.shown, verdict]
    return [first, *[["    " + line, "", "", "", ""] for line in subject[1:]]]


def _expected(result: ClaimResult) -> str:
    return "its witness" if result.lost else result.claim.expected


def _filled(text: str, width: int | None) -> str:
    if width is None:
        return f"  {text}"
    return textwrap.fill(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def summary(checks: Sequence[ModelCheck], width: int | None = None) -> str:
    """Return how many models, runs, claims and certificates there were, how they came out, what is wrong.

    Certificates that fail although they should not, and methods that disagree, are problems and listed. Those
    of published formulas, and those that a claim of the model says fail, are counted as recorded.
    """
    runs = [run for check in checks for run in check.comparison.runs]
    claims = [result for check in checks for result in check.claims]
    wrong = [f"{check.model.slug}: {text}" for check in checks for text in check.problems]
    head = f"{_count(checks, 'model')}, {_count(runs, 'run')}, {claims_counted(claims)}"
    parts = [f"{head}: {f'{len(wrong)} problem(s)' if wrong else 'no problem'}"]
    parts += [*_agreements(checks), *_certificates(checks)]
    if all(result.as_expected for result in claims):
        parts.append("every verdict as recorded")
    lines = _packed(parts, width)
    if width is not None:
        lines = [textwrap.fill(line, width, subsequent_indent="  ") for line in lines]
    return "\n".join([*lines, *[_filled(text, width) for text in wrong]])


def claims_counted(claims: Sequence[ClaimResult]) -> str:
    """Return how many claims there are, how many are refuted, and how many not decidable here, if any.

    Examples
    --------
    >>> claims_counted([])
    '0 claims (0 refuted)'
    """
    apart = [f"{sum(result.verdict == 'refuted' for result in claims)} refuted"]
    if undecided := sum(result.verdict == UNDECIDED for result in claims):
        apart.append(f"{undecided} {VERDICT_WORDS[UNDECIDED]}")
    return f"{_count(claims, 'claim')} ({', '.join(apart)})"


def _count(things: Sequence[object], word: str) -> str:
    return f"{len(things)} {word}{'' if len(things) == 1 else 's'}"


def _agreements(checks: Sequence[ModelCheck]) -> list[str]:
    words = Counter(check.comparison.agreement for check in checks)
    if len(words) == 1:
        return [AGREEMENT[word] for word in words]
    return [f"{AGREEMENT[word]} on {number}" for word, number in sorted(words.items(), reverse=True)]


def _certificates(checks: Sequence[ModelCheck]) -> list[str]:
    """Return how many certificates hold, fail as recorded, and fail otherwise, the failed ones by kind."""
    hold, recorded, other = 0, Counter[str](), Counter[str]()
    for check in checks:
        for run in check.comparison.runs:
            known = check.recorded_failures(run)
            hold += sum(certificate.holds for certificate in run.certificates)
            failed = [certificate.property for certificate in run.certificates if not certificate.holds]
            recorded.update(name for name in failed if name in known)
            other.update(name for name in failed if name not in known)
    texts = ["1 certificate holds" if hold == 1 else f"{hold} certificates hold"]
    for names, how in ((recorded, "as recorded"), (other, "that should hold")):
        if names:
            kinds = ", ".join(f"{name} {number}" for name, number in names.most_common())
            texts.append(f"{names.total()} {'fails' if names.total() == 1 else 'fail'} {how} ({kinds})")
    return texts


def _packed(parts: Sequence[str], width: int | None) -> list[str]:
    """Join the parts by semicolons into as few lines as their width allows, breaking none of them."""
    lines = [parts[0]]
    for part in parts[1:]:
        if width is None or len(lines[-1]) + len(part) + 2 <= width:
            lines[-1] += f"; {part}"
        else:
            lines[-1] += ";"
            lines.append(part)
    return lines
