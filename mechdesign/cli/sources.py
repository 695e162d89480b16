"""The command ``sources``: every item of the sources, with its verdict and its place in the software."""

from __future__ import annotations

import argparse

from mechdesign.cli.options import FINE, AddCommand, print_json


def add_commands(command: AddCommand) -> None:
    """Add the command to the parser."""
    command("sources", _sources, "list every item of the sources, where it is here and its verdict", _options)


def _options(listing: argparse.ArgumentParser) -> None:
    listing.add_argument(
        "source", nargs="?", help="only this source, such as liu2023; by default an overview"
    )
    listing.add_argument("--json", action="store_true", help="print JSON, an object for each item")


def _sources(options: argparse.Namespace) -> int:
    from mechdesign.core.text import terminal_width
    from mechdesign.papers.claims.sources import source, sources
    from mechdesign.papers.shown.sources import overview, source_rows, source_text

    found = [source(options.source)] if options.source else list(sources())
    if options.json:
        print_json(source_rows(found))
    elif options.source:
        print(source_text(found[0], terminal_width()))
    else:
        print(overview(found, terminal_width()))
    return FINE
