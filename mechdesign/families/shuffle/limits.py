"""Further limits that some problems of protocols have: bits, a delta of 0, a user's own epsilon."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mechdesign.core.errors import ParameterError
from mechdesign.core.fields import checked, flag, frozen_problem, whole
from mechdesign.core.validation import privacy_epsilon
from mechdesign.families.shuffle.candidates import Choosing, ProtocolSetting

LEAST_CAP, LARGEST_CAP = 2.0**-20, 40.0


@frozen_problem()
class Limited(Choosing):
    """The tasks whose protocols may be limited in bits, or to a delta of 0."""

    max_bits: int | None = whole(
        "The most bits of all messages of a user.", low=1, high=1 << 50, default=None
    )
    pure: bool = flag(
        "Whether delta has to be 0: only protocols with a proof for that, such as randomized response that "
        "is private by itself. ``delta`` is then not used up."
    )

    @property
    def wants_pure(self) -> bool:
        """Whether delta is to be 0."""
        return self.pure

    @property
    def case(self) -> ProtocolSetting:
        """Requirements that protocols must fit."""
        return replace(super().case, max_bits=self.max_bits, pure=self.pure)


def _cap(field: str, value: Any) -> float:
    cap = privacy_epsilon(value, field)
    if not LEAST_CAP <= cap <= LARGEST_CAP:
        raise ParameterError(field, f"{cap:g} is not from 2**-20 to 40", "give such a number")
    return cap


@frozen_problem()
class LocallyLimited(Limited):
    """The tasks in which a user's own messages may also have to be private."""

    local_cap: float | None = checked(
        "The largest epsilon of a user's messages before they are shuffled.",
        _cap,
        form="float",
        default=None,
        limits={"minimum": LEAST_CAP, "maximum": LARGEST_CAP},
    )

    @property
    def case(self) -> ProtocolSetting:
        """Requirements that protocols must fit."""
        return replace(super().case, local_cap=self.local_cap)
