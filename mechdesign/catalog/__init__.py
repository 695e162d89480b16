"""The declarative models: load, list, sweep and draw them."""

from mechdesign.core.lazy import found_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.catalog.figure_table import FigureTable
    from mechdesign.catalog.figures import model_figures
    from mechdesign.catalog.listing import ModelLine, listed_models
    from mechdesign.catalog.load import load_model, load_swept
    from mechdesign.catalog.model import Model, Simulation
    from mechdesign.catalog.runs import sweep
    from mechdesign.catalog.shipped import models
    from mechdesign.catalog.sweeping import SweepRow, run_sweep, sweep_points

__all__ = [
    "FigureTable",
    "Model",
    "ModelLine",
    "Simulation",
    "SweepRow",
    "listed_models",
    "load_model",
    "load_swept",
    "model_figures",
    "models",
    "run_sweep",
    "sweep",
    "sweep_points",
]

_HOMES = {
    "FigureTable": "figure_table",
    "ModelLine": "listing",
    "Model": "model",
    "Simulation": "model",
    "SweepRow": "sweeping",
    "listed_models": "listing",
    "load_model": "load",
    "load_swept": "load",
    "model_figures": "figures",
    "models": "shipped",
    "run_sweep": "sweeping",
    "sweep": "runs",
    "sweep_points": "sweeping",
}


if not TYPE_CHECKING:  # a type checker would take every unknown name for known
    __getattr__ = found_in(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
