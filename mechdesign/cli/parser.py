"""The parser of all commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache
from typing import NoReturn

from mechdesign.cli import (
    accounts,
    counting,
    demo,
    drafts,
    exports,
    mechanisms,
    models,
    pages,
    sources,
    tables,
)
from mechdesign.cli.options import Parser
from mechdesign.core.version import installed_version


class _Version(argparse.Action):
    """Print the version, which is looked up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(f"mechdesign {installed_version()}")
        parser.exit()


@cache
def parser(first: str = "") -> argparse.ArgumentParser:
    """Return the parser; each command sets ``run``, a function of the parsed options.

    Where ``first``, the first word of the command line, is a command, the parser has that command alone: the
    others take longer to make than many a command runs. Otherwise it has all, for the help and the errors.
    Each is made once a process. Parsing leaves it as it was; lists of values are copied before a value is
    appended.
    """
    main = Parser(
        prog="mechdesign", description="Provably best mechanisms for collecting data under privacy."
    )
    main.add_argument("--version", action=_Version, nargs=0, help="show program's version number and exit")
    commands = main.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=Parser)

    def command(
        name: str,
        run: Callable[[argparse.Namespace], int],
        summary: str,
        add_options: Callable[[argparse.ArgumentParser], None],
    ) -> None:
        if first in ("", name):
            added = commands.add_parser(name, help=summary, description=summary)
            added.set_defaults(run=run)
            add_options(added)

    demo.add_commands(command)
    models.add_commands(command)
    mechanisms.add_commands(command)
    counting.add_commands(command)
    accounts.add_commands(command)
    drafts.add_commands(command)
    exports.add_commands(command)
    pages.add_commands(command)
    sources.add_commands(command)
    tables.add_commands(command)
    return main if commands.choices else parser()
