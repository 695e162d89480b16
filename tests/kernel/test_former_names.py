"""Former names of modules give the modules of today, with a warning."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from mechdesign.core.extensions import FORMER

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


@pytest.mark.parametrize("present", sorted(set(FORMER.values())))
def test_every_present_name_of_the_table_is_there(present):
    assert importlib.import_module(f"mechdesign.{present}")


@pytest.mark.filterwarnings("ignore:mechdesign.mechanisms is called:DeprecationWarning")
def test_a_name_that_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError, match=r"mechdesign\.mechanisms\.nothing"):
        importlib.import_module("mechdesign.mechanisms.nothing")
