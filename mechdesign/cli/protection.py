"""Weak guarantees: a line about a delta above 0.01 or an epsilon above 4; above 10 the user has to insist."""

from __future__ import annotations

import argparse
import math
import sys
from typing import TYPE_CHECKING

from mechdesign.core.errors import ParameterError

if TYPE_CHECKING:
    from mechdesign.collect import Mechanism

LEAKY = 1e-2
"""A delta above which a line says what it permits."""


def anyway_option(added: argparse.ArgumentParser) -> None:
    """Add ``--anyway``."""
    added.add_argument(
        "--anyway", action="store_true", help="write the file although epsilon is above 10: no protection"
    )


def require_protection(where: str, mechanism: Mechanism, anyway: bool) -> None:
    """Print a line for a weak guarantee or a large delta; raise ParameterError for one that protects nobody.

    What counts is the epsilon of all that the collector sees of a user.
    """
    from mechdesign.exact.decimals import probability_text
    from mechdesign.export.disclosure import CERTAIN, WEAK, at_most, collected_levels

    epsilon, delta = collected_levels(mechanism)
    if delta > LEAKY:
        share = f"{min(100.0, math.ceil(1000.0 * delta) / 10.0):g}"
        print(
            f"mechdesign: {where}: delta = {probability_text(delta)}: up to {share} of 100 reports may show "
            "the answer of their user in full; set delta below 1 / number of users, such as 1e-6",
            file=sys.stderr,
        )
    if epsilon is None or epsilon <= WEAK:
        return
    sure = f"is {at_most(epsilon)} sure of one afterwards"
    if delta:  # no bound holds for every report
        sure = f"guesses the right one with a probability of {at_most(epsilon, delta)}"
    limit = f"someone who thinks two answers equally likely {sure}"
    if epsilon > CERTAIN and not anyway:
        what = f"epsilon = {epsilon:.6g}: a report can show the answer with practical certainty ({limit})"
        raise ParameterError(where, what, "set a smaller epsilon, or insist", "anyway").for_shell()
    weak = "does not protect the answer" if epsilon > CERTAIN else "protects little"
    print(f"mechdesign: {where}: epsilon = {epsilon:.6g} {weak}: {limit}", file=sys.stderr)
