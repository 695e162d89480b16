"""A fresh process loads a mechanism whose class lives outside of the package of mechanisms."""

from __future__ import annotations

import subprocess
import sys

import mechdesign as md

PROGRAM = """
import sys
from mechdesign.mechanisms import load_mechanism
assert not any(name.startswith("mechdesign.papers.marginals") for name in sys.modules)
print(load_mechanism(sys.argv[1]).type)
"""


def test_a_class_of_a_home_is_found_by_the_type_in_its_file(tmp_path):
    model = md.load_model("marginals/five_habits")
    mechanism = md.solve(model.problem, "ft").mechanism()
    mechanism.save(tmp_path / "m.json")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, str(tmp_path / "m.json")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == mechanism.type == "marginal-rival"


def test_other_classes_than_that_of_the_file_are_not_imported(tmp_path):
    """Only the module with the type is imported of those that have one: the others take time."""
    mechanism = md.solve(md.RandomizedResponse(prior=[0.5, 0.5], epsilon=1.0)).mechanism()
    mechanism.save(tmp_path / "m.json")
    program = (
        "import sys; from mechdesign.mechanisms.base import Mechanism, load_mechanism;"
        "from mechdesign.mechanisms.kinds import derived; load_mechanism(sys.argv[1]);"
        "print(*{kind.type for kind in derived(Mechanism.__subclasses__()) if 'type' in vars(kind)})"
    )
    command = [sys.executable, "-W", "error", "-c", program, str(tmp_path / "m.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "kary-response"
