"""The noun *protocol*: devices encode, a shuffler mixes the messages of all, an analyzer counts them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.base import Mechanism
from mechdesign.collect.collecting import Operation, marked
from mechdesign.collect.kernel import Answer, AskedChoice, AskedNumber, Recipe
from mechdesign.collect.server import on_table, run_on_tables
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, DataError, MethodError, RowError, counted
from mechdesign.core.extensions import FormerAttribute
from mechdesign.core.values import Forecast
from mechdesign.data.frames import is_table
from mechdesign.data.intake import array_of
from mechdesign.exact.numbers import wholes
from mechdesign.exact.randomness import BitSource, Rng
from mechdesign.families.shuffle.count_limits import Array, CountLimits, NoiseLimits, Sum, TwoKinds
from mechdesign.families.shuffle.messages import MessageCounter, protocol_operations
from mechdesign.families.shuffle.noise import Allowed, Messages, Noise, NoiseClass
from mechdesign.families.shuffle.promise import OutOfReachError, Promise, calibration_name
from mechdesign.show.figure import Bars, Figure, Panel

UNLIKELY = 1e-6
"""Numbers of messages with a smaller chance, on either side, cause a note."""

PIECE = 1 << 16
"""Users that are encoded at a time; their noise does not depend on how a table is cut into blocks."""


EXACT = 1 << 53
"""Messages with larger numbers are written as texts of digits: other languages round such numbers."""

LARGEST_RING = 1 << 52
"""Of larger rings the sum of two numbers is not exact in every language."""


class Protocol(Mechanism):
    """A protocol in the shuffle model: a row of a task and its noise.

    The task (``tasks``) reads people's values and says what is estimated. The noise makes the messages,
    proves from the very integers that clients draw with how private they are, and states what messages say of
    a value, which the task decodes linearly; a protocol with code of its own decodes what is not linear. A
    protocol is built from the promise, the calibration, the setting of its task, and the fields of its noise,
    whose class describes them.
    """

    noise: Noise
    _hiding: ClassVar[NoiseClass]
    """The class of its noise."""

    quantity: ClassVar[str]
    _value_text: ClassVar[str]
    _message_parts: ClassVar[tuple[str, ...]] = ("message",)
    public_seeds: ClassVar[tuple[str, ...]] = ()
    drawn = FormerAttribute("public_seeds")
    """Public parameters that are drawn again for every mechanism that is built, unless they are given."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the parts of a message."""
        return self._message_parts

    def __init__(self, promise: Promise, calibration: str) -> None:
        self.promise, self.calibration = promise, calibration_name(calibration)

    @classmethod
    @abstractmethod
    def calibrated(cls, promise: Promise, *setting: Any, **allowed: Any) -> Self:
        """Return the one with about the least noise whose divergence is proven to be small enough."""

    @classmethod
    def published(cls, promise: Promise, *setting: Any, **allowed: Any) -> Self:
        """Return the one with the constants of its paper; the arguments are those of ``calibrated``."""
        return cls.calibrated(promise, *setting, calibration="published", **allowed)

    # What a protocol has to say of itself

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the clients as plain values, without the guarantee."""
        return self.noise.parameters()

    def setting(self) -> dict[str, Any]:
        """Return the setting of the users' values, without the guarantee: categories, labels, a precision."""
        return {}

    @property
    def least_delta(self) -> float:
        """A proven upper bound of the divergence of neighbouring data sets at epsilon, rounded up."""
        return self.noise.least_delta

    @property
    def holds(self) -> bool:
        """Whether the guarantee is proven."""
        return self.least_delta <= self.promise.delta

    @property
    @abstractmethod
    def witness(self) -> Mapping[str, Any]:
        """Neighbouring data and the set of outcomes that tell them apart best."""

    @property
    def local_epsilon(self) -> float:
        """The epsilon of one user's messages before they are shuffled; infinite without local privacy."""
        return self.noise.local_epsilon

    @property
    @abstractmethod
    def rmse(self) -> float:
        """The root of the mean squared error that the problem minimises."""

    @property
    def most_messages(self) -> int:
        """The most messages that a user may send."""
        return self.noise.most_messages

    @property
    def mean_messages(self) -> float:
        """The expected number of messages of a user, at its largest over the values."""
        return self.noise.mean_messages

    @property
    def message_bits(self) -> int:
        """The bits that number all messages."""
        return max(1, sum((size - 1).bit_length() for size in self.noise.alphabets))

    # Client, shuffler, analyzer

    @abstractmethod
    def _read_values(self, values: Any) -> NDArray[Any]:
        """Return users' values as the client takes them, or raise DataError naming the row."""

    def _require_users(self, count: int) -> None:
        """Raise DataError for more users than the protocol is for."""
        if count > self.promise.users:
            raise DataError(
                "values", f"{count} for a protocol of {self.promise.users} users", "build it for all of them"
            )

    def _encode_piece(self, values: NDArray[Any], source: BitSource) -> Messages:
        """Return the messages of some users, checked values given; shape (messages, columns)."""
        return self.noise.encode(values, source)

    def encode(self, values: Any, rng: Rng = None) -> Messages:
        """Return the messages of these users, in their order: to be shuffled before anyone sees them.

        Parameters
        ----------
        values : (n,) array, series or data frame
        rng : int or numpy Generator, optional
            For repeatable simulations; the system's generator by default.

        Returns
        -------
        (messages, columns) int array
        """
        if is_table(values):
            return on_table(self, "encode", values, rng=rng)
        checked, source = self._read_values(values), self.source(rng)
        pieces = [
            self._encode_piece(checked[start : start + PIECE], source)
            for start in range(0, len(checked), PIECE)
        ]
        return np.concatenate(pieces) if pieces else np.zeros((0, len(self.columns)), dtype=np.int64)

    def shuffle(self, messages: Any, rng: Rng = None) -> Messages:
        """Return the messages sorted: a set of messages without order says no more than that.

        Random numbers are drawn only where a protocol's shuffler adds messages of its own.

        Raises
        ------
        DataError
            For a message outside the alphabet, or a number of messages that these users cannot have sent.
        """
        if is_table(messages):
            return on_table(self, "shuffle", messages, rng=rng)
        checked = self.with_fakes(self._checked_messages(messages), rng)
        self._require_messages(len(checked))
        if checked.shape[1] == 1:
            return np.sort(checked, axis=0)
        return checked[np.lexsort(checked.T[::-1])]

    def with_fakes(self, messages: Messages, rng: Rng) -> Messages:
        """Return the messages with those that the shuffler adds; by default none."""
        return messages

    def counter(self) -> MessageCounter:
        """Return an empty counter of messages; those of many servers can be merged in any order."""
        return MessageCounter(self)

    def analyze(self, messages: Any) -> Any:
        """Return the estimate from the messages of all users; DataError for what they cannot have sent."""
        if is_table(messages):
            return run_on_tables(self, "analyze", [messages], {})
        counter = self.counter()
        counter.update(messages)
        return counter.estimate()

    @abstractmethod
    def _tally(self, messages: Messages) -> NDArray[np.int64]:
        """Return the sums that the estimate needs of checked messages; sums of parts add up."""

    _one_each: ClassVar[bool] = False
    """Whether each message adds 1 to one of the sums and 0 to the others."""

    _halves: ClassVar[bool] = False
    """Whether the second half of the sums counts the messages that were added up in the first one."""

    @property
    def _most_added(self) -> int:
        """The most that a message adds to a sum."""
        return 1

    @property
    def _ring(self) -> int | None:
        """The number of elements of the ring in which sums are formed, where they are; counts are not."""
        return None

    @property
    @abstractmethod
    def _tally_size(self) -> int:
        """Number of sums."""

    @property
    def _expected(self) -> TwoKinds:
        """What messages say of a value with the expected number of dummies."""
        return self.noise.decoder(Sum(self.noise.dummy_messages).mean)

    def _decoded(
        self, sums: NDArray[np.int64], messages: int
    ) -> tuple[Array, Array, CountLimits | NoiseLimits]:
        """Return the unbiased counts with standard errors, given how many messages there are; and limits."""
        users = self.promise.users
        decoder = self.noise.decoder(messages - users * self.noise.least_messages)
        value = decoder.value(sums)
        errors = np.sqrt(decoder.variance(np.clip(value, 0.0, float(users))))
        return value, errors, decoder.limits(sums, value, users)

    @abstractmethod
    def _estimate_of(self, sums: NDArray[np.int64], messages: int) -> Any:
        """Return the estimate from the sums over all messages."""

    def _checked_messages(self, messages: Any) -> Messages:
        """Return messages as an int64 array of the right width; refuse what is outside the alphabet."""
        kind = array_of(messages, "messages")
        if kind.ndim == 1:
            kind = kind.reshape(-1, 1)
        if kind.ndim != 2 or kind.shape[1] != len(self.columns):
            raise DataError(
                "messages",
                f"expected {len(self.columns)} column(s) ({', '.join(self.columns)})",
                "give what encode or shuffle returned",
            )
        if kind.size == 0:
            return np.zeros((0, len(self.columns)), dtype=np.int64)
        checked = wholes("messages", kind, 2)
        for place, size in enumerate(self.noise.alphabets):
            column = checked[:, place]
            if int(column.min()) >= 0 and int(column.max()) < size:
                continue
            row = int(np.argmax((column < 0) | (column >= size)))
            raise RowError(
                "messages",
                row,
                f"{int(column[row])} is outside the alphabet of '{self.columns[place]}', 0 to {size - 1}",
                "use the messages of this protocol's clients",
            )
        return checked

    def _require_messages(self, count: int) -> None:
        """Raise DataError when these users cannot have sent ``count`` messages."""
        low, high = self._message_range
        if low <= count <= high:
            return
        expected = str(low) if low == high else f"{low} to {high}"
        raise DataError(
            "messages",
            f"{count}, and {self.promise.users} users send {expected}",
            "give those of all users, each once",
        )

    def _require_sent(
        self,
        sent: NDArray[np.int64],
        each: NDArray[np.int64] | int,
        thing: str = "category",
        what: str = "share",
    ) -> None:
        """Raise DataError for a category that not every user has sent all about."""
        wrong = np.flatnonzero(sent != self.promise.users * each)
        if len(wrong):
            place = int(wrong[0])
            least = int(np.broadcast_to(each, len(sent))[place])
            raise DataError(
                "messages",
                f"{thing} {place} has {counted(int(sent[place]), what)}, and {self.promise.users} users send "
                f"{'one' if least == 1 else least} each",
                "give those of all users",
            )

    def _message_notes(self, messages: int) -> tuple[str, ...]:
        """Return a note when all users would hardly ever send ``messages`` messages."""
        dummies, own = self.noise.dummy_messages, self.promise.users * self.noise.least_messages
        if not dummies:
            return ()
        low, high = Sum(dummies).quantiles(UNLIKELY)
        if low <= messages - own <= high:
            return ()
        expected = own + Sum(dummies).mean
        return (
            f"{messages} messages, and {self.promise.users} users send about {expected:.6g}: messages are "
            "missing or added, and the estimates and intervals ignore this",
        )

    @property
    def _message_range(self) -> tuple[int, int]:
        """The fewest and the most messages that an analyzer may get."""
        return self.promise.users * self.noise.least_messages, self.promise.users * self.most_messages

    def _keeping(self, allowed: Allowed) -> Self:
        """Return the protocol itself; raise OutOfReachError when a user sends, or tells, more than that."""
        max_messages, local_cap = allowed.max_messages, allowed.local_cap
        if max_messages is not None and self.most_messages > max_messages:
            raise OutOfReachError(
                f"it sends up to {self.most_messages} messages per user", remedy="allow as many"
            )
        if local_cap is not None and self.local_epsilon > local_cap:
            raise OutOfReachError(f"its local epsilon is {self.local_epsilon:.4g}", remedy="allow as much")
        return self

    # What it promises

    sensitivity: ClassVar[float] = 1.0
    """By how much one user changes what is counted, all numbers added."""

    _curator: ClassVar[str] = "Laplace noise of a trusted curator"
    """Whose error stands next to its own in pictures."""

    is_pure: ClassVar[bool] = False
    """Whether the guarantee is kept with delta 0."""

    @cached_property
    def _privacy(self) -> Certificate:
        promise, least = self.promise, self.least_delta
        figures = {**promise.as_dict(), "least_delta": least, "calibration": self.calibration}
        if math.isfinite(self.local_epsilon):
            figures["local_epsilon"] = self.local_epsilon
        rational, note = self.noise.is_rational, self.noise.proof
        if self.noise.is_computed and not rational:
            note += "; for real numbers, by doubles rounded outward"
        proof = self.promise.proof(least, rational)
        return Certificate(
            "privacy", least <= promise.delta, rational, figures, self.witness, note, proof=proof
        )

    def certificates(self) -> tuple[Certificate, ...]:
        return (self._privacy,)

    def require(self) -> Self:
        """Return the protocol itself, or raise CertificateError when it is not private as stated."""
        if not self._privacy.holds:
            raise CertificateError(self.type, f"not private as stated: {self._privacy}")
        return self

    def forecast(self, users: int | None = None) -> Forecast:
        """Return the root mean squared error for the users it was made for: a protocol has no others."""
        quantity = f"the {self.quantity}"
        return Forecast(quantity, self.promise.users, possible=True, largest=self.rmse, of=quantity)

    def figures(self) -> list[Figure]:
        """Return its error next to that of a curator who sees all data and adds Laplace noise."""
        error = math.sqrt(2.0) * self.sensitivity / self.promise.epsilon
        return self._beside(f"root mean squared error ({self.quantity})", self._curator, error)

    def _beside(self, y_label: str, other: str, error: float) -> list[Figure]:
        """Return the picture of two bars: the error, and what others reach."""
        promise = self.promise
        panel = Panel(
            f"{counted(promise.users, 'user')}, epsilon = {promise.epsilon:g}, delta = {promise.delta:g}",
            y_label,
            [Bars(x=[0, 1], y=[self.rmse, error])],
            x_names=(self.type, other),
        )
        return [Figure("The error of trusting only the shuffler", [panel])]

    # Files

    def content(self) -> dict[str, Any]:
        promise = {**self.promise.as_dict(), "calibration": self.calibration}
        return {**promise, **self.setting(), **self.parameters()}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        rest = dict(content)
        promise = Promise(*(rest.pop(name) for name in ("users", "epsilon", "delta", "honest")))
        return cls(promise, rest.pop("calibration"), **rest)

    def operations(self) -> tuple[Operation, ...]:
        return protocol_operations(self)

    # The client of other languages

    def _question(self, column: str | None) -> AskedChoice | AskedNumber:
        """Return what a client asks its user; numbers are rounded to steps."""
        return AskedNumber(column, 0.0, 1.0)

    def recipe(self) -> Recipe:
        """Return how a client draws the messages of one value, which go to a shuffler."""
        if (self._ring or 0) > LARGEST_RING:
            raise MethodError(
                "export", f"shares of this {self.type} are beyond 2^52", "build it with a smaller precision"
            )
        question = self._question(self.data_columns[0] if self.data_columns else None)
        steps = self.setting().get("precision") if isinstance(question, AskedNumber) else None
        parts = self.noise.client_parts()
        actions = {"step": "messages", "round": steps, "texts": self._texts, "parts": parts}
        columns = tuple(marked(part, self.survey_digest) for part in self.columns)
        return Recipe((question,), columns, actions, True, True)

    def draw_recipe(self, answer: Answer, source: BitSource) -> Any:
        """Return the messages of one value in sorted order, from the bits of a source."""
        messages: list[list[int]] = sorted(self._encode_piece(self._read_values([answer]), source).tolist())
        return [list(map(str, row)) for row in messages] if self._texts else messages

    @property
    def _texts(self) -> bool:
        """Whether the numbers of messages are written as texts."""
        return max(self.noise.alphabets) > EXACT

    def _figures(self) -> str:
        promise = self.promise
        values = (self.setting() | self.parameters()).items()
        parts = [f"{key}={value}" for key, value in values if _short(value)]
        honest = [] if promise.honest == 1.0 else [f"honest={promise.honest:g}"]
        stated = f"{counted(promise.users, 'user')}, epsilon={promise.epsilon:g}, delta={promise.delta:g}"
        return ", ".join([stated, *honest, *parts, self.calibration])


def _short(value: Any) -> bool:
    return isinstance(value, (int, float)) or (isinstance(value, str) and len(value) < 20)
