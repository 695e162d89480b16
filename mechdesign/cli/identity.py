"""The survey that a mechanism file is for: its identity and its wave, when it is built, replaced or lacking.

Weak guarantees: a line about a delta above 0.01 or an epsilon above 4; above 10 the user has to insist.

Waves: ``build --wave``, and ``estimate`` of reports of several waves.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mechdesign.cli.accounts import is_mechanism_file
from mechdesign.cli.parser import FINE, FigureOutput, print_json
from mechdesign.core.errors import DataError, MechDesignError, ParameterError, counted, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from mechdesign.collect import Mechanism
    from mechdesign.data.about import About


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


MOST_NAMED = 6

OTHER_CHOICES = "people have other choices than before, so a change is not only a change of minds"
"""What a note says of a question whose answers are not those of the wave before."""


def wave_options(build: argparse.ArgumentParser) -> None:
    """Add ``--wave`` and ``--after``."""
    build.add_argument(
        "--wave",
        metavar="NAME",
        help="build another wave of a survey: the same questions, with an identity of its own, such as 2027",
    )
    build.add_argument(
        "--after",
        metavar="FILE",
        help="mechanism file of the wave before (default: that with these questions in the output's folder)",
    )


def wave_identity(options: argparse.Namespace, stated: str) -> str:
    """Return the identity of what is built: as requested, else as stated; of a further wave with its name."""
    if options.id or not options.wave or not stated:
        return options.id or stated
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in options.wave)
    return f"{stated}-{name}"


def linked(mechanism: Mechanism, options: argparse.Namespace) -> Mechanism:
    """Return the mechanism as the wave after another one, where it is one; that is said in a line.

    The wave before is the file that is named, else the last wave with these questions in the folder of the
    output. A wave that only the model file names is the first one where there is no earlier one.
    """
    from mechdesign.data.about import text_line

    name = text_line("--wave", options.wave or "") or mechanism.about.wave
    output = options.output
    if options.wave is not None and not options.wave.strip():
        raise ParameterError("--wave", "is empty", "give the wave a name, such as --wave 2027")
    if options.after is not None and not name:
        raise ParameterError(f"--after {options.after}", "the wave has no name", "give it one: --wave 2027")
    if not name:
        return mechanism
    path = options.after or _wave_before(mechanism, name, options)
    if path is None:
        return mechanism
    if os.path.exists(output) and os.path.exists(path) and os.path.samefile(path, output):
        raise ParameterError(
            f"-o {output}", "is the file of the wave before, which its reports need", "name another file"
        )
    from mechdesign.collect import load_mechanism
    from mechdesign.core.values import changed
    from mechdesign.survey.waves import next_wave, other_answers

    before = load_mechanism(path)
    try:
        fresh = mechanism.with_about(changed(mechanism.about, wave=""))
        result = next_wave(fresh, name, before)
    except ParameterError as error:
        where = {"wave": f"--wave {name:.60}", "id": "--id"}.get(error.where, error.where)
        raise error.changed(where=f"{path}: {where}") from None
    note = _other_questions(mechanism, before, path)
    clauses = other_answers(mechanism, before)
    earlier = f"wave {before.about.wave}" if before.about.wave else before.about.survey
    print(f"mechdesign: {output}: wave {name}, after {path} ({earlier})", file=sys.stderr)
    if note:
        print(f"mechdesign: note: {printable(note)}", file=sys.stderr)
    for clause in clauses[:MOST_NAMED]:
        print(f"mechdesign: note: {printable(clause)}: {OTHER_CHOICES}", file=sys.stderr)
    if len(clauses) > MOST_NAMED:
        print(f"mechdesign: note: so it is of {len(clauses) - MOST_NAMED} more questions", file=sys.stderr)
    return result


def _wave_before(mechanism: Mechanism, name: str, options: argparse.Namespace) -> str | None:
    """Return the last wave with these questions in the folder of the output; None where this is the first."""
    folder = os.path.dirname(options.output) or "."
    files = dict(_waves_in(folder, mechanism, options.output))
    chained = {wave.id for about in files.values() for wave in about.earlier}
    ends = [path for path, about in files.items() if about.id not in chained]
    names = {wave for about in files.values() for wave in (about.wave, *(one.wave for one in about.earlier))}
    if len({files[path].id for path in ends}) == 1 and (options.wave or name not in names):
        return ends[0]
    if len(ends) > 1 and (options.wave or name not in names):
        listed = ", ".join(ends[:MOST_NAMED])
        what = f"{listed} have these questions, and are not waves of each other"
        raise ParameterError(f"--wave {name:.60}", what, "name the wave before: --after FILE")
    if options.wave:
        what = f"{folder} has no file of an earlier wave with these questions"
        remedy = f'name it with --after FILE; the first wave is named in the model file, wave = "{name}"'
        raise ParameterError(f"--wave {name:.60}", what, remedy)
    return None


def _waves_in(folder: str, mechanism: Mechanism, output: str) -> list[tuple[str, About]]:
    """Return the mechanism files of a folder with an identity and these questions, but for the output."""
    from mechdesign.data.about import About
    from mechdesign.work.files import parse_json, read_text

    result = []
    if not os.path.isdir(folder):
        return []
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if not entry.name.endswith(".json") or not entry.is_file() or not is_mechanism_file(entry.path):
            continue
        path = entry.name if folder == "." else entry.path
        if os.path.exists(output) and os.path.samefile(path, output):
            continue
        with suppress(MechDesignError, ValueError, RecursionError, OSError, TypeError):
            document = parse_json(read_text(path, LARGEST, DataError))
            about = About.from_json(document.get("about", {}), document["version"])
            if about.id and _asked(about) == _asked(mechanism.about):
                result.append((path, about))
    return result


LARGEST = 1 << 26
"""Larger mechanism files of a folder are not searched for an earlier wave."""


def _asked(about: About) -> object:
    """Return what is asked; of a survey without texts its title."""
    questions = [(one.name, one.text) for one in about.questions]
    return (about.question, questions) if about.question or questions else about.title


def _other_questions(mechanism: Mechanism, before: Mechanism, path: str) -> str:
    """Return which questions only one of two waves has; raise ParameterError where they share none."""
    now, then = set(_columns(mechanism)), set(_columns(before))
    if now and then and not now & then:
        raise ParameterError(path, "asks none of these questions", "name the wave before: --after FILE")
    others = [
        f"only {which} has {', '.join(sorted(names)[:MOST_NAMED])}"
        for which, names in (("the new wave", now - then), ("the earlier one", then - now))
        if names and now and then
    ]
    return f"{'; '.join(others)}: changes are estimated for the other questions" if others else ""


def _columns(mechanism: Mechanism) -> tuple[str, ...]:
    return mechanism.data_columns or tuple(question.name for question in mechanism.about.questions)


def is_of_waves(options: argparse.Namespace) -> bool:
    """Whether ``estimate`` is given mechanism files among its reports."""
    return any(map(_is_mechanism, options.inputs))


def _is_mechanism(path: str) -> bool:
    return path.endswith(".json") and is_mechanism_file(path)


def estimate_waves(options: argparse.Namespace, execute: Callable[..., int]) -> int:
    """Estimate each wave and their changes: ``estimate first.json reports ... second.json reports ...``.

    Each wave is estimated by ``execute``, which runs an operation and hands its result over.
    """
    from mechdesign.collect import load_mechanism
    from mechdesign.core.values import encode
    from mechdesign.data.outputs import RESULTS, require_output, require_suffix
    from mechdesign.report.tables import write_results
    from mechdesign.survey.waves import wave_estimates

    if options.grid:
        raise ParameterError("--grid", "is for one survey", "estimate each wave alone")
    groups = wave_groups([options.mechanism, *options.inputs])
    if options.output is not None:
        require_suffix(options.output, RESULTS)
        require_output(options.output, [path for group in groups for path in group], options.force)
    picture = None
    if options.figure is not None:
        picture = FigureOutput(options, [path for group in groups for path in group], options.output)
    mechanisms: list[Mechanism] = []
    results: list[Any] = []
    for file, *reports in groups:
        mechanism = load_mechanism(file)
        own = argparse.Namespace(**vars(options))
        own.mechanism, own.inputs, own.output, own.figure = file, reports, None, None
        execute(own, mechanism, results.append)
        mechanisms.append(mechanism)
    try:
        estimates = wave_estimates(mechanisms, results, bool(options.population))
    except ParameterError as error:
        raise error.changed(where=", ".join(group[0] for group in groups)) from None
    if picture is not None:
        picture.write(estimates.figures(), "these results")
    if options.json:
        print_json(encode(estimates.as_json()))
    elif options.output is None:
        print(estimates)
    if options.output is not None:
        if options.output.lower().endswith(".xlsx"):
            from mechdesign.report.workbook import write_tidy

            rows = write_tidy(options.output, {"waves": estimates}, mechanisms[-1])
        else:
            rows = write_results(options.output, {"estimates": estimates.tidy()})
        print(f"{options.output}: {counted(rows, 'row')}", file=sys.stderr if options.json else sys.stdout)
    return FINE


def wave_groups(paths: list[str]) -> list[list[str]]:
    """Return each mechanism file with the reports that follow it."""
    groups: list[list[str]] = []
    for place, path in enumerate(paths):
        if place == 0 or _is_mechanism(path):
            groups.append([path])
        else:
            groups[-1].append(path)
    for group in groups:
        if len(group) == 1:
            raise ParameterError(
                group[0], "no reports follow it", "name each mechanism file before its reports"
            )
    return groups
