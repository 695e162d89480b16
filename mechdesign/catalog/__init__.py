"""The declarative models: load, list, sweep and draw them."""

from mechdesign.core.extensions import offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.catalog.figure_table import FigureTable as FigureTable
    from mechdesign.catalog.figures import model_figures as model_figures
    from mechdesign.catalog.load import (
        Model as Model,
        Simulation as Simulation,
        load_model as load_model,
        load_swept as load_swept,
    )
    from mechdesign.catalog.shipped import (
        ModelLine as ModelLine,
        listed_models as listed_models,
        models as models,
    )
    from mechdesign.catalog.sweeping import (
        SweepRow as SweepRow,
        run_sweep as run_sweep,
        sweep as sweep,
        sweep_points as sweep_points,
    )
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "figure_table": "FigureTable",
            "figures": "model_figures",
            "load": "Model Simulation load_model load_swept",
            "shipped": "ModelLine listed_models models",
            "sweeping": "SweepRow run_sweep sweep sweep_points",
        },
    )
