"""Spectrum shared by location: who may send on which channel, how far, while every user hides."""

from mechdesign.mechanisms.spectrum.cloak import SpectrumCloak
from mechdesign.mechanisms.spectrum.database import SpectrumDatabase
from mechdesign.mechanisms.spectrum.queries import Answer, Answers, Query
from mechdesign.mechanisms.spectrum.user import SpectrumUser

__all__ = [
    "Answer",
    "Answers",
    "Query",
    "SpectrumCloak",
    "SpectrumDatabase",
    "SpectrumUser",
]
