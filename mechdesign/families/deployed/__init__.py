"""Mechanisms of real systems: what they do with public parameters, and the optimum at the same epsilon."""

from mechdesign.core.extensions import offered

PROBLEMS: tuple[str, ...] = ("DeployedFrequencies", "DeployedHistogram")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.families.deployed.frequencies import DeployedFrequencies as DeployedFrequencies
    from mechdesign.families.deployed.histogram import DeployedHistogram as DeployedHistogram
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "frequencies": "DeployedFrequencies",
            "histogram": "DeployedHistogram",
        },
    )
