"""Former names of modules give the modules of today, with a warning."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import mechdesign as md
from mechdesign.core.extensions import FormerAttribute, former_modules
from mechdesign.families.survey import Question, RememberedReports, SurveyMechanism

PROGRAM = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from mechdesign.mechanisms.mean import Duchi
    from mechdesign.problems.response import RandomizedResponse
    from mechdesign.core.figure import Figure
import mechdesign.families.mean, mechdesign.show.figure
assert Duchi is mechdesign.families.mean.Duchi and Figure is mechdesign.show.figure.Figure
assert mechdesign.families.mean.__spec__.name == "mechdesign.families.mean"
assert {str(item.category.__name__) for item in caught} == {"DeprecationWarning"}
print([str(item.message) for item in caught][1])
"""


def test_names_of_before_are_those_of_today_and_warn():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == (
        "mechdesign.mechanisms.mean is called mechdesign.families.mean now; "
        "the former name goes with the next version"
    )


PRESENT = {name for present in former_modules().values() for name in present.split()}


@pytest.mark.parametrize("present", sorted(PRESENT))
def test_every_present_name_of_the_table_is_there(present):
    assert importlib.import_module(f"mechdesign.{present}")


def test_a_module_that_was_taken_apart_has_the_names_of_its_parts():
    names = "mechdesign.core.errors and mechdesign.core.values and mechdesign.show.tables"
    with pytest.warns(DeprecationWarning, match=f"mechdesign.core.text is called {names} now"):
        former = importlib.import_module("mechdesign.core.text")
    homes = {"encode": "core.values", "counted": "core.errors", "table": "show.tables"}
    for name, home in homes.items():
        assert getattr(former, name) is getattr(importlib.import_module(f"mechdesign.{home}"), name)


@pytest.mark.filterwarnings("ignore:mechdesign.mechanisms is called:DeprecationWarning")
def test_a_name_that_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError, match=r"mechdesign\.mechanisms\.nothing"):
        importlib.import_module("mechdesign.mechanisms.nothing")


ATTRIBUTES = {
    "auction.rules.Rule": {"asked": "payment_of"},
    "joint.client.PermanentResponse": {"made": "report_count"},
    "joint.tables.JointTables": {"found": "tables"},
    "marginals.MarginalViews": {"wanted": "targets"},
    "marginals.server.MarginalTables": {"found": "tables"},
    "shuffle.messages.BatchShuffler": {"kept": "released_places"},
    "shuffle.protocol.Protocol": {"drawn": "public_seeds"},
    "survey.RememberedReports": {"drawn": "reports_for"},
    "survey.SurveyMechanism": {"told": "part_information", "wanted": "requests"},
    "survey.SurveyDesign": {"asked": "questionnaire"},
    "survey.SurveyLimit": {"told": "information", "wanted": "table_weights"},
    "survey.SurveyResult": {"wanted": "request"},
    "workload.queries.Workload": {"given": "definition"},
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_former_attributes_are_those_of_today(name):
    module, _, class_name = name.rpartition(".")
    owner = getattr(importlib.import_module(f"mechdesign.families.{module}"), class_name)
    every = {key: value for base in owner.__mro__ for key, value in vars(base).items()}
    former = {key: value.present for key, value in every.items() if isinstance(value, FormerAttribute)}
    assert former == ATTRIBUTES[name]
    fields = {key for base in owner.__mro__ for key in getattr(base, "__annotations__", ())}
    for present in former.values():
        assert hasattr(owner, present) or present in {*fields, "report_count", "requests", "definition"}


def test_a_former_attribute_reads_and_warns():
    views = md.MarginalViews(attributes=[2, 2, 2], epsilon=1.0, users=1000, order=2)
    with pytest.warns(DeprecationWarning, match="MarginalViews.wanted is called targets now"):
        assert views.wanted == views.targets


def test_former_arguments_are_taken_with_a_warning():
    survey = SurveyMechanism.of([Question("smokes", labels=("no", "yes"))], epsilon=1.0)
    with pytest.warns(DeprecationWarning, match="the argument 'kept' is called 'reports' now"):
        assert len(RememberedReports(survey, kept={})) == 0
    with pytest.raises(TypeError, match="wished"):
        RememberedReports(survey, wished={})


def test_a_former_name_of_a_package_is_found():
    package = importlib.import_module("mechdesign.families.survey")
    with pytest.warns(DeprecationWarning, match="Wanted is called Request now"):
        assert package.Wanted is package.Request
