"""The parser of all commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import NoReturn

from mechdesign.cli.options import Parser
from mechdesign.core.extensions import installed_version

MODULES = {
    "demo": "demo",
    "models": "list show solve compare check findings sweep tradeoff",
    "mechanisms": "choose build audit randomize estimate run",
    "counting": "count merge",
    "accounts": "ledger",
    "drafts": "init",
    "exports": "export",
    "pages": "report",
    "sources": "sources",
    "tables": "table",
}
"""The modules of the commands in the order of the help, each with the commands that it adds."""


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
    homes = [module for module, names in MODULES.items() if first in names.split()]
    if first and not homes:
        return parser()
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

    for module in homes or MODULES:
        import_module(f"mechdesign.cli.{module}").add_commands(command)
    return main
