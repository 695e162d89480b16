"""The noun *survey*: what people take part in, its waves, and the way from questions to results."""

from mechdesign.core.extensions import offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.analysis.student import Change as Change
    from mechdesign.survey.survey import Survey as Survey
    from mechdesign.survey.waves import (
        WaveEstimates as WaveEstimates,
        next_wave as next_wave,
        total_of_waves as total_of_waves,
        wave_estimates as wave_estimates,
    )
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {"survey": "Survey", "waves": "Change WaveEstimates next_wave total_of_waves wave_estimates"},
    )
