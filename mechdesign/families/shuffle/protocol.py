"""The noun *protocol*: devices encode, a shuffler mixes the messages of all, an analyzer counts them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.collect.collecting import Operation, marked
from mechdesign.collect.kernel import Answer, AskedChoice, AskedNumber, Recipe
from mechdesign.collect.server import run_on_tables
from mechdesign.core.certificate import Certificate
from mechdesign.core.errors import CertificateError, DataError, MethodError, counted
from mechdesign.core.extensions import FormerAttribute
from mechdesign.core.values import Forecast
from mechdesign.data.frames import is_table
from mechdesign.exact.randomness import BitSource
from mechdesign.families.shuffle.count_limits import Array, CountLimits, NoiseLimits, Sum, TwoKinds
from mechdesign.families.shuffle.encoding import MessageProtocol
from mechdesign.families.shuffle.messages import MessageCounter, protocol_operations
from mechdesign.families.shuffle.noise import Allowed, NoiseClass
from mechdesign.families.shuffle.promise import OutOfReachError, Promise, calibration_name
from mechdesign.show.figure import Bars, Figure, Panel

UNLIKELY = 1e-6
"""Numbers of messages with a smaller chance, on either side, cause a note."""


EXACT = 1 << 53
"""Messages with larger numbers are written as texts of digits: other languages round such numbers."""

LARGEST_RING = 1 << 52
"""Of larger rings the sum of two numbers is not exact in every language."""


class Protocol(MessageProtocol):
    """A protocol in the shuffle model: a row of a task and its noise.

    The task (``tasks``) reads people's values and says what is estimated. The noise makes the messages,
    proves from the very integers that clients draw with how private they are, and states what messages say of
    a value, which the task decodes linearly; a protocol with code of its own decodes what is not linear. A
    protocol is built from the promise, the calibration, the setting of its task, and the fields of its noise,
    whose class describes them.
    """

    _hiding: ClassVar[NoiseClass]
    """The class of its noise."""

    public_seeds: ClassVar[tuple[str, ...]] = ()
    drawn = FormerAttribute("public_seeds")
    """Public parameters that are drawn again for every mechanism that is built, unless they are given."""

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
    def mean_messages(self) -> float:
        """The expected number of messages of a user, at its largest over the values."""
        return self.noise.mean_messages

    @property
    def message_bits(self) -> int:
        """The bits that number all messages."""
        return max(1, sum((size - 1).bit_length() for size in self.noise.alphabets))

    # Analyzer

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
