"""The noun *mechanism*: an object that runs, saves to JSON, and is audited again when it is loaded."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, ClassVar, Self

import numpy as np

from mechdesign.core.certificate import Certificate
from mechdesign.core.encoding import encode
from mechdesign.core.errors import CertificateError, ModelFileError, UnknownNameError, suggestion
from mechdesign.core.files import read_text, whole_file
from mechdesign.core.randomness import BitSource, Rng, bit_source, numpy_generator

FORMAT = "mechdesign-mechanism"
VERSION = 1

LARGEST_FILE = 1 << 27
"""A mechanism file with more bytes is neither written nor read."""


class Mechanism(ABC):
    """Base class of every mechanism.

    A subclass names its ``type`` (the word in the JSON file), gives its content as plain JSON values
    and builds itself from them, checking everything; ``certificates`` audits the very numbers it runs on.
    """

    type: ClassVar[str]

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """Return everything the mechanism runs on as plain JSON values."""

    @classmethod
    @abstractmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Build the mechanism from :meth:`content`; raise CertificateError naming what fails."""

    @abstractmethod
    def certificates(self) -> tuple[Certificate, ...]:
        """Audit the mechanism and return one certificate a property."""

    @property
    def fingerprint(self) -> str:
        """A SHA-256 digest of the content: reports of different mechanisms must not be mixed."""
        return digest(self.type, self.content())

    def stream(self) -> str:
        """Return what tells the random stream of a seed from that of another mechanism."""
        return self.fingerprint

    @cached_property
    def _stream(self) -> str:
        return f"{self.type} {self.stream()}"

    def seeded(self, rng: Rng) -> np.random.Generator | None:
        """Return the numpy generator that ``rng`` names; None stands for the operating system's.

        A seed gives every mechanism a stream of its own: two reports of one user, made by two mechanisms
        with the same seed, have independent noise.
        """
        if rng is None or isinstance(rng, np.random.Generator):
            return rng
        return numpy_generator(rng, self._stream)

    def source(self, rng: Rng) -> BitSource:
        """Return the uniform integers that ``rng`` names; see :meth:`seeded`."""
        return bit_source(self.seeded(rng))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mechanism to a JSON file; the file appears whole or not at all."""
        content = self.content()
        document = {
            "format": FORMAT,
            "version": VERSION,
            "type": self.type,
            "content": content,
            "certificates": _written(self),
            "sha256": digest(self.type, content),
        }
        text = json.dumps(document, indent=1, allow_nan=False) + "\n"
        if len(text) > LARGEST_FILE:
            limit = LARGEST_FILE >> 20
            raise ModelFileError(f"{path}: the mechanism takes more than {limit} MiB; make it smaller")
        with whole_file(path, ModelFileError) as temporary:
            temporary.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a mechanism of this class from a file and audit it again; see :func:`load_mechanism`."""
        mechanism = load_mechanism(path)
        if not isinstance(mechanism, cls):
            raise ModelFileError(f"{path}: holds a {type(mechanism).__name__}, not a {cls.__name__}")
        return mechanism


def _written(mechanism: Mechanism) -> list[Any]:
    """Return the certificates as they stand in the file."""
    return [encode(certificate.as_dict()) for certificate in mechanism.certificates()]


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


def digest(kind: str, content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical JSON text of a mechanism's content."""
    text = json.dumps([kind, content], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def mechanism_types() -> dict[str, type[Mechanism]]:
    """Return every mechanism class by its type word; a class is found by living in this package."""
    package = importlib.import_module("mechdesign.mechanisms")
    for module_info in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module_info.name}")
    found: dict[str, type[Mechanism]] = {}
    waiting: list[type[Mechanism]] = list(Mechanism.__subclasses__())
    while waiting:
        candidate = waiting.pop()
        waiting += candidate.__subclasses__()
        if "type" in candidate.__dict__:
            found[candidate.type] = candidate
    return found


def load_mechanism(path: str | os.PathLike[str]) -> Mechanism:
    """Load a mechanism from a JSON file, audit it again, and refuse it if anything fails.

    Parameters
    ----------
    path : path

    Returns
    -------
    Mechanism

    Raises
    ------
    ModelFileError
        When the file cannot be read or is no mechanism file.
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
        document = json.loads(text, parse_constant=_refuse_constant)
    except ModelFileError:
        raise
    except OSError as error:
        raise ModelFileError(
            f"{path}: cannot be read ({error.strerror}); name a file written by build"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: is not JSON ({error}); name a file written by build") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError(f"{path}: is not a mechanism file; name a file written by build")
    if document.get("version") != VERSION or isinstance(document.get("version"), bool):
        raise ModelFileError(
            f"{path}: has version {document.get('version')}, this release reads {VERSION}; build it anew"
        )
    known = mechanism_types()
    kind = document.get("type")
    if not isinstance(kind, str) or kind not in known:
        raise UnknownNameError(f"{path}: no mechanism type '{kind}'; {suggestion(str(kind), known)}")
    return _restored(path, known[kind], document)


def _restored(path: str | os.PathLike[str], kind: type[Mechanism], document: Mapping[str, Any]) -> Mechanism:
    content = document.get("content")
    if not isinstance(content, dict):
        raise ModelFileError(f"{path}: has no content; build it anew")
    try:
        mechanism = kind.from_content(content)
    except CertificateError as error:
        raise CertificateError(f"{path}: refused: {error}; build it anew") from None
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{path}: content is damaged ({error!r}); build it anew") from None
    except ValueError as error:
        raise ModelFileError(f"{path}: content is damaged ({error}); build it anew") from None
    failed = [certificate for certificate in mechanism.certificates() if not certificate.holds]
    if failed:
        raise CertificateError(f"{path}: refused: {failed[0]}; build it anew")
    if document.get("certificates") != _written(mechanism):
        raise CertificateError(f"{path}: refused: its certificates are not its content's; build it anew")
    if mechanism.content() != content:
        raise CertificateError(
            f"{path}: refused: the content holds more than the mechanism runs on; build it anew"
        )
    if document.get("sha256") != digest(kind.type, content):
        raise CertificateError(
            f"{path}: refused: the content was changed after saving (sha256 differs); build it anew"
        )
    return mechanism
