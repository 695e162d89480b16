"""The parser of all commands, and what they share: exit codes, options, how values are written.

Options of commands that run long: processes, cluster, cache; and the bar that follows them.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from mechdesign.core.errors import ParameterError, UnknownNameError, named_option, suggestion
from mechdesign.core.extensions import installed_version
from mechdesign.work.files import date_in, parse_toml

if TYPE_CHECKING:
    from mechdesign.collect.collecting import Option
    from mechdesign.data.text_files import FileForm

FINE, MISMATCH, BAD_INPUT = 0, 1, 2

NARROW = partial(argparse.HelpFormatter, width=80)


NEGATIVE = re.compile(r"-(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:/\d+)?\Z", re.ASCII)
"""Negative numbers as options take them: with an exponent, or a fraction."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line.

    For each option that is added, argparse makes a formatter, of which it uses neither width nor text. Only
    the help asks how wide the terminal is, as finding that out takes longer than all options.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=NARROW, **settings)
        self._negative_number_matcher = NEGATIVE  # that of argparse takes -1e-9 for an option

    def format_help(self) -> str:
        """Return the help, as wide as the terminal."""
        self.formatter_class = argparse.HelpFormatter
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Print the error and leave."""
        wrong = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if wrong:
            known = re.findall(r"[\w-]+", wrong.group(2))
            message = f"no '{wrong.group(1)}'; {suggestion(wrong.group(1), known)}"
        unknown = re.match(r"unrecognized arguments: (--[^\s=]+)", message)
        hint = suggestion(unknown.group(1), sorted(_option_names(self))) if unknown else ""
        if hint.startswith("did you mean"):
            message = f"{message}; {hint}"
        end = "" if message.endswith("?") else f"; see {self.prog} --help"
        self.exit(BAD_INPUT, f"{self.prog}: {message}{end}\n")


def _option_names(parser: argparse.ArgumentParser) -> set[str]:
    """Return the names of the options of a parser and of its commands."""
    names = {name for action in parser._actions for name in action.option_strings}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            names |= set().union(*map(_option_names, action.choices.values()))
    return names


class AddCommand(Protocol):
    """Adds a command to the parser, with its options where the parser needs them."""

    def __call__(
        self,
        name: str,
        run: Callable[[argparse.Namespace], int],
        summary: str,
        add_options: Callable[[argparse.ArgumentParser], None],
    ) -> None:
        """Add it."""


def model_options(added: argparse.ArgumentParser, several: bool = False) -> None:
    """Add the model's name, ``--set`` and ``--json``."""
    text = "a slug such as response/zhou2019_survey, or a path ending in .toml"
    text += "; a family such as response selects all its models" if several else ""
    added.add_argument("model", nargs="*" if several else None, metavar="MODEL", help=text)
    added.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="override a parameter"
    )
    added.add_argument("--json", action="store_true", help="print JSON")


def add_users(added: argparse.ArgumentParser) -> None:
    """Add ``--users``, for which the quality of the answers is forecast."""
    from mechdesign.core.values import USERS  # most commands forecast nothing

    added.add_argument(
        "--users",
        type=int,
        metavar="N",
        help=f"print the expected standard error with N users (default: the model's, else {USERS})",
    )


def shuffled_options(added: argparse.ArgumentParser) -> None:
    """Add that the reports will be shuffled, and what they then have to keep."""
    added.add_argument(
        "--shuffled",
        type=int,
        metavar="N",
        help="epsilon is that of the reports of at least N users after a trusted shuffler",
    )
    added.add_argument("--delta", type=number_text, metavar="D", help="delta of the shuffled reports")
    added.add_argument(
        "--honest", type=float, metavar="PART", help="the fraction of the N users who are honest (default 1)"
    )


def shuffled_of(options: argparse.Namespace) -> dict[str, Any] | None:
    """Return users, delta and honest of the shuffled reports as they were given; None without --shuffled."""
    if options.shuffled is None:
        for name in ("delta", "honest"):
            if getattr(options, name) is not None:
                raise ParameterError(
                    f"--{name}", "is for shuffled reports", "add --shuffled N, the number of reports"
                )
        return None
    if options.delta is None:
        raise ParameterError(
            "--shuffled", "needs --delta as well, that of the shuffled reports, such as 1e-6"
        )
    honest = 1.0 if options.honest is None else options.honest
    return {"users": options.shuffled, "delta": options.delta, "honest": honest}


def data_options(added: argparse.ArgumentParser) -> None:
    """Add where the data come from: columns, ranges, missing values."""
    added.add_argument("--column", action="append", help="column of the data, one per attribute (repeatable)")
    added.add_argument(
        "--range",
        action="append",
        nargs=2,
        type=float,
        metavar=("LOW", "HIGH"),
        help="range of the values, known without inspecting them; once, or once per column",
    )
    missing_option(added)


def missing_option(added: argparse.ArgumentParser) -> None:
    """Add ``--missing``."""
    added.add_argument(
        "--missing",
        choices=("refuse", "drop", "category"),
        help="what to do with rows without a value; 'category' counts them as the category 'missing'",
    )


def form_options(added: argparse.ArgumentParser) -> None:
    """Add what may be stated about the form of files: delimiter, decimals, encoding, sheet."""
    added.add_argument(
        "--delimiter",
        choices=("comma", "semicolon", "tab"),
        help="what separates the columns of a text file (default: recognized)",
    )
    added.add_argument(
        "--decimal",
        choices=("point", "comma"),
        help="the sign before decimals; the other one then groups thousands (default: recognized)",
    )
    added.add_argument(
        "--encoding", metavar="NAME", help="of a text file (default: UTF-8, or UTF-16 by its mark)"
    )
    added.add_argument("--sheet", metavar="NAME", help="the sheet of a workbook (default: the only one)")


def form_of(options: argparse.Namespace, mechanism: Any = None) -> FileForm:
    """Return what the options state about the form of files; the answers of a mechanism are texts in them."""
    from mechdesign.core.values import changed
    from mechdesign.data.text_files import stated_form

    form = stated_form(options.delimiter, options.decimal, options.encoding, options.sheet)
    if mechanism is None:
        return form
    from mechdesign.collect.server import alphabets_of

    labels = (label for alphabet in alphabets_of(mechanism) for label in alphabet)
    return changed(form, texts=frozenset(label for label in labels if "," in label or "." in label))


def missing_options(added: argparse.ArgumentParser) -> None:
    """Add ``--missing`` and ``--missing-code``, and the form of the files."""
    form_options(added)
    missing_option(added)
    added.add_argument(
        "--missing-code",
        action="append",
        default=[],
        metavar="TEXT",
        help="a string that stands for a missing value, such as NA; an empty field always does",
    )


def add_option(added: argparse.ArgumentParser, option: Option) -> None:
    """Add an option of an operation of a mechanism."""
    name, text = named_option(option.name).shell, option.summary
    if option.kind == "flag":
        added.add_argument(name, action="store_true", help=text, dest=option.name)
    elif option.kind == "texts":
        added.add_argument(name, action="append", help=text, dest=option.name)
    else:
        kinds = {"whole number": int, "number": float, "text": str, "path": str}
        metavar = "FILE" if option.kind == "path" else None
        added.add_argument(name, type=kinds[option.kind], help=text, dest=option.name, metavar=metavar)


def operation_options(
    added: argparse.ArgumentParser,
    options: Sequence[Option],
    inputs: tuple[str, str] | None,
    several: bool,
    output: str,
    picture: str,
) -> None:
    """Add what an operation of a mechanism reads and writes, and its own options.

    Parameters
    ----------
    added : ArgumentParser
    options : sequence of Option
        Those of the operation, whose names become ``option_names``.
    inputs : tuple of str, optional
        The word for a file that is read, and a text about it.
    several : bool
        Whether it reads several files.
    output : str
        A text about the table that is written; empty where a result is printed.
    picture : str
        What ``--figure`` draws of a result.
    """
    if inputs is None:
        added.set_defaults(inputs=[], missing=None, missing_code=[])
        added.set_defaults(delimiter=None, decimal=None, encoding=None, sheet=None)
    else:
        added.add_argument("inputs", nargs="+" if several else 1, metavar=inputs[0], help=inputs[1])
    if output:
        added.add_argument("-o", "--output", required=True, metavar="FILE", help=output)
        added.add_argument("--force", action="store_true", help="replace an existing file")
    else:
        result_options(added)
        added.add_argument("--json", action="store_true", help="print JSON")
        figure_option(added, picture)
    for option in options:
        add_option(added, option)
    if inputs is not None:
        missing_options(added)
        if several:
            identical_option(added)
    added.set_defaults(option_names=tuple(option.name for option in options))


def result_options(added: argparse.ArgumentParser) -> None:
    """Add where a result is written to, and that cross tables are grids."""
    added.add_argument(
        "-o", "--output", metavar="FILE", help="one row per estimate: .csv, .parquet, .xlsx or .json"
    )
    added.add_argument(
        "--grid", action="store_true", help="cross tables as on paper: the last attribute across"
    )


def model_of(options: argparse.Namespace) -> Any:
    """Return the model that was named, with its parameters overridden."""
    from mechdesign.catalog import load_model

    return load_model(options.model, overrides_of(options.set))


def without_families(names: Sequence[str]) -> list[str]:
    """Return the models that are named, each once; a family's name stands for all its shipped models."""
    from mechdesign.catalog import models

    shipped, slugs = models(), []
    families = {slug.partition("/")[0] for slug in shipped}
    for name in names:
        if not {"/", "."} & set(name) and name not in families:
            hint = suggestion(name, [*families, *shipped])
            hint = hint if hint.startswith("did you mean") else suggestion(name, families)
            raise UnknownNameError("model", f"no model or family '{name}'", hint)
        slugs += [slug for slug in shipped if slug.startswith(f"{name}/")] or [name]
    return list(dict.fromkeys(slugs))


def number_text(text: str) -> float:
    """Return the epsilon or delta that a text states, a decimal or a quotient; never more than that."""
    from mechdesign.core.validation import EXAMPLES, is_numeral, stated  # with numpy

    if not is_numeral(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number; {EXAMPLES}")
    try:
        return stated(text)
    except ParameterError as error:
        raise argparse.ArgumentTypeError(error.what) from None


def overrides_of(settings: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of ``--set name=value``; values are written as in a model file."""
    return _pairs("--set", settings, "epsilon=2")


def method_options(added: argparse.ArgumentParser) -> None:
    """Add ``--method`` and ``--option``."""
    added.add_argument("--method", help="the method's name; by default the first that applies")
    added.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="option of the method (repeatable)",
    )


def options_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the method's options of ``--option name=value``; they need a method that is named."""
    if options.option and options.method is None:
        raise ParameterError(f"--option {options.option[0]}", "options are those of a method", "add --method")
    return _pairs("--option", options.option, "first=0.25")


def _pairs(flag: str, settings: Sequence[str], example: str) -> dict[str, Any]:
    """Return names and values; a value that is not TOML is a string."""
    from mechdesign.core.validation import written_float  # most commands read no numbers

    result = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name.strip():
            raise ParameterError(f"{flag} {setting}", f"expected NAME=VALUE, for instance {example}")
        try:
            parsed = parse_toml(f"value = {text}", written_float)
            is_value = len(parsed) == 1 and date_in(parsed) is None
            result[name.strip()] = parsed["value"] if is_value else text
        except ValueError:
            result[name.strip()] = text
    return result


def print_json(value: Any) -> None:
    """Print values as JSON; infinity is the string ``"inf"``."""
    print(json_text(value))


def json_text(value: Any) -> str:
    """Return values as JSON, as :func:`print_json` prints them."""
    from mechdesign.core.values import encode  # most commands print no JSON

    return json.dumps(encode(value), indent=1, allow_nan=False)


REPORTS = "files written by randomize or by clients, folders of them, patterns, or - for the standard input"

MODULES = {
    "folders": "demo init export",
    "imports": "import",
    "models": "list show solve compare check findings sweep tradeoff",
    "mechanisms": "choose build audit",
    "operations": "randomize estimate run",
    "counts": "count merge",
    "analysis": "scores regress test",
    "accounts": "ledger",
    "pages": "report sources table",
    "serving": "serve",
}
"""The modules of the commands in the order of the help, each with the commands that it adds."""


LISTING = ("-h", "--help", "--version")
"""First words of a command line after which no command runs."""


def identical_option(added: argparse.ArgumentParser) -> None:
    """Add the option for inputs of the same content."""
    added.add_argument(
        "--identical", action="store_true", help="files of the same content are meant: each counts"
    )


def figure_option(added: argparse.ArgumentParser, what: str, force: bool = True) -> None:
    """Add ``--figure``, and ``--force`` where the command does not have it for other outputs."""
    added.add_argument("--figure", metavar="FILE", help=f"draw {what} (.png or .svg; needs mechdesign[plot])")
    if force:
        added.add_argument("--force", action="store_true", help="replace an existing file")


class FigureOutput:
    """Where the pictures of a command go; checked before the command begins.

    Parameters
    ----------
    options : Namespace
        With ``figure`` and ``force``.
    inputs : sequence of str
        What the command reads.
    table : str, optional
        Where the command writes something else.
    """

    def __init__(
        self,
        options: argparse.Namespace,
        inputs: Sequence[str],
        table: str | None = None,
    ) -> None:
        self.options = options
        self.path: str | None = options.figure
        self.force: bool = options.force
        self.inputs = inputs
        if self.path is not None:
            from mechdesign.data.outputs import same_file
            from mechdesign.show.draw import matplotlib_module, require_picture_suffix

            require_picture_suffix(self.path)
            if table and same_file(self.path, table):
                raise ParameterError(f"--figure {self.path}", "is where -o writes to", "choose another path")
            self._require(self.path)
            matplotlib_module("")

    def __bool__(self) -> bool:
        """Whether pictures are to be drawn."""
        return self.path is not None

    def places(self, figures: Sequence[Any], what: str) -> list[str]:
        """Return the names of the pictures, when there are some and all of them may be written."""
        from mechdesign.show.draw import numbered

        if self.path is None:
            return []
        if not figures:
            raise ParameterError(f"--figure {self.path}", f"nothing to draw of {what}", "omit it")
        places = numbered(self.path, len(figures))
        for place in places:
            self._require(place)
        return places

    def write(self, figures: Sequence[Any], what: str) -> list[str]:
        """Write the pictures and return their names; none of them when one of them may not be written."""
        from mechdesign.core.errors import printable
        from mechdesign.show.draw import save

        places = self.places(figures, what)
        stream = sys.stderr if getattr(self.options, "json", False) else sys.stdout
        for figure, place in zip(figures, places, strict=True):
            save(figure, place)
            print(f"{place}: {printable(figure.title)}", file=stream)
        return places

    def _require(self, path: str) -> None:
        from mechdesign.data.outputs import require_output

        require_output(path, self.inputs, self.force, option="--figure")


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
    The list of the commands has none of their options. Each is made once a process. Parsing leaves it as it
    was; lists of values are copied before a value is appended.
    """
    listing = first in LISTING
    homes = [module for module, names in MODULES.items() if first in names.split()]
    if first and not homes and not listing:
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
        if listing:
            commands.add_parser(name, help=summary)
        elif first in ("", name):
            added = commands.add_parser(name, help=summary, description=summary)
            added.set_defaults(run=run)
            add_options(added)

    for module in homes or MODULES:
        import_module(f"mechdesign.cli.{module}").add_commands(command)
    return main


def run_options(added: argparse.ArgumentParser) -> None:
    """Add ``--jobs``, ``--fresh`` and ``--dask``."""
    added.add_argument(
        "--jobs", type=int, metavar="N", help="number of worker processes (default: one per CPU core)"
    )
    added.add_argument(
        "--fresh", action="store_true", help="recompute what an earlier run of the same code has stored"
    )
    dask_option(added)


def dask_option(added: argparse.ArgumentParser) -> None:
    """Add ``--dask``."""
    added.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="run on the Dask cluster whose scheduler has this address, or on 'local' processes",
    )


def run_many(
    label: str, options: argparse.Namespace, run: Callable[..., Sequence[Any]], *arguments: Any
) -> Any:
    """Run many pieces of work as the options say, with a bar, and say how many came from the cache."""
    from mechdesign.work.bars import Watch
    from mechdesign.work.cache import default_cache

    with _cluster(options.dask), Watch(label, is_kept=default_cache() is not None) as watch:
        results = run(*arguments, jobs=options.jobs, fresh=options.fresh, watcher=watch)
    if watch.cached:
        known = f"{watch.cached} of {watch.total} {label}"
        print(
            f"mechdesign: {known} from an earlier run of the same code; --fresh recomputes", file=sys.stderr
        )
    return results


@contextmanager
def _cluster(address: str | None) -> Iterator[None]:
    """Let joblib use a Dask cluster, where one was named."""
    if address is None:
        yield
        return
    import joblib

    from mechdesign.work.parallel import connected

    with connected(address), joblib.parallel_config(backend="dask"):
        yield
