"""Readable tables of ``check``: every method on every model, every claim, and what is wrong."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Sequence

from mechdesign.core.certificate import format_figure
from mechdesign.core.solution import Solution
from mechdesign.papers.claims.check import ClaimResult, ModelCheck
from mechdesign.papers.claims.claim import MISPRINT, NOT_EVALUATED, UNDECIDED, VERDICT_WORDS
from mechdesign.report.compare import verdict_on_certificates
from mechdesign.show.tables import table

FAMILY_COLUMNS = ("family", "models", "runs", "claims", "as recorded", "differs")
METHOD_COLUMNS = ("method", "kind", "status", "value", "gap", "gap to best", "certificates")
CLAIM_COLUMNS = ("claim", "origin", "stated", "computed", "verdict")
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


def brief(checks: Sequence[ModelCheck], width: int | None = None) -> str:
    """Return a line for each family, then what differs from the record, and nothing about what does not.

    Parameters
    ----------
    checks : sequence of ModelCheck
    width : int, optional
        The longest line; by default lines are as long as they come.
    """
    families: dict[str, list[ModelCheck]] = {}
    for check in checks:
        families.setdefault(check.model.family or "own", []).append(check)
    rows = [_family(name, members) for name, members in sorted(families.items())]
    if len(rows) > 1:
        rows.append(_family("all", checks))
    wrong = [f"{check.model.slug}: {text}" for check in checks for text in check.problems]
    left = list(dict.fromkeys(check.not_evaluated for check in checks if check.not_evaluated))
    lines = [_differing(wrong), *left, _known(checks), MORE]
    return "\n".join(
        [
            table(FAMILY_COLUMNS, rows, width),
            *(_wrapped(line, width) for line in lines if line),
            *(_filled(text, width) for text in wrong),
        ]
    )


MORE = "-v prints every method and claim, 'mechdesign check MODEL' those of one model"


def _differing(wrong: Sequence[str]) -> str:
    if not wrong:
        return "nothing differs: methods agree, certificates and claims come out as recorded"
    return f"{len(wrong)} {'problem' if len(wrong) == 1 else 'problems'}, see below"


def _known(checks: Sequence[ModelCheck]) -> str:
    """Return the mistakes in the sources that the record itself names; empty where it names none."""
    refuted = sum(
        claim.verdict in ("refuted", MISPRINT) and claim.as_expected
        for item in checks
        for claim in item.claims
    )
    failing = sum(
        not certificate.holds and certificate.property in check.recorded_failures(run)
        for check in checks
        for run in check.comparison.runs
        for certificate in run.certificates
    )
    parts = [f"{refuted} {'claim' if refuted == 1 else 'claims'}"] if refuted else []
    parts += [f"{failing} {'certificate' if failing == 1 else 'certificates'}"] if failing else []
    if not parts:
        return ""
    return f"known errors of the sources: {' and '.join(parts)}; 'mechdesign findings' lists them"


def _wrapped(line: str, width: int | None) -> str:
    return line if width is None else textwrap.fill(line, width, subsequent_indent="  ")


def _family(name: str, checks: Sequence[ModelCheck]) -> list[str]:
    runs = sum(len(check.comparison.runs) for check in checks)
    claims = [result for check in checks for result in check.claims if result.is_evaluated]
    expected = sum(result.as_expected for result in claims)
    differing = sum(len(check.problems) for check in checks)
    return [name, *map(str, (len(checks), runs, len(claims), expected, differing))]


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
        _certified(check, run),
    ]


def _certified(check: ModelCheck, run: Solution) -> str:
    """Return how the certificates of a run came out; what is recorded not to hold is not an alarm."""
    recorded = check.recorded_failures(run)
    failed = [certificate.property for certificate in run.certificates if not certificate.holds]
    if not failed or not set(failed) <= recorded:
        return verdict_on_certificates(run)
    return f"does not hold, as recorded: {', '.join(failed)}"


def claims_table(checks: Sequence[ModelCheck], width: int | None = None) -> str:
    """Return a line for each claim under its model, then why some are refuted or not decidable here."""
    rows: list[list[str] | str] = []
    reasons = []
    for check in checks:
        if any(result.is_evaluated for result in check.claims):
            rows.append(check.model.slug)
        for result in check.claims:
            rows += _claim(result) if result.is_evaluated else []
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
    if result.lost:
        return "its witness"
    return "its readings" if result.misread else result.claim.expected


def _filled(text: str, width: int | None) -> str:
    if width is None:
        return f"  {text}"
    return textwrap.fill(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def summary(checks: Sequence[ModelCheck], width: int | None = None) -> str:
    """Return the numbers of models, runs, claims and certificates, their results, and any deviations.

    Certificates that fail although they should hold, and methods that disagree, are problems and listed.
    Those of published formulas, and those that a claim of the model records as failing, are expected.
    """
    runs = [run for check in checks for run in check.comparison.runs]
    claims = [result for check in checks for result in check.claims]
    wrong = [f"{check.model.slug}: {text}" for check in checks for text in check.problems]
    head = f"{_count(checks, 'model')}, {_count(runs, 'run')}, {claims_counted(claims)}"
    parts = [f"{head}: {f'{len(wrong)} problem(s)' if wrong else 'no problem'}"]
    parts += [*_agreements(checks), *_certificates(checks)]
    if all(result.as_expected for result in claims) and any(result.is_evaluated for result in claims):
        parts.append("every verdict as recorded")
    parts += dict.fromkeys(check.not_evaluated for check in checks if check.not_evaluated)
    lines = _packed(parts, width)
    if width is not None:
        lines = [textwrap.fill(line, width, subsequent_indent="  ") for line in lines]
    return "\n".join([*lines, *[_filled(text, width) for text in wrong]])


def claims_counted(claims: Sequence[ClaimResult]) -> str:
    """Return the numbers of claims, refuted ones, misprints, and those not decidable here, if any.

    Examples
    --------
    >>> claims_counted([])
    '0 claims (0 refuted)'
    """
    apart = [f"{sum(result.verdict == 'refuted' for result in claims)} refuted"]
    if misprints := sum(result.verdict == MISPRINT for result in claims):
        apart.append(f"{misprints} {'misprint' if misprints == 1 else 'misprints'}")
    if undecided := sum(result.verdict == UNDECIDED for result in claims):
        apart.append(f"{undecided} {VERDICT_WORDS[UNDECIDED]}")
    if left := sum(not result.is_evaluated for result in claims):
        apart.append(f"{left} {VERDICT_WORDS[NOT_EVALUATED]}")
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
    for names, one, many in (
        (recorded, "is recorded as not holding", "are recorded as not holding"),
        (other, "FAILS that should hold", "FAIL that should hold"),
    ):
        if names:
            kinds = ", ".join(f"{name} {number}" for name, number in names.most_common())
            texts.append(f"{names.total()} {one if names.total() == 1 else many} ({kinds})")
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
