"""Frequency oracles: unary encoding, subset selection, local hashing, Hadamard and projective response."""

from mechdesign.core.lazy import offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.mechanisms.oracles.base import SupportOracle as SupportOracle
    from mechdesign.mechanisms.oracles.hadamard import HadamardResponse as HadamardResponse
    from mechdesign.mechanisms.oracles.hashing import LocalHashing as LocalHashing
    from mechdesign.mechanisms.oracles.projective import ProjectiveGeometry as ProjectiveGeometry
    from mechdesign.mechanisms.oracles.server import SupportCounts as SupportCounts
    from mechdesign.mechanisms.oracles.subset import SubsetSelection as SubsetSelection
    from mechdesign.mechanisms.oracles.unary import UnaryEncoding as UnaryEncoding
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "base": "SupportOracle",
            "hadamard": "HadamardResponse",
            "hashing": "LocalHashing",
            "projective": "ProjectiveGeometry",
            "server": "SupportCounts",
            "subset": "SubsetSelection",
            "unary": "UnaryEncoding",
        },
    )
