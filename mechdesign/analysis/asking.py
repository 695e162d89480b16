"""Reports beside their public columns, and what is asked of them: regressions by formula.

Public columns are known of everybody, such as the department: they stand in the file beside the report, and
nothing protects them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechdesign.analysis.private_covariates import PrivateDesign, fit_private
from mechdesign.analysis.regression import Covariates, Regression, fit_categories, fit_linear
from mechdesign.analysis.report_scores import ReportScores, combined, scores_of
from mechdesign.collect.collecting import Settings, located, mark_in, report_column
from mechdesign.collect.report_scores import MOST_ENTRIES
from mechdesign.core.errors import (
    DataError,
    EstimationError,
    MissingPackageError,
    ParameterError,
    named_option,
    printable,
    suggestion,
)
from mechdesign.data.intake import Source

Array = NDArray[np.float64]
Public = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class ReportTable:
    """The scores of reports, one entry a question, and the public columns beside them.

    Attributes
    ----------
    scores : tuple of ReportScores
    public : dict of arrays
        Numbers where all values of a column are, else texts.
    mechanism : Mechanism
    reports : array
    """

    scores: tuple[ReportScores, ...]
    public: Public
    mechanism: Any
    reports: NDArray[Any]

    def without_tables(self) -> ReportTable:
        """Return the same with scores in pieces, where reports support categories."""
        return replace(self, scores=tuple(scores.without_table() for scores in self.scores))

    def question(self, name: str = "", where: str = named_option("question")) -> ReportScores:
        """Return the scores of a question; of the only one without a name."""
        if not name and len(self.scores) == 1:
            return self.scores[0]
        known = [scores.question for scores in self.scores]
        for scores in self.scores:
            if scores.question == name:
                return scores
        if len(self.scores) == 1 and not known[0]:
            return self.scores[0]
        listed = suggestion(name, known) if name else f"name one of {', '.join(known)}"
        raise ParameterError(
            where, f"no question '{name}'" if name else "there are several questions", listed
        )

    def column(self, name: str, where: str) -> NDArray[Any]:
        """Return a public column.

        Raises
        ------
        ParameterError
            For a column that is not there, or a question, whose answers nobody knows.
        """
        if name in self.public:
            return self.public[name]
        if any(name and name == scores.question for scores in self.scores):
            raise ParameterError(
                where,
                f"'{name}' is private: its true answers are in no file",
                "name a public column; for two private questions ask for their cross table",
            )
        if not self.public:
            what = f"no column '{name}': there are no public columns beside the reports"
            raise ParameterError(where, what, "name them when you randomize: --public")
        raise ParameterError(where, f"no column '{name}'", suggestion(name, list(self.public)))


def answers_of(mechanism: Any, reports: Any, public: Any = None) -> ReportTable:
    """Return the scores of reports with the public columns beside them.

    Parameters
    ----------
    mechanism : Mechanism
    reports : array, data frame or table
        Reports as ``estimate`` takes them; or a table with a column of them, and public columns.
    public : mapping or data frame, optional
        The public columns, where the reports stand alone: one row a report.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> answers = answers_of(KaryResponse.of(2, 1.0), [0, 1, 1], {"ward": ["a", "b", "b"]})
    >>> answers.public["ward"].tolist(), answers.question().values.shape
    (['a', 'b', 'b'], (3, 2))
    """
    if public is None and (source := source_of(reports)) is not None:
        return read_answers(mechanism, source)
    scores = scores_of(mechanism, reports)
    users = len(scores[0])
    if public is None:
        return ReportTable(scores, {}, mechanism, np.asarray(reports))
    columns = public if isinstance(public, Mapping) else {name: public[name] for name in public.columns}
    result = {str(name): typed(np.asarray(values)) for name, values in columns.items()}
    for name, values in result.items():
        if values.shape != (users,):
            raise DataError(
                f"column '{name}'", f"has shape {values.shape} for {users} reports", "give one value a report"
            )
    return ReportTable(scores, result, mechanism, np.asarray(reports))


def source_of(table: Any) -> Source | None:
    """Return a table as a source of blocks; None for what is no table."""
    if hasattr(table, "blocks") and hasattr(table, "columns"):
        source: Source = table
        return source
    from mechdesign.data.frames import is_table

    if not is_table(table):
        return None
    from mechdesign.data.frames import FrameTable
    from mechdesign.data.intake import MissingRule

    return FrameTable(table, MissingRule("refuse"))


def read_blocks(mechanism: Any, source: Source, unmarked: bool = False) -> Iterator[ReportTable]:
    """Yield scores and public columns of a table of reports, block by block."""
    column = report_column(source, Settings({"unmarked": True} if unmarked else {}), mechanism)
    names = [name for name in source.columns if name != column and not mark_in(name)]
    for name in names:
        if source.columns.count(name) > 1:
            raise DataError(source.name, f"several columns are named '{name}'", "rename all but one")
    for block in source.blocks([column, *names]):
        with located(source, column):
            scores = scores_of(mechanism, block[column])
        public = {name: np.asarray(block[name]) for name in names}
        yield ReportTable(scores, public, mechanism, np.asarray(block[column]))


def read_sources(mechanism: Any, sources: Iterable[Source], unmarked: bool = False) -> Iterator[ReportTable]:
    """Yield the blocks of several tables of reports, which have to have the same public columns."""
    first: tuple[str, set[str]] | None = None
    for source in sources:
        for block in read_blocks(mechanism, source, unmarked):
            first = first or (source.name, set(block.public))
            if set(block.public) != first[1]:
                names = ", ".join(sorted(set(block.public) ^ first[1]))
                what = f"has other public columns than {first[0]} ({names})"
                raise DataError(source.name, what, "keep the same --public columns in all files")
            yield block


def read_answers(
    mechanism: Any, source: Source, unmarked: bool = False, others: Sequence[Source] = ()
) -> ReportTable:
    """Return the scores and the public columns of a table of reports, or of several."""
    blocks: list[ReportTable] = []
    entries = 0
    for block in read_sources(mechanism, (source, *others), unmarked):
        entries += sum(scores.values.size for scores in block.scores)
        if entries > MOST_ENTRIES:  # what a table would be too large for is kept in pieces from here on
            blocks, block = [one.without_tables() for one in blocks], block.without_tables()
        blocks.append(block)
    scores = tuple(combined(pieces) for pieces in zip(*(block.scores for block in blocks), strict=True))
    public = {
        name: typed(np.concatenate([block.public[name] for block in blocks])) for name in blocks[0].public
    }
    return ReportTable(scores, public, mechanism, np.concatenate([block.reports for block in blocks]))


def typed(values: NDArray[Any]) -> NDArray[Any]:
    """Return a column as numbers where all of its values are, else as texts.

    Examples
    --------
    >>> typed(np.array(["1", "2.5"])), typed(np.array(["1", "b"])).tolist()
    (array([1. , 2.5]), ['1', 'b'])
    """
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    try:
        numbers = values.astype(str).astype(np.float64)
    except ValueError:
        return np.array([str(value) for value in values.tolist()], dtype=object)
    return numbers


def weights_of(answers: ReportTable, name: str | None) -> Array | None:
    """Return the weights in a public column.

    Raises
    ------
    ParameterError, DataError
        For a column that is not there, texts, and weights that are missing, negative or all 0.
    """
    if name is None:
        return None
    where = named_option("weights")
    column = answers.column(name, where)
    if column.dtype == object:
        raise DataError(f"column '{name}'", "holds texts, not weights", "name a column of numbers")
    wrong = ~(np.isfinite(column) & (column >= 0.0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"column '{name}'",
            f"row {row + 1}: {column[row]:g} is no weight",
            "a weight is a number of at least 0; leave rows without one out",
        )
    if not column.any():
        raise DataError(f"column '{name}'", "every weight is 0", "give some report a weight above 0")
    return np.asarray(column, dtype=np.float64)


def column_codes(answers: ReportTable, name: str | None, where: str) -> NDArray[np.int64] | None:
    """Return the number of each row's value among the values of a public column."""
    if name is None:
        return None
    _, codes = np.unique(answers.column(name, where).astype(str), return_inverse=True)
    return codes.ravel().astype(np.int64)


def panel_covariance(
    first: ReportTable, second: ReportTable, question: str, identifier: str
) -> tuple[Array, int]:
    """Return the covariance of the means of two waves, (k, k), and how many people answered both.

    With d the deviations of scores from their means times their weights, it is the sum of d_1 d_2' over the
    people of both. The noise of two reports is independent: it is not in it.

    Raises
    ------
    DataError
        Where a person has two reports in a wave.
    """
    places: list[dict[str, int]] = []
    for table, name in ((first, "first"), (second, "second")):
        people = table.column(identifier, named_option("id")).astype(str).tolist()
        known = {person: place for place, person in enumerate(people)}
        if len(known) < len(people):
            twice = next(person for person in people if people.count(person) > 1)
            raise DataError(
                f"column '{identifier}'",
                f"'{twice}' stands twice in the {name} wave",
                "leave one report a person",
            )
        places.append(known)
    both = [person for person in places[0] if person in places[1]]
    if not both:
        raise DataError(
            f"column '{identifier}'", "nobody answered both waves", "omit it, or name the column of people"
        )
    parts = []
    for table, known in zip((first, second), places, strict=True):
        scores = table.question(question)
        above, below = scores.ratio()
        weight = scores.information / scores.information.sum()
        base = float(weight @ below)
        mean = weight @ above / base
        influence = (above - below[:, None] * mean) / base * weight[:, None]
        parts.append(influence[[known[person] for person in both]])
    return np.asarray(parts[0].T @ parts[1]), len(both)


MODELS = ("linear", "logit", "multinomial")


def regress(
    mechanism: Any,
    reports: Any,
    public: Any = None,
    formula: str | None = None,
    *,
    model: str | None = None,
    category: str | None = None,
    weights: str | None = None,
    cluster: str | None = None,
) -> Regression:
    """Return a regression of a private answer on public columns.

    Parameters
    ----------
    mechanism : Mechanism
    reports : array, data frame or ReportTable
        Reports; or a table with a column of them and the public columns.
    public : mapping or data frame, optional
        The public columns, where the reports stand alone.
    formula : str, optional
        Such as ``"smokes ~ age + C(department)"`` (needs formulaic): left the question, or nothing where
        there is one; without a formula a constant and all public columns, which have to be numbers.
    model : {"linear", "logit", "multinomial"}, optional
        By default linear for numbers, logit for two categories, multinomial for more.
    category : str, optional
        Linear models of an answer: of which category the share is explained; by default the last one.
    weights, cluster : str, optional
        Public columns: weights, and groups whose people depend on one another. Errors then are robust.

    Raises
    ------
    ParameterError
        For unknown columns and models, and private names that the formula cannot have.
    EstimationError
        For collinear columns and too few reports.

    Notes
    -----
    Coefficients are of the answers, not of the reports: nothing is attenuated. One covariate may be a private
    question of categories: then least squares are made of moments (``private_covariates``), and the outcome
    may be public. See docs/howto/after_collection.md.
    """
    answers = reports if isinstance(reports, ReportTable) else answers_of(mechanism, reports, public)
    left, right = _sides(formula)
    if right is not None and (private := private_names(answers, right)):
        return _regress_private(answers, left, right, private, (model, category), (weights, cluster))
    if left and left in answers.public:
        raise ParameterError(
            "formula", f"'{left}' is public, and so is all that explains it", "no scores are needed for that"
        )
    scores = answers.question(left, "formula")
    matrix, names = _design_matrix(answers, right, {weights, cluster})
    design = Covariates(
        matrix,
        names,
        weights_of(answers, weights),
        column_codes(answers, cluster, named_option("cluster")),
    )
    chosen = model or ("linear" if scores.has_mean else "logit" if len(scores.names) == 2 else "multinomial")
    if chosen not in MODELS:
        raise ParameterError("model", f"no model '{chosen}'", suggestion(chosen, MODELS))
    if chosen == "linear":
        return fit_linear(scores, design, _category(scores, category))
    if scores.is_number:
        raise ParameterError("model", f"'{scores.question or 'the answer'}' is a number", "use linear")
    if chosen == "logit" and len(scores.names) > 2:
        remedy = "use multinomial, or linear with a category"
        raise ParameterError("model", f"logit is for two categories, not {len(scores.names)}", remedy)
    return fit_categories(scores, design)


def private_names(answers: ReportTable, right: str) -> list[str]:
    """Return the questions among the variables of a formula."""
    questions = {scores.question for scores in answers.scores if scores.question} - set(answers.public)
    return [name for name in _parsed(right)[1] if name in questions]


def _regress_private(
    answers: ReportTable,
    left: str,
    right: str,
    private: Sequence[str],
    chosen: tuple[str | None, str | None],
    others: tuple[str | None, str | None],
) -> Regression:
    """Return the least squares with one private covariate; see ``private_covariates``."""
    model, category = chosen
    if len(private) > 1:
        raise ParameterError(
            "formula", f"two private covariates ({', '.join(private)})", "name one, or ask for a cross table"
        )
    if model not in (None, "linear"):
        raise ParameterError(
            "model", f"{model} with the private covariate '{private[0]}'", "use linear: it explains shares"
        )
    scores = answers.question(private[0])
    design = PrivateDesign(
        scores,
        *_private_matrices(answers, scores, right),
        weights_of(answers, others[0]),
        column_codes(answers, others[1], named_option("cluster")),
    )
    if left in answers.public:
        outcome = answers.public[left]
        if outcome.dtype == object:
            raise ParameterError("formula", f"'{left}' holds texts", "name a column of numbers")
        return fit_private(design, scores.values * outcome[:, None], scores.information, left)
    explained = answers.question(left, "formula")
    if explained.question == scores.question:
        raise ParameterError("formula", f"'{left}' stands on both sides", "explain it by another")
    if explained.ends is not None:
        raise ParameterError(
            "formula", f"'{left}' may be skipped: who answered is private too", "explain it by public columns"
        )
    places = [answers.scores.index(one) for one in (scores, explained)]
    pairs, informative = answers.mechanism.pair_scores(answers.reports, *places)
    place = _category(explained, category)
    name = explained.question if place is None else f"{explained.question} = {explained.names[place]}"
    return fit_private(design, pairs[:, :, place or 0], informative, name)


def _private_matrices(
    answers: ReportTable, scores: ReportScores, right: str
) -> tuple[Array, tuple[str, ...]]:
    """Return the design matrix if everybody had a category, for each category of a private covariate."""
    users, size = len(scores), len(scores.names)
    public = {name: np.tile(values, size) for name, values in answers.public.items()}
    every = np.repeat(np.array(scores.names, dtype=object), users)
    matrix, names = _by_formula({**public, scores.question: every}, right, size * users)
    return matrix.reshape(size, users, -1), names


def _category(scores: ReportScores, category: str | None) -> int | None:
    if scores.is_number:
        if category is not None:
            raise ParameterError("category", f"'{scores.question}' is a number", "omit it")
        return None
    if category is None and scores.ends is not None:
        return None
    if category is None:
        return len(scores.names) - 1
    return scores.place(category)


def _sides(formula: str | None) -> tuple[str, str | None]:
    """Return the name left of ~, and what stands right of it; None without a formula."""
    if formula is None:
        return "", None
    if not str(formula).strip():
        raise ParameterError("formula", f"expected a text, got {formula!r}", "write 'smokes ~ age'")
    left, sign, right = formula.partition("~")
    if not sign:
        return "", formula.strip()
    if not right.strip():
        raise ParameterError("formula", "nothing stands right of ~", "write 'smokes ~ age', or '~ 1'")
    return left.strip().strip("`"), right.strip()


def _design_matrix(
    answers: ReportTable, right: str | None, others: set[str | None]
) -> tuple[Array, tuple[str, ...]]:
    """Return the columns of a formula, or a constant and all public columns that are numbers."""
    users = len(answers.scores[0])
    if right is not None:
        for name in _parsed(right)[1]:
            answers.column(name, "formula")
        return _by_formula(answers.public, right, users)
    names = [name for name in answers.public if name not in others]
    texts = [name for name in names if answers.public[name].dtype == object]
    if texts:
        raise ParameterError(
            "formula", f"column '{texts[0]}' holds texts", f"give a formula, such as '~ C({texts[0]})'"
        )
    columns = [np.ones(users), *(answers.public[name] for name in names)]
    return np.column_stack(columns), ("Intercept", *names)


UNREADABLE = (SyntaxError, ValueError, TypeError, KeyError)
"""What formulaic raises for a formula, besides its own errors."""


def _parsed(right: str) -> tuple[Any, list[str]]:
    """Return a formula as formulaic reads it, and its variables."""
    try:
        from formulaic import Formula
        from formulaic.errors import FormulaicError
    except ImportError:
        raise MissingPackageError(
            "formula", "formulas need formulaic", "install mechdesign[analysis], or give the columns alone"
        ) from None
    try:
        parsed = Formula(right)
        return parsed, sorted(map(str, parsed.required_variables))
    except (FormulaicError, *UNREADABLE) as error:
        raise _unreadable(right, error) from None


def _by_formula(columns: Public, right: str, rows: int) -> tuple[Array, tuple[str, ...]]:
    """Return the columns that a formula makes of these, and their names."""
    parsed, _ = _parsed(right)
    import pandas as pd
    from formulaic.errors import FormulaicError

    frame = pd.DataFrame(columns, index=range(rows))
    try:
        matrix = parsed.get_model_matrix(frame, na_action="raise", context={})
    except (FormulaicError, *UNREADABLE) as error:
        raise _unreadable(right, error) from None
    names: Sequence[str] = list(matrix.columns)
    if not names:
        raise ParameterError("formula", "it has no column, not even a constant", "leave '- 1' out")
    return np.asarray(matrix, dtype=np.float64), tuple(map(str, names))


def _unreadable(right: str, error: Exception) -> EstimationError:
    text = re.sub("\x1b[^m]*m", "", " ".join(str(error).split())) or type(error).__name__
    return EstimationError(
        "formula", f"'{right}' cannot be read ({printable(text)})", "see formulaic's grammar"
    )
