"""The tokens of a survey: each lets one report in."""

from __future__ import annotations

import secrets
from typing import Protocol

from mechdesign.core.errors import ParameterError
from mechdesign.serve.pool import ReportPool

MOST_TOKENS = 100_000
"""Tokens that are made at once."""


class LinkedSurvey(Protocol):
    """What tokens use of their survey."""

    slug: str

    @property
    def address(self) -> str:
        """The address of the respondents' page; without a public one, its path."""

    @property
    def has_tokens(self) -> bool:
        """Whether a report needs a token."""

    @property
    def has_files(self) -> bool:
        """Whether there may be reports."""

    @property
    def pool(self) -> ReportPool:
        """Reports and tokens on the disk, from the first time on that they are needed."""


class Tokens:
    """The tokens of a survey: each lets one report in. The disk has their digests alone.

    Attributes
    ----------
    survey : ServedSurvey
    """

    def __init__(self, survey: LinkedSurvey) -> None:
        self.survey = survey

    @property
    def count(self) -> int:
        """Number of tokens."""
        return self.survey.pool.token_count if self.survey.has_files else 0

    @property
    def used(self) -> int:
        """Number of tokens that were used."""
        return self.survey.pool.used_count if self.survey.has_files else 0

    def make(self, count: int) -> list[str]:
        """Return new tokens that nobody can guess; this is the only time that they can be read."""
        if not 1 <= count <= MOST_TOKENS:
            what = f"{count} is not from 1 to {MOST_TOKENS}"
            raise ParameterError("number of links", what, "give another number")
        if not self.survey.has_tokens:
            raise ParameterError(
                self.survey.slug, "is open: it has no links of persons", "choose links first"
            )
        tokens = [secrets.token_urlsafe(16) for _ in range(count)]
        self.survey.pool.add_tokens(tokens)
        return tokens

    def links(self, tokens: list[str]) -> list[str]:
        """Return the address of the page for each token."""
        return [f"{self.survey.address}#token={token}" for token in tokens]
