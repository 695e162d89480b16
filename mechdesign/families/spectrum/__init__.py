"""Spectrum shared by location (UMax): how much location privacy users and owners of a channel take.

Spectrum shared by location: who may send on which channel, how far, while every user hides.
"""

from mechdesign.core.extensions import offered

PROBLEMS: tuple[str, ...] = (
    "SpectrumChannel",
    "SpectrumCloakDesign",
    "SpectrumPartition",
    "SpectrumPrimary",
    "SpectrumSecondary",
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.spectrum.channel import SpectrumChannel as SpectrumChannel
    from mechdesign.families.spectrum.cloak import SpectrumCloakDesign as SpectrumCloakDesign
    from mechdesign.families.spectrum.cloak_mechanism import SpectrumCloak as SpectrumCloak
    from mechdesign.families.spectrum.database import SpectrumDatabase as SpectrumDatabase
    from mechdesign.families.spectrum.partition import SpectrumPartition as SpectrumPartition
    from mechdesign.families.spectrum.primary import SpectrumPrimary as SpectrumPrimary
    from mechdesign.families.spectrum.queries import Answer as Answer, Answers as Answers, Query as Query
    from mechdesign.families.spectrum.secondary import (
        SpectrumSecondary as SpectrumSecondary,
        SpectrumUser as SpectrumUser,
    )
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "channel": "SpectrumChannel",
            "cloak": "SpectrumCloakDesign",
            "cloak_mechanism": "SpectrumCloak",
            "database": "SpectrumDatabase",
            "partition": "SpectrumPartition",
            "primary": "SpectrumPrimary",
            "queries": "Answer Answers Query",
            "secondary": "SpectrumSecondary SpectrumUser",
        },
    )
