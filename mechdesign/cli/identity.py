"""The survey that a mechanism file is for: its identity, when it is built, replaced or lacking.

Weak guarantees: a line about a delta above 0.01 or an epsilon above 4; above 10 the user has to insist.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from mechdesign.core.errors import MechDesignError, ParameterError

if TYPE_CHECKING:
    from mechdesign.collect import Mechanism


def identity_option(build: argparse.ArgumentParser) -> None:
    """Add ``--id``."""
    build.add_argument(
        "--id",
        metavar="TEXT",
        help="the identity of the survey, or of its wave, which keeps its reports apart (default: drawn)",
    )


def outgoing(
    mechanism: Mechanism,
    path: str,
    inputs: list[str],
    force: bool,
    identity: str = "",
    anyway: bool = False,
) -> Mechanism:
    """Return the mechanism with an identity, when the file may be written.

    The survey that the file holds already, with the same texts, keeps its identity. Another one is replaced
    only by force, and that is said.

    Parameters
    ----------
    mechanism : Mechanism
        With title and question.
    path : str
        The mechanism file.
    inputs : list of str
        What the command reads.
    force : bool
        Whether an existing file may be replaced.
    identity : str
        The identity that was requested; empty for none.
    anyway : bool
        Whether another survey of the folder may have this identity, whose reports then cannot be told apart.
    """
    from mechdesign.data.outputs import require_output

    before = _survey_in(path)
    again = before is not None and _is_same(mechanism, before) and identity in ("", before.about.id)
    require_output(path, inputs, force, lambda: again)
    about = mechanism.about
    identity_text = before.about.id if again and before is not None else identity or None
    result = mechanism.described(about.title, about.question, about.users, identity_text)
    if identity:
        _require_own_identity(result, path, anyway)
    if before is not None and before.about.id not in ("", result.about.id):
        print(
            f"mechdesign: {path}: {before.about.survey} was replaced; its reports can only be estimated with "
            f"its own file: build with --id {before.about.id} to go on with it",
            file=sys.stderr,
        )
    return result


def _survey_in(path: str) -> Mechanism | None:
    """Return the mechanism that stands in a file; None where there is none."""
    from mechdesign.collect import load_mechanism

    if not os.path.isfile(path):
        return None
    with suppress(MechDesignError):
        return load_mechanism(path)
    return None


def _is_same(mechanism: Mechanism, before: Mechanism) -> bool:
    """Whether two mechanisms are for one survey: they draw the same, and people read the same."""
    is_alike = before.fingerprint == mechanism.fingerprint and _words(before) == _words(mechanism)
    return bool(before.about.id) and is_alike


def _words(mechanism: Mechanism) -> tuple[object, ...]:
    """Return by what people tell surveys and waves apart: other texts are mended without a new identity."""
    about = mechanism.about
    questions = [(question.name, question.text) for question in about.questions]
    return about.title, about.question, questions, about.wave, [wave.id for wave in about.earlier]


ABOUT_BYTES = 1 << 20
"""What a file says about its survey stands in its last bytes: texts, also of other languages."""


def _require_own_identity(mechanism: Mechanism, path: str, anyway: bool) -> None:
    """Refuse an identity that other files of the folder have for the same reports with other texts.

    Raises
    ------
    ParameterError
        Unless the user insists; then it is said.
    """
    others = [
        other
        for other in _files_with(mechanism.about.id, os.path.dirname(path) or ".")
        if (before := _survey_in(other)) is not None
        and before.survey_digest == mechanism.survey_digest
        and _reads(before) != _reads(mechanism)
    ]
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        what = (
            f"{others[0]}{more} had the identity {mechanism.about.id} with another title, question or "
            "column: their reports cannot be told apart"
        )
        if not anyway:
            remedy = "give this survey or wave an identity of its own, or insist"
            raise ParameterError(path, what, remedy, "anyway")
        print(f"mechdesign: {path}: {what}", file=sys.stderr)


def _files_with(identity: str, folder: str) -> list[str]:
    """Return the mechanism files of a folder that may have an identity, in the order of their names."""
    result = []
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if not entry.name.endswith(".json") or not entry.is_file():
            continue
        with suppress(OSError), open(entry.path, "rb") as file:
            file.seek(max(0, entry.stat().st_size - ABOUT_BYTES))
            if f'"{identity}"'.encode() in file.read(ABOUT_BYTES):
                result.append(os.path.relpath(entry.path) if folder == "." else entry.path)
    return result


def _reads(mechanism: Mechanism) -> tuple[object, ...]:
    """Return by what people tell surveys apart."""
    return *_words(mechanism), mechanism.data_columns


def note_lack(mechanism: Mechanism, path: str) -> None:
    """Print, as a remark, what the lack of an identity means; nothing where the file has one."""
    if lack := without_identity(mechanism, path):
        print(f"mechdesign: {lack}", file=sys.stderr)


def note_other_texts(mechanism: Mechanism, path: str, title: str, question: str) -> None:
    """Print that a page with other texts than its file's is for the same survey all the same."""
    about = mechanism.about
    for text, own, option in ((question, about.question, "--question"), (title, about.title, "--title")):
        if text and own and text != own:
            print(
                f"mechdesign: {path}: {option}: the file has '{own}', and a page with another text is of the "
                f"same survey: for another one, build a file with this {option}",
                file=sys.stderr,
            )


def without_identity(mechanism: Mechanism, path: str) -> str:
    """Return what to say of a mechanism file without the identity of a survey; empty where it has one.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> print(without_identity(KaryResponse.of(3, 1.0), "mood.json"))
    mood.json: has no survey identity (it was saved without one, or built by an earlier release): reports ...
    """
    if mechanism.about.id:
        return ""
    return (
        f"{path}: has no survey identity (it was saved without one, or built by an earlier release): reports "
        "of two surveys with the same answers and guarantee cannot be told apart; build it for the next one"
    )


LEAKY = 1e-2
"""A delta above which a line says what it permits."""


def anyway_option(added: argparse.ArgumentParser) -> None:
    """Add ``--anyway``."""
    added.add_argument(
        "--anyway",
        action="store_true",
        help="write the file although epsilon is above 10 (no protection) or another survey has the identity",
    )


def require_protection(where: str, mechanism: Mechanism, anyway: bool) -> None:
    """Print a line for a weak guarantee or a large delta; raise ParameterError for one that protects nobody.

    What counts is the epsilon of all that the collector sees of a user.
    """
    from mechdesign.core.validation import probability_text
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
        raise ParameterError(where, what, "set a smaller epsilon, or insist", "anyway")
    weak = "does not protect the answer" if epsilon > CERTAIN else "protects little"
    print(f"mechdesign: {where}: epsilon = {epsilon:.6g} {weak}: {limit}", file=sys.stderr)
