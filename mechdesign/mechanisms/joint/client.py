"""What a client keeps: its permanent response, from which every report is drawn, also after a restart."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mechdesign.core.errors import DataError, MethodError, ModelFileError
from mechdesign.core.files import read_text, whole_file
from mechdesign.core.numbers import plain
from mechdesign.core.randomness import BitSource, Rng
from mechdesign.mechanisms.oracles.packed import Packed, as_texts

FORMAT = "mechdesign-permanent-response"
LARGEST_FILE = 1 << 27


class Reporting(Protocol):
    """What a client needs to know of its mechanism."""

    reports: int
    epsilon: float

    @property
    def fingerprint(self) -> str:
        """The digest of its content."""

    def source(self, rng: Rng) -> BitSource:
        """Return uniform integers."""

    def draw_reports(self, permanent: Packed, source: BitSource) -> Packed:
        """Return reports for permanent bits."""

    def read(self, reports: Any) -> Packed:
        """Return packed bits from texts."""

    def audit(self) -> Any:
        """Return the audit, which has ``any_reports``."""


class PermanentResponse:
    """The permanent response of one client, or of several in a simulation, and how often it has reported.

    Every report is drawn from the same kept bits, so that no number of reports says more than these do. When
    the promise is for R reports only, the next one is refused, unless any number of reports keeps it.

    Parameters
    ----------
    mechanism : Reporting
    bits : (n, bytes) array of uint8
        Packed.
    made : int
        Reports that were made.

    Examples
    --------
    >>> from mechdesign.mechanisms.joint import JointResponse
    >>> mechanism = JointResponse.of([2, 3], 4.1, f=0.5, q=0.75, p=0.25, reports=3)
    >>> client = mechanism.remember([[1, 2]], rng=1)
    >>> client.report(rng=1).shape, client.made
    ((1, 1), 1)
    """

    def __init__(self, mechanism: Reporting, bits: Packed, made: int = 0) -> None:
        self.mechanism, self.bits, self.made = mechanism, bits, made

    def __repr__(self) -> str:
        return f"PermanentResponse({len(self.bits)} clients, {self.made} reports made, of {self.mechanism!r})"

    @property
    def left(self) -> int | None:
        """How many more reports the promise allows; None for any number."""
        if self.mechanism.audit().any_reports <= self.mechanism.epsilon:
            return None
        return max(0, self.mechanism.reports - self.made)

    def report(self, rng: Rng = None) -> NDArray[np.uint8]:
        """Return the next report as packed bits, shape (n, bytes).

        Raises
        ------
        MethodError
            When the promise is for no more reports.
        """
        if self.left == 0:
            raise MethodError(
                f"reports: {self.made} were made and the promise is for {self.mechanism.reports}; build a "
                "mechanism for more reports"
            )
        reports = self.mechanism.draw_reports(self.bits, self.mechanism.source(rng))
        self.made += 1
        return reports

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what the client keeps to a file; it appears whole or not at all."""
        document = {
            "format": FORMAT,
            "mechanism": self.mechanism.fingerprint,
            "made": self.made,
            "bits": as_texts(self.bits).tolist(),
        }
        with whole_file(path, ModelFileError) as temporary:
            temporary.write_text(json.dumps(document) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, mechanism: Reporting, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote, for the same mechanism."""
        try:
            document = json.loads(read_text(path, LARGEST_FILE, ModelFileError))
        except OSError as error:
            raise ModelFileError(f"{path}: cannot be read ({error.strerror}); check the path") from None
        except (ValueError, RecursionError) as error:
            raise ModelFileError(f"{path}: is no permanent response ({error}); remember anew") from None
        if not isinstance(document, Mapping) or document.get("format") != FORMAT:
            raise ModelFileError(f"{path}: is no permanent response; name a file that save wrote")
        if document.get("mechanism") != mechanism.fingerprint:
            raise DataError(f"{path}: belongs to a different mechanism; load the one it was made with")
        made, texts = plain(document.get("made")), document.get("bits")
        if not isinstance(made, int) or made < 0 or not isinstance(texts, list):
            raise ModelFileError(f"{path}: is damaged; restore it from a copy")
        return cls(mechanism, mechanism.read(np.array(texts, dtype=object)), made)
