"""Frequency oracles: unary encoding, subset selection, local hashing, Hadamard and projective response."""

from mechdesign.core.extensions import offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.marginals.oracles.blocks import (
        HadamardResponse as HadamardResponse,
        SubsetSelection as SubsetSelection,
    )
    from mechdesign.families.marginals.oracles.hashing import LocalHashing as LocalHashing
    from mechdesign.families.marginals.oracles.projective import ProjectiveGeometry as ProjectiveGeometry
    from mechdesign.families.marginals.oracles.support import (
        SupportCounts as SupportCounts,
        SupportOracle as SupportOracle,
    )
    from mechdesign.families.marginals.oracles.unary import UnaryEncoding as UnaryEncoding
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "hashing": "LocalHashing",
            "projective": "ProjectiveGeometry",
            "support": "SupportCounts SupportOracle",
            "blocks": "HadamardResponse SubsetSelection",
            "unary": "UnaryEncoding",
        },
    )
