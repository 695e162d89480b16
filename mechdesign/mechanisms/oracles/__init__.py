"""Frequency oracles: unary encoding, subset selection, local hashing, Hadamard and projective response."""

from mechdesign.core.lazy import found_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.mechanisms.oracles.base import SupportOracle
    from mechdesign.mechanisms.oracles.hadamard import HadamardResponse
    from mechdesign.mechanisms.oracles.hashing import LocalHashing
    from mechdesign.mechanisms.oracles.projective import ProjectiveGeometry
    from mechdesign.mechanisms.oracles.server import SupportCounts
    from mechdesign.mechanisms.oracles.subset import SubsetSelection
    from mechdesign.mechanisms.oracles.unary import UnaryEncoding

__all__ = [
    "HadamardResponse",
    "LocalHashing",
    "ProjectiveGeometry",
    "SubsetSelection",
    "SupportCounts",
    "SupportOracle",
    "UnaryEncoding",
]

_HOMES = {
    "HadamardResponse": "hadamard",
    "LocalHashing": "hashing",
    "ProjectiveGeometry": "projective",
    "SubsetSelection": "subset",
    "SupportCounts": "server",
    "SupportOracle": "base",
    "UnaryEncoding": "unary",
}


if not TYPE_CHECKING:  # a type checker would take every unknown name for known
    __getattr__ = found_in(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
