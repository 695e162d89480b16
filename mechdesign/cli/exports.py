"""The command ``export``: a client, a page for respondents or test vectors, made from a mechanism file."""

from __future__ import annotations

import argparse

from mechdesign.cli.identity import note_lack, note_other_texts
from mechdesign.cli.options import FINE, AddCommand

KINDS = ("html", "js", "python", "r", "schema", "vectors")


def add_commands(command: AddCommand) -> None:
    """Add this command to the parser."""
    command("export", _export, "write a client that randomizes on the respondent's own device", _options)


def _options(added: argparse.ArgumentParser) -> None:
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
        "--post", default="", metavar="URL", help="where the page sends reports (default: a file to download)"
    )


def _export(options: argparse.Namespace) -> int:
    from mechdesign.collect import load_mechanism
    from mechdesign.core.errors import MethodError
    from mechdesign.data.outputs import require_output
    from mechdesign.export import ExportSettings, export
    from mechdesign.work.files import whole_file

    mechanism = load_mechanism(options.mechanism)
    title, question = options.title or mechanism.about.title, options.question or mechanism.about.question
    settings = ExportSettings(title, question, options.post)
    try:
        text = export(mechanism, options.to, settings)
    except MethodError as error:
        raise error.within(options.mechanism) from None
    require_output(options.output, [options.mechanism], options.force)
    with whole_file(options.output, MethodError) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print(f"{options.output}: {options.to}, fingerprint {mechanism.fingerprint}")
    if options.to != "schema":
        note_lack(mechanism, options.mechanism)
        note_other_texts(mechanism, options.mechanism, options.title, options.question)
    return FINE
