"""What several families build on: channels, the k-ary response, frequency oracles, attributes, splits."""

from mechdesign.core.extensions import offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.primitives.finite import (
        FiniteChannel as FiniteChannel,
        PrivacyTarget as PrivacyTarget,
        make_private as make_private,
    )
    from mechdesign.primitives.kary import KaryResponse as KaryResponse
    from mechdesign.primitives.kary_channel import KaryChannel as KaryChannel
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "finite": "FiniteChannel PrivacyTarget make_private",
            "kary": "KaryResponse",
            "kary_channel": "KaryChannel",
        },
    )
