"""Optimal channels for categorical answers (Zhou, Lu, Wu 2019, and what the paper leaves open)."""

from mechdesign.core.extensions import offered

PROBLEMS: tuple[str, ...] = ("RandomizedResponse",)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.response.extended_response import (
        ExtendedResponse as ExtendedResponse,
        mutual_information as mutual_information,
        output_entropy as output_entropy,
    )
    from mechdesign.families.response.randomized_response import RandomizedResponse as RandomizedResponse
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "extended_response": "ExtendedResponse mutual_information output_entropy",
            "randomized_response": "RandomizedResponse",
        },
    )
