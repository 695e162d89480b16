"""Spectrum shared by location (UMax): how much location privacy users and owners of a channel take."""

from mechdesign.problems.spectrum.channel.problem import SpectrumChannel
from mechdesign.problems.spectrum.primary.problem import SpectrumPrimary
from mechdesign.problems.spectrum.secondary.problem import SpectrumSecondary

PROBLEMS = (SpectrumChannel, SpectrumPrimary, SpectrumSecondary)

__all__ = ["PROBLEMS", "SpectrumChannel", "SpectrumPrimary", "SpectrumSecondary"]
