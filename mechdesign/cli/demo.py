"""The command ``demo``: six design problems in a minute, from the model to estimates, pictures and a page."""

from __future__ import annotations

import argparse

from mechdesign.cli.options import FINE, MISMATCH, AddCommand, print_json

FOLDER = "mechdesign-demo"


def add_commands(command: AddCommand) -> None:
    """Add the command to the parser."""
    command(
        "demo",
        _demo,
        "solve six design problems, run their mechanisms on shipped data, and write a page",
        _options,
    )


def _options(demo: argparse.ArgumentParser) -> None:
    demo.add_argument(
        "-o", "--output", metavar="FOLDER", default=FOLDER, help=f"folder to write (default {FOLDER})"
    )
    demo.add_argument("--json", action="store_true", help="print JSON")


def _demo(options: argparse.Namespace) -> int:
    from mechdesign.core.extensions import installed_version
    from mechdesign.data.outputs import whole_folder
    from mechdesign.report.demo.folder import PAGE, can_draw, finish, require_demo_folder
    from mechdesign.report.demo.running import demonstrate
    from mechdesign.report.demo.table import DEMONSTRATIONS
    from mechdesign.report.demo.text import demo_json, demo_text

    require_demo_folder(options.output)
    with whole_folder(options.output) as work:
        results = [demonstrate(demonstration, work) for demonstration in DEMONSTRATIONS]
        said = finish(results, work, options.output, installed_version())
    if options.json:
        print_json(demo_json(results))
    else:
        print(f"{demo_text(results)}\n\n{options.output}: {', '.join(said)}")
        if can_draw():
            print(f"open {options.output}/{PAGE} in a browser; it has the pictures and every command")
        else:
            print("no pictures and no page: they need pip install 'mechdesign[report]'")
    return FINE if all(result.passed for result in results) else MISMATCH
