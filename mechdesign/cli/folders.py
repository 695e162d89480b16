"""Commands that write files to start from: the demonstration, a draft of a survey, clients."""

from __future__ import annotations

import argparse
import os

from mechdesign.cli.identity import note_lack, note_other_texts
from mechdesign.cli.parser import FINE, MISMATCH, AddCommand, form_of, form_options, number_text, print_json
from mechdesign.core.errors import ParameterError


def add_commands(command: AddCommand) -> None:
    """Add the commands to the parser."""
    command(
        "demo",
        _demo,
        "run a survey, an auction and six design problems on shipped data, and write a page",
        _demo_options,
    )
    command(
        "init",
        _init,
        "write a commented survey file: an example, or from a file's header and a codebook",
        _init_options,
    )
    command(
        "export", _export, "write a client that randomizes on the respondent's own device", _export_options
    )


def _init_options(init: argparse.ArgumentParser) -> None:
    init.add_argument("data", metavar="DATA", nargs="?", help="CSV with a header line, Excel, or Parquet")
    init.add_argument("--example", choices=EXAMPLES, help="write a complete survey file to start from")
    init.add_argument(
        "--codebook", metavar="FILE", help="CSV or TOML: the possible answers, known without the data"
    )
    init.add_argument(
        "--private", action="store_true", help="read no values: names and types have to do without a codebook"
    )
    form_options(init)
    init.add_argument("--column", action="append", help="which column to ask; all by default")
    init.add_argument("--title", help="of the survey")
    init.add_argument("--epsilon", type=number_text, default=2.0, help="the privacy of a user (default 2)")
    init.add_argument("--users", type=int, default=10_000, metavar="N", help="expected number of respondents")
    init.add_argument("-o", "--output", required=True, metavar="FILE.toml", help="the model file")
    init.add_argument("--force", action="store_true", help="replace an existing file")


EXAMPLES = ("staff",)
"""Survey files that are shipped to start from."""


def _write_example(options: argparse.Namespace) -> int:
    """Write a complete survey file, to be changed."""
    from mechdesign.core.errors import ModelFileError
    from mechdesign.core.extensions import packaged_text
    from mechdesign.data.outputs import require_output
    from mechdesign.work.files import whole_file

    for name in ("data", "codebook", "private", "column", "title"):
        if getattr(options, name):
            where = "DATA" if name == "data" else f"--{name}"
            raise ParameterError(where, "is not for --example, which reads no file", "omit it")
    require_output(options.output, [], options.force)
    text = packaged_text("mechdesign.report", "examples", f"{options.example}.toml")
    name = os.path.basename(options.output).removesuffix(".toml")
    text = text.replace("staff2027.json", f"{name}2027.json").replace("staff.", f"{name}.")
    with whole_file(options.output, ModelFileError) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print(f"{options.output}: the example '{options.example}'; change it, then build it")
    return FINE


def _init(options: argparse.Namespace) -> int:
    from mechdesign.core.errors import ModelFileError, counted
    from mechdesign.core.validation import privacy_epsilon, user_count
    from mechdesign.data.outputs import require_output
    from mechdesign.report.draft import draft
    from mechdesign.work.files import whole_file

    if not options.output.endswith(".toml"):
        raise ParameterError(f"-o {options.output}", "is not a name of a model", "end it in .toml")
    if options.example is not None:
        return _write_example(options)
    if options.data is None:
        raise ParameterError("DATA", "is missing", "name a file of answers, or write --example staff")
    inputs = [options.data] if options.codebook is None else [options.data, options.codebook]
    require_output(options.output, inputs, options.force)
    epsilon, users = privacy_epsilon(options.epsilon, "--epsilon"), user_count(options.users)
    if epsilon == 0.0:
        raise ParameterError("--epsilon", "with 0 reports contain no information", "give a larger one")
    survey_draft = draft(
        options.data, options.column or [], options.codebook, options.private, form_of(options)
    )
    text = survey_draft.text(
        options.title or f"Survey of {os.path.basename(options.data)}", epsilon, users, options.output
    )
    _require_model(text)
    with whole_file(options.output, ModelFileError) as temporary:
        temporary.write_text(text, encoding="utf-8")
    number = len(survey_draft.questions) - len(survey_draft.left_out)
    known = len(survey_draft.of_source("codebook"))
    print(f"{options.output}: {counted(number, 'question')}, of which {known} from a codebook")
    for what, names in (
        ("to be completed, nothing but name and type is known", survey_draft.of_source("type")),
        ("omitted", survey_draft.left_out),
        ("in the codebook, but no column is asked for", list(survey_draft.unused)),
    ):
        if names:
            print(f"  {what}: {_named(names)}")
    if survey_draft.looked_at:
        read = _named(survey_draft.looked_at)
        print(f"  PRIVACY: the users' answers were read for {read}; labels and ranges from them")
        print("  reveal something that epsilon does not cover: prefer --codebook, or --private")
    return FINE


def _require_model(text: str) -> None:
    """Raise an error of the toolkit where the drafted survey would not load."""
    from pathlib import Path

    from mechdesign.catalog.survey_file import survey_statement
    from mechdesign.core.fields import problem_from
    from mechdesign.families import problem_class
    from mechdesign.work.files import parse_toml

    statement = survey_statement(Path("the draft"), parse_toml(text))
    problem_from(problem_class(statement.problem), statement.parameters)


def _named(names: list[str]) -> str:
    from mechdesign.core.errors import printable

    most = 8
    text = ", ".join(printable(name) for name in names[:most])
    return text + (f" and {len(names) - most} more" if len(names) > most else "")


KINDS = ("html", "js", "python", "r", "schema", "texts", "vectors")


def _export_options(added: argparse.ArgumentParser) -> None:
    added.add_argument("mechanism", metavar="MECHANISM", help="a file written by build")
    added.add_argument("--to", required=True, choices=KINDS, help="what to write")
    added.add_argument("-o", "--output", required=True, metavar="FILE", help="where to write it")
    added.add_argument("--force", action="store_true", help="replace an existing file")
    added.add_argument(
        "--title", default="", metavar="TEXT", help="the heading of the page (default: the file's)"
    )
    added.add_argument(
        "--question", default="", metavar="TEXT", help="question on the page (default: the file's)"
    )
    added.add_argument(
        "--language",
        default="",
        metavar="LANG",
        help="language of the page: en, de, fr, es, it or zh (default: the survey's)",
    )
    added.add_argument(
        "--texts", default="", metavar="FILE", help="all sentences of the page, as --to texts writes them"
    )
    added.add_argument(
        "--post", default="", metavar="URL", help="where the page sends reports (default: a file to download)"
    )
    added.add_argument(
        "--shared",
        action="store_true",
        help="a page for a device that many people use: nothing is stored, with a button for the next person",
    )


def _export(options: argparse.Namespace) -> int:
    from mechdesign.collect import load_mechanism
    from mechdesign.core.errors import MethodError
    from mechdesign.data.outputs import require_output
    from mechdesign.export import ExportSettings, export
    from mechdesign.work.files import whole_file

    mechanism = load_mechanism(options.mechanism)
    if options.shared and options.to != "html":
        raise ParameterError("--shared", f"is for a page, not for {options.to}", "use --to html")
    texts = None
    if options.texts:
        from mechdesign.export.texts import texts_from_file

        texts = texts_from_file(options.texts).as_json()
    settings = ExportSettings(
        options.title, options.question, options.post, options.language, texts, options.shared
    )
    try:
        text = export(mechanism, options.to, settings)
    except MethodError as error:
        raise error.within(options.mechanism) from None
    require_output(options.output, [options.mechanism], options.force)
    with whole_file(options.output, MethodError) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print(f"{options.output}: {options.to}, fingerprint {mechanism.fingerprint}")
    if options.to not in ("schema", "texts"):
        note_lack(mechanism, options.mechanism)
        note_other_texts(mechanism, options.mechanism, options.title, options.question)
    return FINE


FOLDER = "mechdesign-demo"


def _demo_options(demo: argparse.ArgumentParser) -> None:
    demo.add_argument(
        "-o", "--output", metavar="FOLDER", default=FOLDER, help=f"folder to write (default {FOLDER})"
    )
    demo.add_argument("--json", action="store_true", help="print JSON")


def _demo(options: argparse.Namespace) -> int:
    from mechdesign.core.extensions import installed_version
    from mechdesign.data.outputs import whole_folder
    from mechdesign.report.demo.folder import (
        PAGE,
        can_draw,
        demo_json,
        demo_text,
        finish,
        require_demo_folder,
    )
    from mechdesign.report.demo.running import DEMONSTRATIONS, Demonstrated, demonstrate
    from mechdesign.show.draw import Painter
    from mechdesign.survey.demonstration import demonstrate_survey

    require_demo_folder(options.output)
    with whole_folder(options.output) as work, Painter(None if can_draw() else 1) as painter:
        survey = demonstrate_survey(work, options.output)
        painter.begin(survey.figures, narrow=True)
        results: list[Demonstrated] = []
        for demonstration in DEMONSTRATIONS:
            results.append(demonstrate(demonstration, work))
            painter.begin(results[-1].figures)
        files = finish(results, work, options.output, installed_version(), survey, painter)
    if options.json:
        print_json(demo_json(results))
    else:
        print(f"{demo_text(results, survey)}\n\n{options.output}: {', '.join(files)}")
        if can_draw():
            print(f"open {options.output}/{PAGE} in a browser; it has the pictures and every command")
        else:
            print("no pictures and no page: they need pip install 'mechdesign[report]'")
    return FINE if all(result.passed for result in results) else MISMATCH
