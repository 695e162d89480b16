"""Spectrum shared by location (UMax): how much location privacy users and owners of a channel take."""

from mechdesign.problems.spectrum.channel.problem import SpectrumChannel
from mechdesign.problems.spectrum.cloak.problem import SpectrumCloakDesign
from mechdesign.problems.spectrum.partition.problem import SpectrumPartition
from mechdesign.problems.spectrum.primary.problem import SpectrumPrimary
from mechdesign.problems.spectrum.secondary.problem import SpectrumSecondary

PROBLEMS = (SpectrumChannel, SpectrumCloakDesign, SpectrumPartition, SpectrumPrimary, SpectrumSecondary)

__all__ = [
    "PROBLEMS",
    "SpectrumChannel",
    "SpectrumCloakDesign",
    "SpectrumPartition",
    "SpectrumPrimary",
    "SpectrumSecondary",
]
