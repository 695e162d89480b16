"""The noun: a survey as it is stated in a file, built with its mechanism, asked again, and estimated."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from mechdesign.catalog import load_model
from mechdesign.catalog.load import Model
from mechdesign.collect.base import CollectingMechanism, Mechanism, load_mechanism
from mechdesign.collect.collecting import operation_of
from mechdesign.collect.server import rule_for
from mechdesign.core.errors import (
    DataError,
    MechDesignError,
    MethodError,
    ModelFileError,
    ParameterError,
    counted,
    suggestion,
)
from mechdesign.core.guarantee import Guarantee
from mechdesign.core.values import changed
from mechdesign.data.about import About, QuestionText
from mechdesign.data.data_set import open_table
from mechdesign.data.reading import Copies, require_different
from mechdesign.export import ExportSettings, export
from mechdesign.export.messages import MessageReader
from mechdesign.solvers.solve import solve
from mechdesign.survey.waves import WaveEstimates, next_wave, total_of_waves, wave_estimates

KINDS = (Mechanism, Model)
"""What a survey is made of."""

NEW_NAME = (
    "the mechanism of several questions is called SurveyMechanism now, in mechdesign.families.survey; "
    "a Survey is what people take part in: use Survey.load(path)"
)


class Survey:
    r"""What people take part in: identity, texts, questions and wave, with the mechanism that collects.

    It is read from the one file in which it is stated (``staff.toml``), or from the file that was built of it
    (``staff.json``). What respondents read and what keeps surveys apart is its ``about``; it is sealed in the
    built file, and pages, columns, messages, counts and ledgers take it from there.

    Parameters
    ----------
    mechanism : Mechanism, optional
        With what is said about its survey; None for one that is not built.
    model : Model, optional
        The design problem that it states.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "mood.toml")
    >>> with open(path, "w") as file:
    ...     _ = file.write('[survey]\ntitle = "Mood"\nepsilon = 2.0\nwave = "2026"\n')
    ...     _ = file.write('[[questions]]\nname = "mood"\ntext = "How are you?"\n')
    ...     _ = file.write('labels = ["bad", "good"]\n')
    >>> survey = Survey.load(path).build()
    >>> survey.title, survey.wave_name, [question.text for question in survey.questions]
    ('Mood', '2026', ['How are you?'])
    >>> later = survey.wave("2027")
    >>> later.id == survey.id, str(later.epsilon_of_waves())
    (False, 'epsilon = 4, 2 waves')
    """

    def __init__(
        self, mechanism: Mechanism | None = None, model: Model | None = None, *former: Any, **names: Any
    ) -> None:
        parts: tuple[Any, ...] = mechanism, model
        is_survey = all(isinstance(part, (type(None), kind)) for part, kind in zip(parts, KINDS, strict=True))
        if former or names or not is_survey:
            raise ParameterError("Survey", NEW_NAME)
        if mechanism is None and model is None:
            raise ParameterError("Survey", "has neither a mechanism nor a model", "use Survey.load(path)")
        self._mechanism, self.model = mechanism, model

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Survey:
        """Return the survey of a file: of a statement (``.toml``), or of a built one, which is audited again.

        Raises
        ------
        ModelFileError, CertificateError
            See :func:`mechdesign.load_model` and :func:`mechdesign.load_mechanism`.
        """
        name = os.fspath(path)
        if name.endswith(".toml"):
            return cls(model=load_model(name))
        if not name.endswith(".json"):
            raise ModelFileError(name, "is not a name of a survey file", "name a .toml or a .json file")
        return cls(load_mechanism(name))

    # What it is

    @property
    def about(self) -> About:
        """Identity, texts, wave and language: one value that everything reads."""
        if self._mechanism is not None:
            return self._mechanism.about
        assert self.model is not None
        return self.model.about if self.model.about.title else changed(self.model.about, title=self.title)

    @property
    def id(self) -> str:
        """Its identity; empty for a survey that is not built and does not state one."""
        return self.about.id

    @property
    def title(self) -> str:
        """Its title."""
        return self._mechanism.about.title if self._mechanism is not None else str(self._stated.title)

    @property
    def wave_name(self) -> str:
        """What this wave is called; empty where it has no name."""
        return self.about.wave

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of its texts, its own first."""
        return self.about.languages

    @property
    def questions(self) -> tuple[QuestionText, ...]:
        """The words of its questions, in the order in which they are asked."""
        names = [question.name for question in self.about.questions]
        if not names and self._mechanism is not None:
            names = list(self._mechanism.data_columns) or [self.about.heading or "answer"]
        return tuple(self.about.question_text(name) for name in names)

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that collects; MethodError for a survey that is not built."""
        if self._mechanism is None:
            raise MethodError(self._stated.slug, "this survey is not built", "use .build()")
        return self._mechanism

    @property
    def _stated(self) -> Model:
        if self.model is None:
            what = "is a built survey, and its statement is not in its file"
            raise MethodError(self.about.survey, what, "load the .toml file")
        return self.model

    def __repr__(self) -> str:
        state = "not built" if self._mechanism is None else f"id {self.id}"
        wave = f", wave {self.wave_name}" if self.wave_name else ""
        return f"Survey({self.title!r}{wave}, {counted(len(self.questions), 'question')}, {state})"

    # From the statement to a file

    def build(self, users: int | None = None, id: str = "") -> Survey:
        """Return the survey with the best mechanism of its design problem, and an identity.

        Parameters
        ----------
        users : int, optional
            How many are planned; by default as stated.
        id : str
            The identity; by default the stated one, else one is drawn.

        Raises
        ------
        MethodError
            Where the design problem has no solution that runs.
        """
        model = self._stated
        solution = solve(model.problem)
        if solution.broken:
            raise MethodError(model.slug, f"not built: {solution.broken[0]}", "change the model")
        try:
            built = model.data.applied(solution.mechanism())
        except MechDesignError as error:
            raise error.within(model.slug) from None
        mechanism: Mechanism = built.with_about(self.about)
        planned = users or model.problem.planned_users or self.about.users
        identity = id or self.about.id or None
        return Survey(mechanism.described(self.title, self.about.question, planned, identity), model)

    def wave(self, name: str, id: str = "") -> Survey:
        """Return the next wave: the same questions and mechanism, another identity, linked to this one.

        Parameters
        ----------
        name : str
            What it is called, such as ``"2027"``.
        id : str
            Its identity; by default one is drawn.
        """
        own = self.mechanism
        about = own.about
        fresh = own.with_about(changed(about, id="", wave="", earlier=()))
        fresh = fresh.described(about.title, about.question, about.users, id or None)
        return Survey(next_wave(fresh, name, own), self.model)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mechanism file with what is said about the survey, sealed; see ``Mechanism.save``."""
        self.mechanism.save(path)

    # The way of data

    def page(self, language: str = "", post: str = "", shared: bool = False) -> str:
        """Return the page for respondents as one file of HTML.

        Parameters
        ----------
        language : str
            That of the page's own sentences, and of the survey's texts where they are translated.
        post : str
            The address that reports are sent to; by default they are saved as a file.
        shared : bool
            Whether many people use the device: nothing is stored, and there is a button for the next person.
        """
        settings = ExportSettings(post=post, language=language, shared=shared)
        return export(self.mechanism, "html", settings)

    def randomize(self, answers: Any, rng: Any = None) -> Any:
        """Return reports of answers: columns by the names of the questions, or a list for one question."""
        mechanism = self._collecting()
        if isinstance(answers, Mapping) and len(mechanism.data_columns) == 1:
            (column,) = mechanism.data_columns
            if list(answers) != [column]:
                raise DataError("answers", f"expected the column '{column}'", suggestion(column, answers))
            answers = answers[column]
        return mechanism.randomize(answers, rng=rng)

    def estimate(self, reports: Any, population: bool = False) -> Any:
        """Return the results from reports.

        Parameters
        ----------
        reports : path, list of paths, array or data frame
            Files as exported clients and ``randomize`` write them, or reports as ``randomize`` returns them.
        population : bool
            Whether to estimate a population that the users were drawn from.
        """
        mechanism = self._collecting()
        paths = [reports] if isinstance(reports, (str, os.PathLike)) else reports
        if isinstance(paths, (list, tuple)) and paths and all(map(_is_path, paths)):
            return _estimated(mechanism, [os.fspath(path) for path in paths], population)
        return mechanism.estimate(reports, population=population)

    def estimate_waves(
        self, reports: Any, *others: tuple[Survey, Any], population: bool = False
    ) -> WaveEstimates:
        """Return the results of this wave and of others, the changes, and what all of them give away.

        Parameters
        ----------
        reports : path, list of paths, array or data frame
            Of this wave.
        *others : (Survey, reports)
            The other waves, in any order.
        population : bool
        """
        pairs: Sequence[tuple[Survey, Any]] = [(self, reports), *others]
        results = [survey.estimate(own, population) for survey, own in pairs]
        return wave_estimates([survey.mechanism for survey, _ in pairs], results, population)

    def epsilon_of_waves(self) -> Guarantee:
        """Return the guarantee of a person who takes part in this wave and all before it, exactly.

        Raises
        ------
        MethodError
            Where one of them has no epsilon, or they are of kinds that have no sum.
        """
        total = total_of_waves(self.mechanism)
        if total is None:
            what = "its waves have no epsilon of one kind, so there is no sum"
            raise MethodError(self.about.survey, what, "see mechdesign audit of each file")
        return total

    def _collecting(self) -> CollectingMechanism[Any]:
        if not isinstance(self.mechanism, CollectingMechanism):
            what = f"a {self.mechanism.type} does not collect answers"
            raise MethodError(self.about.survey, what, "see its operations with mechdesign run")
        return self.mechanism


def _is_path(item: Any) -> bool:
    """Whether an entry is the path of a file of reports, not a report."""
    return isinstance(item, os.PathLike) or (isinstance(item, str) and os.path.isfile(item))


def _estimated(mechanism: CollectingMechanism[Any], paths: Sequence[str], population: bool) -> Any:
    """Return what the mechanism's own operation gives for files of reports, each of which counts once."""
    operation = operation_of(mechanism.operations(), "estimate", mechanism.about.survey)
    rule = rule_for(mechanism, operation).with_messages(partial(MessageReader, mechanism))
    require_different(paths, False)
    sources, copies = [open_table(path, rule) for path in paths], Copies()
    for source in sources:
        source.copies = copies
    return operation.run(sources, operation.settings({"population": population}))
