"""The command ``import``: an export of a survey tool becomes a survey file and clean answers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mechdesign.cli.parser import FINE, AddCommand, form_of, form_options, number_text, print_json
from mechdesign.core.errors import ParameterError

if TYPE_CHECKING:
    from mechdesign.data.survey_tools.outcome import ImportedSurvey


def add_commands(command: AddCommand) -> None:
    """Add the command to the parser."""
    command(
        "import",
        _import,
        "turn an export of a survey tool, or a file of SPSS or Stata, into a survey file and clean answers",
        _options,
    )


def _options(added: argparse.ArgumentParser) -> None:
    added.add_argument(
        "file",
        metavar="FILE",
        help="of Qualtrics, LimeSurvey, SurveyMonkey, Google Forms or REDCap (CSV, Excel); .sav; .dta",
    )
    added.add_argument("-o", "--output", required=True, metavar="FILE.toml", help="the survey file")
    added.add_argument(
        "--answers", metavar="FILE.csv", help="the clean answers (default: next to the survey file)"
    )
    added.add_argument("--dictionary", metavar="FILE", help="the data dictionary of a REDCap project")
    added.add_argument(
        "--column", action="append", help="column or question to ask; all by default (repeatable)"
    )
    added.add_argument("--drop", action="append", metavar="COLUMN", help="column not to ask (repeatable)")
    added.add_argument(
        "--single", action="append", metavar="COLUMN", help="column with one answer in each cell (repeatable)"
    )
    added.add_argument(
        "--missing-code",
        action="append",
        metavar="TEXT",
        help="further code for no answer, such as 99 (repeatable)",
    )
    added.add_argument("--partial", action="store_true", help="count answers that were not finished")
    added.add_argument(
        "--person",
        metavar="COLUMN",
        help="column that identifies people, or - for none (default: the tool's)",
    )
    added.add_argument("--last", action="store_true", help="count the last row of a person, not the first")
    form_options(added)
    added.add_argument("--title", help="of the survey")
    added.add_argument("--epsilon", type=number_text, default=2.0, help="the privacy of a user (default 2)")
    added.add_argument(
        "--users",
        type=int,
        metavar="N",
        help="expected respondents (default: those in the file, at least 1000)",
    )
    added.add_argument("--force", action="store_true", help="replace existing files")
    added.add_argument("--json", action="store_true", help="print JSON")


def _import(options: argparse.Namespace) -> int:
    from mechdesign.core.errors import ModelFileError, counted
    from mechdesign.core.validation import privacy_epsilon, user_count
    from mechdesign.data.outputs import require_output, require_suffix, same_file
    from mechdesign.data.survey_tools.export import RowRule
    from mechdesign.data.survey_tools.outcome import (
        LEAST_USERS,
        ImportChoices,
        export_of_file,
        import_export,
        survey_text,
    )
    from mechdesign.work.files import whole_file

    if not options.output.endswith(".toml"):
        raise ParameterError(f"-o {options.output}", "is not a name of a survey file", "end it in .toml")
    answers = options.answers or f"{options.output.removesuffix('.toml')}.csv"
    require_suffix(answers, (".csv",), "--answers")
    inputs = [options.file, *([options.dictionary] if options.dictionary else [])]
    require_output(options.output, inputs, options.force)
    require_output(answers, inputs, options.force, option="--answers")
    if same_file(options.output, answers):
        raise ParameterError(f"--answers {answers}", "is where -o writes to", "choose another path")
    epsilon = privacy_epsilon(options.epsilon, "--epsilon")
    if epsilon == 0.0:
        raise ParameterError("--epsilon", "with 0 reports contain no information", "give a larger one")
    form = form_of(options)
    rules = RowRule(options.partial, options.person or "", options.last)
    choices = ImportChoices(
        columns=tuple(options.column or ()),
        left_out=tuple(options.drop or ()),
        codes=tuple(options.missing_code or ()),
        single=tuple(options.single or ()),
        rows=rules,
        dictionary=options.dictionary or "",
    )
    outcome = import_export(
        export_of_file(options.file, choices.dictionary, form), choices, options.file, form
    )
    users = max(outcome.people, LEAST_USERS) if options.users is None else user_count(options.users)
    title = options.title or f"Survey of {Path(options.file).stem}"
    text = survey_text(outcome, title, epsilon, users, options.output, answers)
    _require_survey(options.output, text)
    with whole_file(options.output, ModelFileError) as temporary:
        temporary.write_text(text, encoding="utf-8")
        _write_answers(answers, outcome)
    if options.json:
        print_json(_as_json(options.output, answers, outcome))
        return FINE
    questions, rows = counted(len(outcome.drafts), "question"), counted(outcome.people, "row")
    print(f"{options.output}: {questions} from an export of {outcome.tool}")
    print(f"{answers}: {rows} of {counted(len(outcome.columns()), 'column')}")
    print("\n".join(f"  {line}" for line in outcome.lines()))
    if outcome.looked:
        print(
            "  PRIVACY: labels and ranges that were read from answers reveal something that epsilon does not"
        )
        print("  cover: compare them with the questionnaire")
    return FINE


def _require_survey(path: str, text: str) -> None:
    """Raise an error of the toolkit where the survey file would not load."""
    from mechdesign.catalog.survey_file import survey_statement
    from mechdesign.core.fields import problem_from
    from mechdesign.families import problem_class
    from mechdesign.work.files import parse_toml

    statement = survey_statement(Path(path), parse_toml(text))
    problem_from(problem_class(statement.problem), statement.parameters)


def _write_answers(path: str, outcome: ImportedSurvey) -> None:
    """Write the answers; only their owner may read the file."""
    from mechdesign.data.intake import texts
    from mechdesign.data.writing import write_blocks

    columns = {name: texts(cells) for name, cells in outcome.columns().items()}
    write_blocks(path, iter([columns]), private=True)


def _as_json(survey: str, answers: str, outcome: ImportedSurvey) -> dict[str, object]:
    return {
        "survey": survey,
        "answers": answers,
        "tool": outcome.tool,
        "rows": outcome.rows,
        "left_out": outcome.reasons,
        "people": outcome.people,
        "person": outcome.person,
        "questions": [
            {**draft.table, "source": draft.source, "done": draft.done, "check": draft.remarks}
            for draft in outcome.drafts
        ],
        "dropped": outcome.dropped,
        "read_from_answers": outcome.looked,
    }
