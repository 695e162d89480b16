"""Frequency oracles: unary encoding, subset selection, local hashing, Hadamard and projective response."""

from mechdesign.core.lazy import offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.marginals.oracles.base import SupportOracle as SupportOracle
    from mechdesign.families.marginals.oracles.hadamard import HadamardResponse as HadamardResponse
    from mechdesign.families.marginals.oracles.hashing import LocalHashing as LocalHashing
    from mechdesign.families.marginals.oracles.projective import ProjectiveGeometry as ProjectiveGeometry
    from mechdesign.families.marginals.oracles.server import SupportCounts as SupportCounts
    from mechdesign.families.marginals.oracles.subset import SubsetSelection as SubsetSelection
    from mechdesign.families.marginals.oracles.unary import UnaryEncoding as UnaryEncoding
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
