"""Marginal tables of many attributes: which views to ask for, and with which frequency oracle.

Release of marginal tables: views of several attributes, made consistent, and any marginal from them.
"""

from mechdesign.core.extensions import offered

PROBLEMS: tuple[str, ...] = (
    "CoveringDesign",
    "FrequencyOracle",
    "ItemSets",
    "KeyValue",
    "MarginalViews",
    "Weekly",
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.marginals.covering_design import CoveringDesign as CoveringDesign
    from mechdesign.families.marginals.frequency_oracle import FrequencyOracle as FrequencyOracle
    from mechdesign.families.marginals.item_sets import ItemSets as ItemSets
    from mechdesign.families.marginals.key_value import KeyValue as KeyValue
    from mechdesign.families.marginals.marginal_views import MarginalViews as MarginalViews
    from mechdesign.families.marginals.release import MarginalRelease as MarginalRelease
    from mechdesign.families.marginals.server import MarginalAggregator as MarginalAggregator
    from mechdesign.families.marginals.views import residual as residual
    from mechdesign.families.marginals.weekly import Weekly as Weekly
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "covering_design": "CoveringDesign",
            "frequency_oracle": "FrequencyOracle",
            "item_sets": "ItemSets",
            "key_value": "KeyValue",
            "marginal_views": "MarginalViews",
            "release": "MarginalRelease",
            "server": "MarginalAggregator",
            "views": "residual",
            "weekly": "Weekly",
        },
    )
