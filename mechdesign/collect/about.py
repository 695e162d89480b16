"""What a mechanism is for: its survey, whose reports are its own; objects that stay as they were built.

The fingerprint of a mechanism proves what is drawn. Two surveys may run the same mechanism: what keeps their
reports apart is the identity, which is drawn when a mechanism is built. Mechanisms are sealed as they were
built: they are audited once, and must not change after that.
"""

from __future__ import annotations

from abc import ABCMeta
from contextlib import suppress
from copy import copy
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from mechdesign.core.errors import ParameterError, SealedError
from mechdesign.core.values import changed
from mechdesign.data.about import About, new_identity
from mechdesign.work.files import sha256_of


class Sealing(ABCMeta):
    """The class of classes whose objects are finished when their ``__init__`` has returned."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        """Build an object and seal it."""
        result = super().__call__(*args, **options)
        vars(result)["_sealed"] = True
        return result


class Sealed(metaclass=Sealing):
    """An object whose attributes can be set only while it is built.

    A value computed later (``cached_property``) is not a change; it follows from the rest. Copies and
    unpickled objects are sealed as well.

    Class attributes
    ----------------
    moving : tuple of str
        The attributes that still change: a state, which is not what the object is.
    """

    moving: ClassVar[tuple[str, ...]] = ()

    def __setattr__(self, name: str, value: Any) -> None:
        self._require_open(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._require_open(name)
        super().__delattr__(name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes of a copy; a pickle does not keep that arrays are read-only."""
        vars(self).update(state)
        close_arrays({name: value for name, value in state.items() if name not in self.moving}, set())

    def replaced(self, **parts: Any) -> Self:
        """Return the same but for these attributes, from which nothing else was computed."""
        result = copy(self)
        vars(result).update(parts)
        return result

    def _require_open(self, name: str) -> None:
        if "_sealed" in vars(self) and name not in self.moving:
            raise SealedError(name, f"a finished {type(self).__name__} does not change", "build another one")


def close_arrays(value: Any, seen: set[int]) -> None:
    """Make all arrays read-only that a value of the package holds, however deep.

    Parameters
    ----------
    value : object
        An array, a container, or an object with attributes.
    seen : set of int
        The identities of what was visited, for what refers to itself.

    Examples
    --------
    >>> import numpy as np
    >>> held = {"counts": (np.arange(3), "names")}
    >>> close_arrays(held, set())
    >>> held["counts"][0].flags.writeable
    False
    """
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, (tuple, list)):
        parts = list(value)
    else:
        parts = list(getattr(value, "__dict__", {}).values())
    for part in parts:
        if not isinstance(part, (str, int, float, type)):
            close_arrays(part, seen)


class WithAbout(Sealed):
    """Objects with what is said about a survey: every mechanism."""

    about: About = About()

    def described(
        self, title: str = "", question: str = "", users: int | None = None, id: str | None = None
    ) -> Self:
        """Return the same for a survey: with its title, its question and its identity.

        Its file and pages keep them. They change nothing that it does: fingerprint and equality stay. Reports
        and what else is kept of them carry the identity, so that those of another survey are refused.

        Parameters
        ----------
        title, question : str
        users : int, optional
            How many users are planned.
        id : str, optional
            The identity. Without one, it stays as it is, or one is drawn. Another wave of a survey needs
            another one, such as ``"staff-2027"``; an empty string stands for none.

        Examples
        --------
        >>> from mechdesign.families.mean import Duchi
        >>> ages = Duchi(1.0, 0, 100).described(question="How old are you?", id="ages-2026")
        >>> ages.about.heading, ages.described("Ages").about.id, len(Duchi(1.0).described("Ages").about.id)
        ('How old are you?', 'ages-2026', 32)
        """
        identity = self.about.id or new_identity() if id is None else id
        return self.with_about(changed(self.about, title=title, question=question, users=users, id=identity))

    def with_about(self, about: About) -> Self:
        """Return the same with what is said about its survey."""
        return self.replaced(about=about)


class HasSurvey(Protocol):
    """What reports belong to: a mechanism, and its survey."""

    @property
    def about(self) -> About:
        """What is said about its survey."""

    @property
    def fingerprint(self) -> str:
        """The digest of the mechanism."""

    @property
    def survey_digest(self) -> str:
        """The digest of both."""


def survey_digest_of(fingerprint: str, identity: str) -> str:
    """Return the digest of a mechanism and a survey together; without an identity, the fingerprint itself.

    Examples
    --------
    >>> survey_digest_of("347e687bf167", "")
    '347e687bf167'
    >>> survey_digest_of("347e687bf167", "wave-1") == survey_digest_of("347e687bf167", "wave-2")
    False
    """
    if not identity:
        return fingerprint
    return sha256_of(f"{fingerprint}{identity}".encode())


def owner_entries(mechanism: HasSurvey) -> dict[str, Any]:
    """Return the entries by which a file of counts, reports or responses names what it belongs to.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> list(owner_entries(KaryResponse.of(3, 1.0)))
    ['mechanism']
    >>> owner_entries(KaryResponse.of(3, 1.0).described("a", id="b"))
    {'mechanism': '...', 'survey': {'title': 'a', 'id': 'b'}}
    """
    about = mechanism.about
    named = {"survey": About(title=about.title, id=about.id).as_json()} if about.id else {}
    return {"mechanism": mechanism.survey_digest, **named}


def other_owner(mechanism: HasSurvey, survey: object, digest: object = None) -> str:
    """Return whose a file or message is that is not of this mechanism and survey, to follow "belongs to".

    Parameters
    ----------
    mechanism : Mechanism
    survey : object
        What it says of its survey: the identity, or a mapping with identity and title.
    digest : object
        What it says of its mechanism and survey, or of its mechanism.

    Examples
    --------
    >>> from mechdesign.primitives.kary import KaryResponse
    >>> print(other_owner(KaryResponse.of(3, 1.0).described("Mood", id="m-27"), "m-26"))
    the survey (id m-26), and this is the survey 'Mood' (id m-27)
    """
    about = About()
    with suppress(ParameterError):
        about = About.from_json({"id": survey} if isinstance(survey, str) else survey)
    own = mechanism.about
    for wave in own.earlier:
        if wave.id == about.id:
            about = About(own.title, id=wave.id, wave=wave.wave)
    if about.id and about.id != own.id:
        return f"{about.survey}, and this is {own.survey}"
    if own.id and not about.id and digest in (None, mechanism.fingerprint):
        return f"a survey without an identity, and this is {own.survey}"
    return "a different mechanism" if about.id else "a different mechanism or survey"
