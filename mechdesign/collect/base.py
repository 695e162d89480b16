"""The noun *mechanism*: it runs, saves to JSON, and is audited when loaded; collecting ones have a server."""

from __future__ import annotations

import json
import os
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.about import WithAbout, survey_digest_of
from mechdesign.collect.kernel import rng_alone
from mechdesign.collect.report_scores import WithScores
from mechdesign.collect.server import WithTables
from mechdesign.collect.totals import WithTotals
from mechdesign.core.certificate import Certificate, CertificateAudit
from mechdesign.core.errors import (
    CertificateError,
    EstimationError,
    MethodError,
    ModelFileError,
    ParameterError,
    UnknownNameError,
    suggestion,
    unread,
)
from mechdesign.core.extensions import FAMILIES, class_with, derived, extensions, import_all
from mechdesign.core.values import (
    USERS,
    Counter,
    EstimateT_co,
    Explained,
    Forecast,
    PrivacyVerdict,
    Verdict,
    encode,
    frozen_value,
)
from mechdesign.data.about import SEALED_FROM, TEXTS_FROM, About
from mechdesign.data.intake import MISSING_CATEGORY, Intake
from mechdesign.exact.numbers import file_values, number_of_text, plain_int, plain_values, text_of
from mechdesign.exact.randomness import TOTAL, BitSource, Rng, bit_source, numpy_generator
from mechdesign.work.files import parse_json, read_text, sha256_of, whole_file

if TYPE_CHECKING:
    from mechdesign.collect.collecting import Operation
    from mechdesign.collect.kernel import Answer, Recipe
    from mechdesign.show.figure import Figure

LAST_WITH_VACUOUS = 2
"""The last version of files with certificates about the pairs of a single type."""

NUMERIC = ("content", "certificates", "data")
"""The parts of a file that hold numbers."""


def with_numbers(document: Mapping[str, Any], conversion: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a document whose parts with numbers were converted."""
    return {key: conversion(part) if key in NUMERIC else part for key, part in document.items()}


def digest(kind: str, content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON text of a mechanism's content."""
    text = json.dumps([kind, content], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256_of(text.encode())


def part_as_json(value: Any) -> Any:
    """Return a part of a mechanism's content as plain JSON values.

    Examples
    --------
    >>> part_as_json((1.0, np.array([[1, 2]]))), part_as_json(Fraction(1, 3))
    ([1.0, [[1, 2]]], '1/3')
    """
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mechanism):
        return {"type": value.type, "content": value.content()}
    if isinstance(value, (tuple, list)):
        return [part_as_json(part) for part in value]
    if isinstance(value, Fraction):
        return str(value)
    return value.as_json() if hasattr(value, "as_json") else value


def nested(value: Any) -> Any:
    """Return a mechanism that is a part of another one's content; other values as they are."""
    if not isinstance(value, Mapping):
        return value
    kind = mechanism_type(value["type"])
    if kind is None:
        raise UnknownNameError("content", f"no mechanism type '{value['type']}'", AGAIN)
    return kind.from_content(value["content"])


def require_total(content: Mapping[str, Any]) -> None:
    """Raise CertificateError unless a file's weights are counted out of 2**62."""
    total = plain_int("total", content["total"])
    if total != TOTAL:
        raise CertificateError("total", f"is {total}, not 2**62")


def still_stated(document: Mapping[str, Any], stated: list[Any]) -> Any:
    """Return the certificates of a file; of an old one, without those about an empty set, which are gone."""
    listed = document.get("certificates")
    if document["version"] > LAST_WITH_VACUOUS or not isinstance(listed, list):
        return listed
    properties = [entry["property"] for entry in stated]
    return [entry for entry in listed if isinstance(entry, dict) and entry.get("property") in properties]


GROUP = "mechdesign.mechanisms"
FORMAT = "mechdesign-mechanism"
VERSION = TEXTS_FROM
"""Version 1 has numbers only, version 2 large integers as strings; in version 3 the survey may have an
identity, and the digest covers what the file says about the survey; version 4 has all texts of a survey and
its waves, and is written only where there are any. All are read."""

MARKUP = r"(?::\w+:)?`+~?([^`]+)`+"
"""Code and references in a docstring, which people read as plain words."""

AGAIN = "rebuild it"
LARGEST_FILE = 1 << 27
"""A mechanism file with more bytes is neither written nor read."""


class Mechanism(Explained, WithTables, WithAbout):
    """Base class of every mechanism.

    It does not change: what differs is another mechanism. Two are equal when they are of one type, run on
    the same content and were built for the same columns.

    A subclass names its ``type`` (the word in the JSON file) and its ``fields``: what stands in the file, and
    what it is built from, checking everything. ``certificates`` audits the very numbers it runs on.
    """

    type: ClassVar[str]
    fields: ClassVar[tuple[str, ...]] = ()
    """The parts of its content: attributes of these names, which the constructor takes as plain values;
    ``total`` says what weights are counted out of."""

    exact_alternative: ClassVar[str] = "build a mechanism whose audit is exact"
    """Why reports are not drawn in integers, where they are not, and which mechanism draws them so."""

    intake: Intake = Intake()
    """The columns it was built for and what to do with missing values; see :meth:`for_data`."""

    _missing_word: ClassVar[str] = MISSING_CATEGORY
    """The category in which missing values are counted."""

    def content(self) -> dict[str, Any]:
        """Return everything the mechanism runs on as plain JSON values: its ``fields``."""
        parts = {name: part_as_json(self._part(name)) for name in self.fields if name != "total"}
        return parts | ({"total": TOTAL} if "total" in self.fields else {})

    def _part(self, name: str) -> Any:
        """Return a part of the content, as the constructor takes it."""
        return getattr(self, name)

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Build the mechanism from :meth:`content`; raise CertificateError naming what fails."""
        if "total" in cls.fields:
            require_total(content)
        return cls(**{name: content[name] for name in cls.fields if name != "total"})

    @abstractmethod
    def certificates(self) -> tuple[Certificate, ...]:
        """Audit the mechanism and return one certificate a property."""

    def audit(self) -> Verdict:
        """Audit the mechanism again: ``print`` what comes back, or ask it for ``.holds``.

        Mechanisms that collect data return what was found about their privacy, with ``.epsilon`` and
        ``.true_epsilon``; others return all their certificates.
        """
        return CertificateAudit(self.certificates())

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Mechanism) or type(other) is not type(self):
            return NotImplemented
        return self.intake == other.intake and self.content() == other.content()

    def __hash__(self) -> int:
        return hash((self.fingerprint, self.intake))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._figures()})"

    def _figures(self) -> str:
        """Return the text that ``repr`` shows between the brackets: the figures that matter, in one line."""
        return f"fingerprint {self.fingerprint[:12]}"

    def explained(self) -> tuple[str, ...]:
        """Return an explanation of the mechanism, in sentences for readers who do not read code.

        Examples
        --------
        >>> from mechdesign.primitives import FiniteChannel, PrivacyTarget
        >>> channel = FiniteChannel.from_floats(np.array([[0.75, 0.25], [0.25, 0.75]]), PrivacyTarget(1.2))
        >>> channel.explained()[-1]
        'Of 1000 users whose answer is 1, about 250 report 0 and about 750 report 1.'
        """
        purpose = " ".join((type(self).__doc__ or self.type).split("\n\n")[0].split())
        return (re.sub(MARKUP, r"\1", purpose),)

    def operations(self) -> tuple[Operation, ...]:
        """Return the table operations of the mechanism: the columns that each takes and gives."""
        return ()

    @property
    def data_columns(self) -> tuple[str, ...]:
        """The columns of users' data it was built for; empty when it does not say."""
        return self.intake.columns

    def bare_codes(self) -> tuple[tuple[str | None, int], ...]:
        """Return each column's name, if it has one, and how many codes it takes; 0 for names."""
        return ()

    def forecast(self, users: int = USERS) -> Forecast | None:
        """Return the expected standard error with this many users; None where it estimates nothing."""
        return None

    def recipe(self) -> Recipe:
        """Return how a client draws a report in integers; see :mod:`mechdesign.collect.kernel`.

        Raises
        ------
        MethodError
            Where reports are not drawn in whole numbers, naming the exact mechanism that would do.
        """
        raise self._no_recipe()

    def _no_recipe(self) -> MethodError:
        """Return the error for a mechanism whose reports are not drawn in integers: which one would do."""
        fault = f"'{self.type}' has no client in integers"
        return MethodError("export", fault, self.exact_alternative)

    def draw_recipe(self, answer: Answer, source: BitSource) -> Any:
        """Return one report as a plain value, from the bits of a source, as every client draws it."""
        raise self._no_recipe()

    def figures(self) -> list[Figure]:
        """Return pictures of it, for ``plot``; by default its errors over the number of users, if any."""
        from mechdesign.show.panels import forecast_figures

        return forecast_figures(repr(self), self.forecast)

    def for_data(self, intake: Intake, ranges: Sequence[tuple[float, float]] = ()) -> Self:
        """Return the mechanism for these columns of a file; one of numbers also for their ranges.

        Parameters
        ----------
        intake : Intake
        ranges : sequence of (low, high)
            One for all columns, or one each.

        Raises
        ------
        ParameterError
            When it takes another number of columns, or no ranges.
        """
        if ranges:
            raise ParameterError("range", f"a {self.type} takes no numbers", "omit it")
        if len(intake.columns) > 1:
            raise ParameterError("columns", f"{len(intake.columns)} for a mechanism of one", "name one")
        self._require_missing(intake.missing)
        return self.replaced(intake=intake)

    def _is_value(self, text: str) -> bool:
        """Whether a text can be an answer in a data file, and so hardly is the name of a column: a number."""
        return number_of_text(text) is not None

    def _require_missing(self, rule: str) -> None:
        """Raise ParameterError when missing values are to be a category and it has none for them."""
        if rule == "category":
            raise ParameterError("missing", f"a {self.type} has no category for missing values", "use 'drop'")

    @cached_property
    def fingerprint(self) -> str:
        """A SHA-256 digest of the content: it proves what is drawn, whatever survey it is for."""
        return digest(self.type, self.content())

    @property
    def survey_digest(self) -> str:
        """A SHA-256 digest of fingerprint and identity: reports of different surveys must not be mixed.

        Without an identity of the survey it is the fingerprint.
        """
        return survey_digest_of(self.fingerprint, self.about.id)

    def stream(self) -> str:
        """Return the label that separates the random stream of a seed from that of another mechanism."""
        return self.fingerprint

    @cached_property
    def _label(self) -> str:
        return f"{self.type} {self.stream()}"

    @property
    def _stream(self) -> str:
        """The label of random streams; waves of a survey after the first have others for the same seed."""
        return f"{self._label} {self.about.id}" if self.about.earlier else self._label

    def seeded(self, rng: Rng, purpose: str = "") -> np.random.Generator | None:
        """Return the numpy generator that ``rng`` names; None stands for the operating system's.

        A seed gives every mechanism a stream of its own, and each of its operations another one: two
        reports of one user, made by two mechanisms or by two operations with the same seed, have
        independent noise.

        Parameters
        ----------
        rng : None, int or numpy Generator
        purpose : str
            Which operation draws, where it is not the one that makes reports of data.
        """
        if rng is None or isinstance(rng, np.random.Generator):
            return rng
        return numpy_generator(rng, f"{self._stream} {purpose}" if purpose else self._stream)

    def source(self, rng: Rng, purpose: str = "") -> BitSource:
        """Return the uniform integers that ``rng`` names; see :meth:`seeded`."""
        return bit_source(self.seeded(rng, purpose))

    def document(self) -> dict[str, Any]:
        """Return the mechanism as it stands in its file; :func:`mechanism_of` takes it back."""
        document = {
            "format": FORMAT,
            "version": self.about.file_version,
            "type": self.type,
            "content": self.content(),
            "certificates": _written(self),
        }
        if self.about != About():
            document["about"] = self.about.as_json()
        if self.intake != Intake():
            document["data"] = self.intake.as_json()
        document["sha256"] = _sum_of(document)
        return with_numbers(document, file_values)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mechanism to a JSON file; the file appears whole or not at all."""
        text = json.dumps(self.document(), indent=1, allow_nan=False) + "\n"
        if len(text) > LARGEST_FILE:
            limit = LARGEST_FILE >> 20
            raise ModelFileError(path, f"the mechanism takes more than {limit} MiB", "make it smaller")
        with whole_file(path, ModelFileError) as temporary:
            temporary.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a mechanism of this class from a file and audit it again; see :func:`load_mechanism`."""
        mechanism = load_mechanism(path)
        if not isinstance(mechanism, cls):
            raise ModelFileError(path, f"holds a {type(mechanism).__name__}, not a {cls.__name__}")
        return mechanism


def _written(mechanism: Mechanism) -> list[Any]:
    """Return the certificates as they stand in the file."""
    return [encode(certificate.as_dict()) for certificate in mechanism.certificates()]


def _sum_of(document: Mapping[str, Any]) -> str:
    """Return the digest of what a file holds: the content, and its data and its survey where it says so."""
    parts = ("data", "about") if document["version"] >= SEALED_FROM else ("data",)
    covered = {name: document[name] for name in parts if name in document}
    content = document["content"]
    return digest(document["type"], {"content": content, **covered} if covered else content)


@cache
def mechanism_types() -> dict[str, type[Mechanism]]:
    """Return every mechanism class by its type word.

    A class is found by living in a registered package, or in a module that another distribution names by
    an entry point of the group ``mechdesign.mechanisms``.
    """
    import_all(extensions(FAMILIES), GROUP)
    return {kind.type: kind for kind in derived(Mechanism.__subclasses__()) if "type" in vars(kind)}


def mechanism_type(word: str) -> type[Mechanism] | None:
    """Return the class of a type word, or None; other modules than its own are imported only if necessary.

    So a family uses a mechanism of another one without importing it.

    Examples
    --------
    >>> mechanism_type("duchi").__name__, mechanism_type("no-such-type")
    ('Duchi', None)
    """
    return class_with(Mechanism.__subclasses__, "type", word, extensions(FAMILIES)) or mechanism_types().get(
        word
    )


def load_mechanism(path: str | os.PathLike[str]) -> Mechanism:
    """Load a mechanism from a JSON file, audit it again, and refuse it if anything fails.

    Parameters
    ----------
    path : path

    Returns
    -------
    Mechanism
        Of the class that the file names. Where one that collects, or one of another class, is expected, its
        class says so to type checkers and refuses others: ``CollectingMechanism.load(path)``.

    Raises
    ------
    ModelFileError
        When the file cannot be read or is not a mechanism file.
    CertificateError
        When the audit fails or the content is not what was saved; the text names what fails.

    Examples
    --------
    >>> import mechdesign as md, tempfile, os
    >>> mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)).mechanism()
    >>> path = os.path.join(tempfile.mkdtemp(), "survey.json")
    >>> mechanism.save(path)
    >>> md.load_mechanism(path).fingerprint == mechanism.fingerprint
    True
    """
    try:
        text = read_text(path, LARGEST_FILE, ModelFileError)
        document = parse_json(text)
    except ModelFileError:
        raise
    except OSError as error:
        raise ModelFileError(path, unread(error), "name a file written by build") from None
    except (ValueError, RecursionError) as error:
        raise ModelFileError(path, f"is not JSON ({error})", "name a file written by build") from None
    return mechanism_of(document, path)


def mechanism_of(document: Any, path: str | os.PathLike[str]) -> Mechanism:
    """Return the mechanism that the content of a file describes, audited; errors name the file."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError(path, "is not a mechanism file", "name a file written by build")
    version: Any = document.get("version")
    if version not in range(1, VERSION + 1) or isinstance(version, bool):
        raise ModelFileError(path, f"has version {version}, this release reads 1 to {VERSION}", AGAIN)
    if version > 1:
        document = with_numbers(document, plain_values)
    kind = document.get("type")
    kind_class = mechanism_type(kind) if isinstance(kind, str) else None
    if kind_class is None:
        known = suggestion(str(kind), mechanism_types())
        raise UnknownNameError(path, f"no mechanism type '{kind}'", known)
    return _restored(path, kind_class, document)


def _require_numbers(content: Mapping[str, Any]) -> None:
    """Refuse an epsilon or a delta in a text: a file holds the number itself."""
    for name in ("epsilon", "delta"):
        if isinstance(content.get(name), str):
            raise ParameterError(name, f"expected a number, got {text_of(content[name])}")


def _restored(path: str | os.PathLike[str], kind: type[Mechanism], document: Mapping[str, Any]) -> Mechanism:
    content = document.get("content")
    if not isinstance(content, dict):
        raise ModelFileError(path, "has no content", AGAIN)
    try:
        _require_numbers(content)
        mechanism = kind.from_content(content)
        if "data" in document:
            mechanism = mechanism.for_data(Intake.from_json(document["data"]))
        if "about" in document:
            mechanism = mechanism.with_about(About.from_json(document["about"], document["version"]))
        failed = [certificate for certificate in mechanism.certificates() if not certificate.holds]
        written = _written(mechanism)
    except CertificateError as error:
        remedy = "; ".join(dict.fromkeys([error.remedy or AGAIN, AGAIN]))
        raise CertificateError(f"{path}: refused", error.located, remedy) from None
    except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, AssertionError) as error:
        raise ModelFileError(path, f"content is damaged ({error!r})", AGAIN) from None
    except (ValueError, MemoryError) as error:
        raise ModelFileError(path, f"content is damaged ({error})", AGAIN) from None
    if failed:
        raise CertificateError(f"{path}: refused", failed[0], AGAIN)
    if still_stated(document, written) != written:
        raise CertificateError(f"{path}: refused", "its certificates are not its content's", AGAIN)
    if mechanism.content() != content:
        raise CertificateError(f"{path}: refused", "the content holds more than the mechanism runs on", AGAIN)
    if document.get("sha256") != _sum_of(document):
        what = "the file was changed after saving (sha256 differs)"
        raise CertificateError(f"{path}: refused", what, AGAIN)
    return mechanism


Row = tuple[Fraction, ...]


@frozen_value()
class Randomizer:
    """Facts about the local randomizer that all users run.

    Attributes
    ----------
    epsilon : float
        Its local epsilon, with delta 0.
    size : int
        k where its reports are those of a k-ary response with this epsilon, else 0.
    rows : tuple of tuples of Fraction
        Of a finite channel: Pr[report | input], a row an input; mixtures of rows are allowed as well.
    """

    epsilon: float
    size: int = 0
    rows: tuple[Row, ...] = ()


class CollectingMechanism(WithTotals, WithScores, Mechanism, Generic[EstimateT_co]):
    """A mechanism that collects: users' devices randomize, a server estimates.

    It is generic in what its server estimates, such as ``CollectingMechanism[MeanEstimate]``.
    """

    users_alike: ClassVar[bool] = False
    """Whether all users with the same value draw their reports with the same probabilities."""

    @abstractmethod
    def audit(self) -> PrivacyVerdict:
        """Return the result of the privacy audit of the numbers that the mechanism samples from."""

    @abstractmethod
    def randomize(self, answers: Any, *args: Any, **options: Any) -> NDArray[Any]:
        """Return the reports for users' values; without ``rng`` from the operating system's generator."""

    @abstractmethod
    def aggregator(self) -> Counter[EstimateT_co]:
        """Return an empty counter of reports; counters of several servers can be merged in any order."""

    @rng_alone
    def estimate(self, reports: Any, population: bool = False) -> EstimateT_co:
        """Return unbiased estimates with standard errors from the reports of all users.

        Parameters
        ----------
        reports : array
            What :meth:`randomize` returned, of all users, or the texts of a table.
        population : bool
            Whether to estimate for the population from which the users are a random sample.

        Raises
        ------
        EstimationError
            When the reports do not determine the estimate; the error names the answers that it cannot
            separate.
        DataError
            When there are no reports, or a report that no answer can produce.
        """
        counter = self.aggregator()
        counter.update(reports)
        return counter.estimate(population)

    def common_randomizer(self) -> Randomizer | None:
        """Return the facts about the randomizer that all users run, from which shuffling amplifies privacy.

        None unless ``users_alike``; else its true epsilon, and what is known besides in classes derived.
        """
        if not self.users_alike:
            return None
        return Randomizer(self.audit().true_epsilon)

    def require_estimable(self) -> None:
        """Raise EstimationError when the forecast shows that its reports do not allow a useful estimate."""
        prospect = self._prospect
        if prospect is not None and not prospect.possible:
            raise EstimationError(
                str(prospect), remedy="collect with another mechanism, or on purpose", switch="anyway"
            )

    @cached_property
    def _prospect(self) -> Forecast | None:
        """The forecast for the planned number of users; kept, because a client needs it for every answer."""
        return self.forecast()
