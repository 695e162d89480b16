"""Twenty-eight small mistakes in as many places of the package, and whether the tests that should notice do.

    python -m benchmarks.mutations            # all of them; some twenty minutes
    python -m benchmarks.mutations kary noise # those whose name contains one of the words

The package and the tests are copied to a temporary folder, so that the checkout stays as it is. For each
mistake its tests are run as they are (they have to pass) and with the mistake (they have to fail). A place is
found by its text in all files of the package and has to be there exactly once, so that it survives when files
move; when it is gone, that is said, and the exit code is 1, as it is for a mistake that nobody notices.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = ("mechdesign", "tests", "benchmarks", "models", "docs", "examples", "pyproject.toml", "run.py")
LIMIT = 600
"""Seconds for the tests of one mistake; one that makes them hang is noticed as well."""


@dataclass(frozen=True)
class Mutation:
    """A text of the package that stands in one place, what is put there, and who should notice."""

    name: str
    text: str
    wrong: str
    tests: tuple[str, ...]

    def place(self, root: Path) -> Path | None:
        """Return the only file with the text."""
        found = [
            path
            for path in sorted((root / "mechdesign").rglob("*.py"))
            if path.read_text(encoding="utf-8").count(self.text) == 1
        ]
        return found[0] if len(found) == 1 else None


LAWS = "tests/contract/test_laws.py"

MUTATIONS = (
    Mutation(
        "exponential rounded up",
        "context = decimal_context(DIGITS, ROUND_FLOOR)\n    below = context.divide(Decimal(numerator)",
        "context = decimal_context(DIGITS, ROUND_CEILING)\n    below = context.divide(Decimal(numerator)",
        ("tests/kernel/test_audit_exponential.py",),
    ),
    Mutation(
        "entry-wise delta without e^epsilon",
        "worst = max(high - exponential * low for",
        "worst = max(high - low for",
        ("tests/kernel/test_audit_channel.py",),
    ),
    Mutation(
        "set-wise delta of half the size",
        "return best / TOTAL, witness",
        "return best / (2 * TOTAL), witness",
        ("tests/kernel/test_audit_channel.py",),
    ),
    Mutation(
        "threshold one too large",
        "min(value * top // bottom, TOTAL)",
        "min(value * top // bottom + 1, TOTAL)",
        ("tests/kernel/test_audit_channel.py",),
    ),
    Mutation(
        "an impossible report does not count as an infinite ratio",
        "if high > 0 and low == 0:",
        "if high > 0 and low < 0:",
        ("tests/kernel/test_audit_channel.py",),
    ),
    Mutation(
        "one bit with the square of the value",
        "weight: Codes = scaled.astype(np.int64)",
        "weight: Codes = (scaled * scaled / self.span).astype(np.int64)",
        (
            "tests/families/mean/test_mean_exact.py",
            "tests/families/mean/test_mean_clients.py",
        ),
    ),
    Mutation(
        "offset of a bit with the wrong sign",
        "return Fraction(self.domain.low) - self.slope * self._start",
        "return Fraction(self.domain.low) + self.slope * self._start",
        ("tests/families/mean/test_mean_exact.py",),
    ),
    Mutation(
        "table searched from the left",
        'np.searchsorted(row, uniform[index], side="right")',
        'np.searchsorted(row, uniform[index], side="left")',
        ("tests/kernel/test_sampling.py",),
    ),
    Mutation(
        "steps never rounded up",
        "np.minimum(whole.astype(np.int64) + up, self.precision)",
        "np.minimum(whole.astype(np.int64), self.precision)",
        ("tests/families/shuffle/test_shuffle_sums.py",),
    ),
    Mutation(
        "noise of Laplace of half the scale",
        "noise *= self.scale",
        "noise *= self.scale / 2",
        (LAWS,),
    ),
    Mutation(
        "square wave's window too narrow",
        "within *= window / self.inside",
        "within *= 0.9 * window / self.inside",
        (LAWS,),
    ),
    Mutation(
        "support counted against the wrong chance",
        "value = (counts / users - float(self.other)) / gain",
        "value = (counts / users - float(self.own)) / gain",
        ("tests/families/marginals/test_oracles.py",),
    ),
    Mutation(
        "fourth moment for the third",
        "(1 - chance) * low**power) for power in (2, 3, 4)",
        "(1 - chance) * low**power) for power in (2, 4, 3)",
        (
            "tests/families/marginals/test_oracle_coverage.py",
            "tests/kernel/test_intervals.py",
            "tests/families/shuffle/test_shuffle_intervals.py",
        ),
    ),
    Mutation(
        "interval of one side only",
        "return (1.0 - checked) / (2.0 * tests)",
        "return (1.0 - checked) / tests",
        (
            "tests/kernel/test_intervals.py",
            "tests/kernel/test_coverage_at_extremes.py",
        ),
    ),
    Mutation(
        "repair mixes nothing in",
        "amount = min(1.0, mixing + extra)",
        "amount = min(1.0, extra)",
        ("tests/kernel/test_repair.py",),
    ),
    Mutation(
        "Schoenheim rounded down",
        "bound = -(-(points - left) * bound // (block - left))",
        "bound = (points - left) * bound // (block - left)",
        ("tests/families/marginals/test_covering_bounds.py",),
    ),
    Mutation(
        "proven bound rounded inwards",
        "return float(terms.sum()) + slack",
        "return float(terms.sum()) - slack",
        ("tests/solvers/test_linear.py",),
    ),
    Mutation(
        "a trend that falls counts as rising",
        "return bool((numbers >= np.maximum.accumulate(numbers) - slack).all())",
        "return bool((numbers >= np.minimum.accumulate(numbers) - slack).all())",
        ("tests/catalog/test_judge.py",),
    ),
    Mutation(
        "a gap with its sign",
        "return abs(self.value - self.bound)",
        "return self.value - self.bound",
        (
            "tests/kernel/test_compare.py",
            "tests/families/response/test_geometric.py",
        ),
    ),
    Mutation(
        "a heuristic claims the optimum",
        'return self.status == "optimal" and self.kind != "heuristic"',
        'return self.status == "optimal"',
        (
            "tests/kernel/test_compare.py",
            "tests/kernel/test_certificate.py",
            "tests/catalog/test_check.py",
        ),
    ),
    Mutation(
        "worst input of a grid at the left knot",
        "peaks = np.clip(0.5 + slopes / 2.0, self.knots[:-1], self.knots[1:])",
        "peaks = self.knots[:-1]",
        ("tests/families/mean/test_mean_exact.py", "tests/families/mean/test_mean_variance.py"),
    ),
    Mutation(
        "an empty server gives an estimate",
        'if self.users == 0:\n            raise DataError("reports", "there are none", self.nothing)',
        'if self.users < 0:\n            raise DataError("reports", "there are none", self.nothing)',
        ("tests/kernel/test_aggregator.py",),
    ),
    Mutation(
        "the first of two columns with own reports is taken",
        "    if len(mine) == 1:\n        require_columns(source, mine)",
        "    if mine:\n        require_columns(source, mine[:1])",
        ("tests/kernel/test_table_columns.py", "tests/kernel/test_tables.py"),
    ),
    Mutation(
        "squares of the truth counted twice",
        "squares = self.events**2\n        return [(slope",
        "squares = 2.0 * self.events**2\n        return [(slope",
        ("tests/families/workload/test_event_counts.py", "tests/families/workload/test_workload_limits.py"),
    ),
    Mutation(
        "no floor below the squares of reports",
        "np.clip(square, lowest, np.maximum(np.interp(mean, knots, most), lowest))",
        "np.minimum(square, np.maximum(np.interp(mean, knots, most), lowest))",
        ("tests/kernel/test_intervals.py", "tests/families/workload/test_workload_limits.py"),
    ),
    Mutation(
        "half the width of a quantile's interval",
        "maybe = limits.reach(share - value, tail)\n",
        "maybe = limits.reach(2.0 * (share - value), tail)\n",
        ("tests/families/workload/test_workload_limits.py",),
    ),
    Mutation(
        "many users searched from the left",
        'np.searchsorted(ends, uniform[users], side="right")',
        'np.searchsorted(ends, uniform[users], side="left")',
        ("tests/families/workload/test_workload_limits.py",),
    ),
    Mutation(
        "a protocol that cannot send less is asked to",
        "is_deaf = requirements.max_messages is not None and",
        "is_deaf = requirements is None and",
        ("tests/families/shuffle/test_protocol_choice.py",),
    ),
)


def passes(folder: Path, tests: tuple[str, ...]) -> tuple[bool, str]:
    """Run tests until the first that fails; return whether all passed, and which failed."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", *tests]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return False, "hangs"
    if done.returncode not in (0, 1):
        return False, "error: " + done.stdout[-300:].replace("\n", " ")
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return done.returncode == 0, failed[0].split(" - ")[0].partition("::")[2] if failed else ""


def judged(mutation: Mutation, folder: Path) -> str:
    """Return what became of a mistake."""
    path = mutation.place(folder)
    if path is None:
        return "NOT FOUND: the text is not there exactly once; choose another"
    before, why = passes(folder, mutation.tests)
    if not before:
        return f"NOT TESTED: the tests fail without the mistake ({why})"
    right = path.read_text(encoding="utf-8")
    path.write_text(right.replace(mutation.text, mutation.wrong), encoding="utf-8")
    try:
        survived, failed = passes(folder, mutation.tests)
    finally:
        path.write_text(right, encoding="utf-8")
    return "SURVIVES" if survived else f"noticed by {failed}"


def main(words: list[str]) -> int:
    """Try the mistakes and print one line each."""
    chosen = [item for item in MUTATIONS if not words or any(word in item.name for word in words)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in COPIED:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, folder / part)
        missed = 0
        for mutation in chosen:
            start = time.monotonic()
            outcome = judged(mutation, folder)
            missed += not outcome.startswith("noticed")
            print(f"{mutation.name}: {outcome} ({time.monotonic() - start:.0f} s)", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} mistakes are noticed")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
