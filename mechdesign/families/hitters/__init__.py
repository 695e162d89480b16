"""Frequent strings that nobody has listed: words, apps, addresses, under local privacy."""

from mechdesign.core.extensions import offered

PROBLEMS: tuple[str, ...] = ("HeavyHitters",)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.hitters.detection import Detection as Detection, Level as Level
    from mechdesign.families.hitters.heavy_hitters import HeavyHitters as HeavyHitters
    from mechdesign.families.hitters.prefix_reports import PrefixReports as PrefixReports
    from mechdesign.families.hitters.string_code import StringCode as StringCode, prefix_code as prefix_code
    from mechdesign.families.hitters.strings import StringEstimate as StringEstimate
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "detection": "Detection Level",
            "heavy_hitters": "HeavyHitters",
            "prefix_reports": "PrefixReports",
            "string_code": "StringCode prefix_code",
            "strings": "StringEstimate",
        },
    )
