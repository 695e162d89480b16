"""The declarative models: load, list, and check what their sources claim."""

from mechdesign.catalog.check import ClaimResult, ModelCheck, check_model
from mechdesign.catalog.claim import Claim
from mechdesign.catalog.figure_table import FigureTable
from mechdesign.catalog.figures import model_figures
from mechdesign.catalog.load import load_model, models
from mechdesign.catalog.model import Model, Simulation
from mechdesign.catalog.runs import check_models, sweep
from mechdesign.catalog.sweep import SweepRow, run_sweep, sweep_points

__all__ = [
    "Claim",
    "ClaimResult",
    "FigureTable",
    "Model",
    "ModelCheck",
    "Simulation",
    "SweepRow",
    "check_model",
    "check_models",
    "load_model",
    "model_figures",
    "models",
    "run_sweep",
    "sweep",
    "sweep_points",
]
