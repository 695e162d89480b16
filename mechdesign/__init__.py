"""State a privacy design problem, get the provably best mechanism, ready to run, with a certificate.

What there is, by what it is for:

- problems, a class each, such as ``RandomizedResponse`` and ``PrivacyContract``; ``choose`` ranks the
  mechanisms for a mean, ``shuffled`` finds the local mechanism for a central guarantee
- their solutions: ``solve(problem)``, ``compare(problem)``, ``methods_of``; of a ``Solution`` the
  ``.mechanism()``, which has ``randomize``, ``estimate``, ``audit`` and ``save``
- mechanisms from files: ``load_mechanism``; surveys, with their texts and waves: ``Survey.load``
- the catalogue: ``models()``, ``load_model``; ``check_models`` and ``sweep`` run many on all cores
- pictures of all of these: ``plot(thing, path)``
- whether a class of problems of your own keeps what it has to: ``check_problem(problem)``
- a proven bound for any convex program of your own, written in cvxpy: ``prove(program)``
- after collection: ``regress`` a private answer on public columns; ``scores_of`` reports

Examples
--------
>>> import mechdesign as md
>>> mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=2.0)).mechanism()
>>> estimate = mechanism.estimate(mechanism.randomize([0] * 3000 + [1] * 1000, rng=1))
>>> estimate
FrequencyEstimate(4000 reports: ...)
>>> print(mechanism.audit())
privacy: holds (exact); epsilon = 2, true_epsilon = 2; ...
"""

# The command line begins here, before anything that takes time is imported: until a handler is set, an
# interrupt is a traceback of Python's own. A program that imports this package keeps its handlers.
import os
import sys

try:  # what the module signal is made of, without the enumerations that it takes longer to make
    import _signal  # type: ignore[import-not-found]
except ImportError:  # another Python than CPython
    import signal as _signal


def _is_command() -> bool:
    """Whether this process is the program ``mechdesign``, or ``python -m mechdesign``."""
    name = next(iter(sys.argv), "") if hasattr(sys, "argv") else ""
    if name == "-m":  # what stands there until the module is found
        module = sys.orig_argv[sys.orig_argv.index("-m") + 1 :][:1] if "-m" in sys.orig_argv else []
        return module in (["mechdesign"], ["mechdesign.cli"])
    return name.replace("\\", "/").rpartition("/")[2] in ("mechdesign", "mechdesign.exe")


def _leave_at_once(number: int, frame: object) -> None:
    """End the process, which has not begun anything, until the command line has its own handler."""
    words = {_signal.SIGINT: b"interrupted", _signal.SIGTERM: b"terminated"}
    try:  # noqa: SIM105 (contextlib takes time to import)
        os.write(2, b"mechdesign: " + words.get(number, b"hung up") + b"\n")
    except OSError:  # no standard error
        pass
    os._exit(128 + number)


if _is_command():
    for _number in (_signal.SIGINT, _signal.SIGTERM, getattr(_signal, "SIGHUP", _signal.SIGTERM)):
        if _signal.getsignal(_number) in (_signal.default_int_handler, _signal.SIG_DFL):
            _signal.signal(_number, _leave_at_once)

from mechdesign.core.extensions import FormerNames as _FormerNames, register_extension as _register  # noqa: E402 (the handler stands before it)

_register("mechdesign.primitives", extends="families")
_register("mechdesign.families", extends="families")
_register("mechdesign.papers", extends="papers")
_register("mechdesign.solvers.sensitivity", extends="sensitivity")
sys.meta_path.append(_FormerNames)

TYPE_CHECKING = False
if TYPE_CHECKING:  # for type checkers and editors; a test compares these with what the families export
    from typing import Any

    from mechdesign.analysis import regress, scores_of
    from mechdesign.catalog import Model, load_model, models, sweep
    from mechdesign.collect import CollectingMechanism, Mechanism, load_mechanism
    from mechdesign.core.certificate import Certificate
    from mechdesign.core.errors import (
        CertificateError,
        DataError,
        EstimationError,
        MechDesignError,
        MethodError,
        MissingPackageError,
        ModelFileError,
        ParameterError,
        RowError,
        SealedError,
        UnknownNameError,
    )
    from mechdesign.core.problem import Method, Outcome, Problem
    from mechdesign.core.solution import Solution
    from mechdesign.families.auction import AuctionHorizon, AuctionSlot
    from mechdesign.families.contract import PrivacyContract, PrivacyContractContinuous
    from mechdesign.families.deployed import DeployedFrequencies, DeployedHistogram
    from mechdesign.families.hitters import HeavyHitters
    from mechdesign.families.incentives import DirectMechanism, Screening
    from mechdesign.families.joint import JointCollection, JointDistribution
    from mechdesign.families.location import LocationNoise
    from mechdesign.families.marginals import (
        CoveringDesign,
        FrequencyOracle,
        ItemSets,
        KeyValue,
        MarginalViews,
        Weekly,
    )
    from mechdesign.families.mean import MeanChannel, MeanInterval
    from mechdesign.families.response import RandomizedResponse
    from mechdesign.families.shuffle import (
        OutOfReachError,
        ShuffleAmplification,
        ShuffleCounting,
        ShuffleDistinct,
        ShuffleHistogram,
        ShuffleLocalBudget,
        ShuffleRange,
        ShuffleSum,
        ShuffleUniformity,
        shuffled,
    )
    from mechdesign.families.spectrum import (
        SpectrumChannel,
        SpectrumCloakDesign,
        SpectrumPartition,
        SpectrumPrimary,
        SpectrumSecondary,
    )
    from mechdesign.families.survey import SurveyDesign, SurveyLimit
    from mechdesign.families.workload import EventCounts, LinearQueries
    from mechdesign.papers.claims import check_models
    from mechdesign.report.compare import Comparison, compare
    from mechdesign.report.plot import plot
    from mechdesign.report.problem_check import check_problem
    from mechdesign.report.ranking import choose
    from mechdesign.solvers.prove import ProvenBound, prove
    from mechdesign.solvers.solve import methods_of, solve
    from mechdesign.solvers.statement import statement_method
    from mechdesign.survey import Survey

__all__ = [
    "AuctionHorizon",
    "AuctionSlot",
    "Certificate",
    "CertificateError",
    "CollectingMechanism",
    "Comparison",
    "CoveringDesign",
    "DataError",
    "DeployedFrequencies",
    "DeployedHistogram",
    "DirectMechanism",
    "EstimationError",
    "EventCounts",
    "FrequencyOracle",
    "HeavyHitters",
    "ItemSets",
    "JointCollection",
    "JointDistribution",
    "KeyValue",
    "LinearQueries",
    "LocationNoise",
    "MarginalViews",
    "MeanChannel",
    "MeanInterval",
    "MechDesignError",
    "Mechanism",
    "Method",
    "MethodError",
    "MissingPackageError",
    "Model",
    "ModelFileError",
    "OutOfReachError",
    "Outcome",
    "ParameterError",
    "PrivacyContract",
    "PrivacyContractContinuous",
    "Problem",
    "ProvenBound",
    "RandomizedResponse",
    "RowError",
    "Screening",
    "SealedError",
    "ShuffleAmplification",
    "ShuffleCounting",
    "ShuffleDistinct",
    "ShuffleHistogram",
    "ShuffleLocalBudget",
    "ShuffleRange",
    "ShuffleSum",
    "ShuffleUniformity",
    "Solution",
    "SpectrumChannel",
    "SpectrumCloakDesign",
    "SpectrumPartition",
    "SpectrumPrimary",
    "SpectrumSecondary",
    "Survey",
    "SurveyDesign",
    "SurveyLimit",
    "UnknownNameError",
    "Weekly",
    "check_models",
    "check_problem",
    "choose",
    "compare",
    "load_mechanism",
    "load_model",
    "methods_of",
    "models",
    "plot",
    "prove",
    "regress",
    "scores_of",
    "shuffled",
    "solve",
    "statement_method",
    "sweep",
]

_HOMES = {
    "Certificate": "core.certificate",
    "CertificateError": "core.errors",
    "CollectingMechanism": "collect",
    "Comparison": "report.compare",
    "DataError": "core.errors",
    "EstimationError": "core.errors",
    "MechDesignError": "core.errors",
    "Mechanism": "collect",
    "Method": "core.problem",
    "MethodError": "core.errors",
    "MissingPackageError": "core.errors",
    "Model": "catalog",
    "ModelFileError": "core.errors",
    "Outcome": "core.problem",
    "ParameterError": "core.errors",
    "Problem": "core.problem",
    "RowError": "core.errors",
    "SealedError": "core.errors",
    "Solution": "core.solution",
    "UnknownNameError": "core.errors",
    "check_models": "papers.claims",
    "check_problem": "report.problem_check",
    "choose": "report.ranking",
    "compare": "report.compare",
    "load_mechanism": "collect",
    "load_model": "catalog",
    "methods_of": "solvers.solve",
    "models": "catalog",
    "plot": "report.plot",
    "prove": "solvers.prove",
    "ProvenBound": "solvers.prove",
    "regress": "analysis",
    "scores_of": "analysis",
    "statement_method": "solvers.statement",
    "solve": "solvers.solve",
    "Survey": "survey",
    "sweep": "catalog",
}
"""Where the front's own names live; the families' names are found in the families."""

_SUBPACKAGES = (
    *(
        "analysis",
        "audit",
        "catalog",
        "cli",
        "collect",
        "core",
        "data",
        "exact",
        "export",
        "families",
        "foreign",
        "ledger",
        "papers",
        "primitives",
        "report",
    ),
    *("serve", "show", "solvers", "survey", "work"),
)


if not TYPE_CHECKING:  # a type checker would take every unknown name for known

    def __getattr__(name: str) -> "Any":
        """Find a name on first use: importing stays quick, and can be interrupted without a traceback."""
        from importlib import import_module

        if name == "__version__":
            version: str = import_module("mechdesign.core.extensions").installed_version()
            return version
        if name in _HOMES:
            value = getattr(import_module(f"mechdesign.{_HOMES[name]}"), name)
            globals()[name] = value
            return value
        if name.startswith("_") or name in _SUBPACKAGES:  # the import system asks before it imports one
            raise AttributeError(f"module 'mechdesign' has no attribute '{name}'")
        value = import_module("mechdesign.families").exported(name)
        if value is not None:
            return value
        suggestion = import_module("mechdesign.core.errors").suggestion
        raise AttributeError(
            f"module 'mechdesign' has no attribute '{name}'; {suggestion(name, [*_exported(), *__all__])}"
        )


def _exported() -> "dict[str, Any]":
    from importlib import import_module

    names: dict[str, Any] = import_module("mechdesign.families").exported_names()
    return names


def __dir__() -> list[str]:
    return sorted({*__all__, *_exported()})
