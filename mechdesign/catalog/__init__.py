"""The declarative models: load, list, sweep and draw them."""

from mechdesign.catalog.figure_table import FigureTable
from mechdesign.catalog.figures import model_figures
from mechdesign.catalog.load import load_model, load_swept, models
from mechdesign.catalog.model import Model, Simulation
from mechdesign.catalog.runs import sweep
from mechdesign.catalog.sweep import SweepRow, run_sweep, sweep_points

__all__ = [
    "FigureTable",
    "Model",
    "Simulation",
    "SweepRow",
    "load_model",
    "load_swept",
    "model_figures",
    "models",
    "run_sweep",
    "sweep",
    "sweep_points",
]
