"""The sources of the family ``marginals``: what they publish, measured and judged; rivals of the views."""

from mechdesign.core.extensions import offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.marginals.papers.rivals import MarginalRival as MarginalRival
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(__name__, {"rivals": "MarginalRival"})
