"""Mechanisms made of others: parts by chance or by question, and the kinds of parts that families offer.

**Parts by chance** (:class:`Split`). One of several branches is drawn for each user without looking at the
data, and is named in the report. Given the branch its parts are independent reports about different questions
of the same user. So the guarantees of a branch add up, and the whole is as private as its weakest branch,
whatever the shares are.

**Permanent reports** (:class:`PermanentReports`). What is drawn once for each user and kept in a file.
Whatever is sent later is drawn from it without a look at the answer, so that all of it together is as private
as the permanent report.

**Kinds of parts** (:class:`QuestionKind`). A kind designs the mechanism of a part, and says what its reports
are worth; a survey asks for it by its word. A new one is a class of a family, found soonest in its module
``question.py``.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from mechdesign.audit.classes import composed, weakest
from mechdesign.audit.losses import LossCurve
from mechdesign.collect.about import HasSurvey, Sealed, other_owner, owner_entries
from mechdesign.collect.base import mechanism_types
from mechdesign.collect.codec import Codes, Domain
from mechdesign.collect.kernel import row_hex
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import (
    DataError,
    ModelFileError,
    ParameterError,
    RowError,
    UnknownNameError,
    suggestion,
    unread,
)
from mechdesign.core.extensions import FAMILIES, class_with, extensions
from mechdesign.core.guarantee import Guarantee, Proof
from mechdesign.data.identifiers import identifier_or
from mechdesign.exact.numbers import rational, text_of
from mechdesign.exact.randomness import BITS, TOTAL, BitSource
from mechdesign.primitives.kary import KaryResponse
from mechdesign.work.files import one_at_a_time, parse_json, read_text, whole_file

Array = NDArray[np.float64]
EntryT = TypeVar("EntryT")
PartT = TypeVar("PartT")

PIECE = 1 << 16
"""Users whose reports are drawn at a time; blocks of files are a multiple of it."""


def view_weights(count: int, shares: Sequence[Any] | None) -> tuple[int, ...]:
    """Return shares as positive integers that sum to 2**62: the largest remainders are rounded up."""
    exact = [Fraction(1)] * count if shares is None else [rational("shares", share) for share in shares]
    if len(exact) != count:
        raise ParameterError("shares", f"{len(exact)} for {count} views", "give one each")
    if min(exact) <= 0:
        raise ParameterError("shares", "must be positive", "omit views that no user reports")
    parts = [share * TOTAL / sum(exact) for share in exact]
    rounded = [math.floor(part) for part in parts]
    order = sorted(range(count), key=lambda place: rounded[place] - parts[place])
    for place in order[: TOTAL - sum(rounded)]:
        rounded[place] += 1
    if min(rounded) < 1:
        raise ParameterError("shares", "one is below 2**-62 of all", "leave that view out")
    return tuple(rounded)


class Split(Sealed, Generic[PartT]):
    """Branches, one of which each user reports, and the parts of each, all of which are reported.

    Parameters
    ----------
    branches : sequence of sequences of parts
    shares : sequence of numbers, optional
        In which proportion the branches are drawn, exactly; even by default.

    Examples
    --------
    >>> from mechdesign.exact.randomness import bit_source
    >>> split = Split([["a", "b"], ["c"]], [1, 3])
    >>> split.share(1), [numbers.tolist() for _, numbers in split.draw(5, bit_source(1))]
    (0.75, [[1, 1, 0, 1, 1]])
    >>> half = Proof(Guarantee("0.5"), true_epsilon="0.5", pairs=2)
    >>> split.proof(Guarantee(1), [[half, half], [half]]).true_epsilon
    Fraction(1, 1)
    """

    def __init__(self, branches: Sequence[Sequence[PartT]], shares: Sequence[Any] | None = None) -> None:
        self.branches = tuple(tuple(parts) for parts in branches)
        self.weights = view_weights(len(self.branches), shares)

    def share(self, number: int) -> float:
        """Return the probability of a branch."""
        return self.weights[number] / TOTAL

    def ends(self) -> str:
        """Return the cumulative weights as the steps of a client have them."""
        return row_hex(list(accumulate(self.weights)))

    def draw(self, users: int, source: BitSource) -> Iterator[tuple[int, Codes]]:
        """Yield the first of the next users, and the numbers of their branches."""
        limits = np.cumsum(np.array(self.weights, dtype=np.int64))[:-1]
        for start in range(0, users, PIECE):
            yield start, np.searchsorted(limits, source.integers(min(PIECE, users - start)), side="right")

    def counters(self) -> list[list[Any]]:
        """Return an empty counter for each part of each branch."""
        branches: Any = self.branches
        return [[part.aggregator() for part in parts] for parts in branches]

    def proof(self, promise: Guarantee, proofs: Sequence[Sequence[Proof]]) -> Proof:
        """Return what the proofs of all parts prove: by question the sum, by chance the largest."""
        return weakest(promise, [composed(promise, list(parts)) for parts in proofs])

    def curve(self, curves: Sequence[Sequence[LossCurve | None]]) -> LossCurve | None:
        """Return the curve of delta of the whole: of all parts of a branch, and mixed over the branches.

        None where that of a part is not known.
        """
        products: dict[tuple[LossCurve, ...], LossCurve] = {}
        shares: dict[LossCurve, Fraction] = {}
        for weight, parts in zip(self.weights, curves, strict=True):
            known = tuple(part for part in parts if part is not None)
            if len(known) < len(parts):
                return None
            if known not in products:
                products[known] = LossCurve.product(known)
            shares[products[known]] = shares.get(products[known], Fraction(0)) + Fraction(weight, TOTAL)
        return LossCurve.mixed([(share, curve) for curve, share in shares.items()])

    def normalization(self) -> Certificate:
        """Return the certificate that the probabilities of the branches add up to 1."""
        total = sum(self.weights)
        return Certificate("normalization", total == TOTAL, True, {"share_sum": f"2**{BITS}"})


LARGEST_FILE = 1 << 28


class PermanentReports(ABC, Generic[EntryT]):
    """What was drawn once for each user, and the file that keeps it.

    Once it was saved or loaded, the file is its home: what is new is there before anything drawn from it
    leaves, so that neither a crash nor a second process draws for a user twice.

    Parameters
    ----------
    owner : Mechanism
        Whose reports they are; those of another mechanism or survey are refused.
    entries : mapping, optional
        From users to what is kept of each, as plain values of JSON.

    Class attributes
    ----------------
    format : str
        The word by which a file is known.
    contents : str
        What a file holds, for people.
    """

    format: ClassVar[str]
    contents: ClassVar[str]

    def __init__(self, owner: HasSurvey, entries: Mapping[str, EntryT] | None = None) -> None:
        self.owner = owner
        self.path: Path | None = None
        self.name = ""
        self._entries: dict[str, EntryT] = dict(entries or {})
        self._names = _by_identifier(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, user: object) -> bool:
        return user in self._names

    @property
    def users(self) -> tuple[str, ...]:
        """Users of whom something is kept."""
        return tuple(self._entries)

    def entry(self, user: str) -> EntryT:
        """Return what is kept of a user, by identifier; UnknownNameError where nothing is."""
        if user not in self._names:
            remedy = suggestion(user, self.users) or "ask() them first"
            raise UnknownNameError("users", f"no report of {text_of(user)}", remedy)
        return self._entries[self._names[user]]

    def add(self, entries: Mapping[str, EntryT]) -> None:
        """Take what was drawn for users, new ones or those that are there."""
        for user, entry in entries.items():
            self._entries[self._names.setdefault(user, user)] = entry

    def differ(self, mine: EntryT, theirs: EntryT) -> bool:
        """Whether two entries of a user were drawn apart; by default where they are not equal."""
        return mine != theirs

    def in_file(self, change: Callable[[], bool]) -> None:
        """Run a change of the entries on what the file holds by now, and write it if the change says so."""
        if self.path is None:
            change()
            return
        with one_at_a_time(self.path, ModelFileError):
            self._join(self.path)
            if change():
                self._write(self.path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them to a file, for its owner only; it appears whole or not at all.

        Users who are in the file already stay there.

        Raises
        ------
        DataError, ModelFileError
            When something else stands there, or another report of one of the users.
        """
        place = Path(os.path.realpath(path))
        with one_at_a_time(place, ModelFileError):
            if place.exists():
                self._join(place)
            self._write(place)
        self.path, self.name = place, str(path)

    @classmethod
    def load(cls, owner: Any, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote, for the same mechanism and survey; errors as there."""
        try:
            result = cls(owner, cls._read(owner, path))
        except RowError:
            raise ModelFileError(path, "is damaged", "use a copy of it") from None
        result.path, result.name = Path(os.path.realpath(path)), str(path)
        return result

    def _join(self, path: Path) -> None:
        """Take the users of the file in; nobody may have two reports."""
        there = self._read(self.owner, path)
        for name, user in _by_identifier(there).items():
            if name in self._names and self.differ(self._entries[self._names[name]], there[user]):
                what = f"holds another report of user {text_of(user)}"
                raise DataError(path, what, "load it before you ask")
        self._entries = there | {user: self._entries[user] for user in self._entries if user not in there}
        self._names = _by_identifier(self._entries)

    def _write(self, path: Path) -> None:
        document = {"format": self.format, **owner_entries(self.owner), "reports": self._entries}
        text = json.dumps({**document, "sha256": _sum_of(document)}, ensure_ascii=False)
        if len(text.encode()) >= LARGEST_FILE:
            limit = LARGEST_FILE >> 20
            raise ModelFileError(path, f"would take more than {limit} MiB", "keep fewer in a file")
        with whole_file(path, ModelFileError, durable=True, private=True) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def _read(cls, owner: HasSurvey, path: str | os.PathLike[str]) -> dict[str, EntryT]:
        try:
            document = parse_json(read_text(path, LARGEST_FILE, ModelFileError))
        except OSError as error:
            raise ModelFileError(path, unread(error), "check the path") from None
        except (ValueError, RecursionError) as error:
            raise ModelFileError(path, f"holds no reports ({error})", "choose another path") from None
        if not isinstance(document, dict) or document.get("format") != cls.format:
            raise ModelFileError(path, f"holds no {cls.contents}", "choose another path")
        if document.pop("sha256", None) != _sum_of(document) or not isinstance(document.get("reports"), dict):
            raise ModelFileError(path, "is damaged", "use a copy of it")
        if document.get("mechanism") != owner.survey_digest:
            whose = other_owner(owner, document.get("survey"), document.get("mechanism"))
            raise DataError(path, f"belongs to {whose}", "use the mechanism file it was made with")
        result: dict[str, EntryT] = document["reports"]
        return result


def _by_identifier(users: Mapping[str, Any]) -> dict[str, str]:
    """Return the users of a file by their identifiers; of two forms of one the first counts."""
    names: dict[str, str] = {}
    for user in users:
        names.setdefault(identifier_or(user), user)  # a file of an earlier release took any text
    return names


def _sum_of(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class QuestionForm:
    """What one report is about: sizes of the questions, the range of a number, sizes of reported sets.

    A number that is asked for its mean has the size 2, for the ends of its range.
    """

    sizes: tuple[int, ...]
    domain: Domain | None = None
    sets: tuple[int, ...] = ()


class QuestionKind(ABC):
    """One way to report the answers of a user to some questions together, by its word in solutions."""

    question_kind: ClassVar[str]

    @abstractmethod
    def mechanism(self, form: QuestionForm, epsilon: float, promised: float) -> Any:
        """Return the mechanism that is private at the promised epsilon, or None.

        A channel is solved for ``epsilon``; kinds in closed form take the promised one alone.
        """

    def variance(self, size: int, epsilon: float) -> float:
        """Return the variance of a report about a question of this size; infinite where it is not known."""
        return math.inf

    def variances(self, size: int, epsilons: Array) -> Array:
        """Return the variances for a plan; infinite where another kind is known to have a smaller one."""
        return np.array([self.variance(size, epsilon) for epsilon in epsilons.tolist()])

    def slope(self, size: int, epsilon: float) -> float:
        """Return the derivative of the variance in epsilon, of a channel that is solved at each."""
        return math.nan

    def solved(self, size: int) -> tuple[Array, Array]:
        """Return the epsilons at which channels are solved already, in order, and their variances."""
        return np.empty(0), np.empty(0)

    def best_sets(self, sizes: Sequence[int], epsilon: float, prices: Sequence[float]) -> list[list[int]]:
        """Return the sizes of sets that are worth most at prices of effective shares, the best ones first."""
        return []


class CellsKind(QuestionKind):
    """One cell of a table by k-ary response, whose report supports no other cell."""

    question_kind: ClassVar[str] = "cells"

    def mechanism(self, form: QuestionForm, epsilon: float, promised: float) -> KaryResponse:
        return KaryResponse.of(math.prod(form.sizes), promised)


@cache
def question_kind(word: str) -> QuestionKind:
    """Return the kind of this word; no other family than the one that offers it is imported.

    Examples
    --------
    >>> question_kind("number").mechanism(QuestionForm((2,), Domain(0, 1)), 1.0, 1.0).audit().holds
    True
    """
    places = QuestionKind.__subclasses__, "question_kind", word, extensions(FAMILIES)
    kind = class_with(*places)
    if kind is None and mechanism_types():  # which imports what other distributions bring
        kind = class_with(*places)
    if kind is None:
        raise UnknownNameError("designs", f"no family reports questions by '{word}'")
    return kind()
