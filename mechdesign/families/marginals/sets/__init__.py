"""Set response: several attributes in one report of one epsilon, each a set of answers."""

from mechdesign.core.extensions import offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.marginals.sets.estimates import SetCounts as SetCounts
    from mechdesign.families.marginals.sets.response import SetResponse as SetResponse
    from mechdesign.families.marginals.sets.shapes import (
        CellSet as CellSet,
        MatchSet as MatchSet,
        ProductSet as ProductSet,
        SetShape as SetShape,
    )
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "estimates": "SetCounts",
            "response": "SetResponse",
            "shapes": "CellSet MatchSet ProductSet SetShape",
        },
    )
