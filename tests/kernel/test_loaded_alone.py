"""A fresh process loads a mechanism by its type, and imports no other class."""

from __future__ import annotations

import subprocess
import sys

import mechdesign as md
from mechdesign.collect.base import mechanism_types
from mechdesign.core import extensions as kinds

PACKAGES = ("mechdesign.primitives", "mechdesign.families")

PROGRAM = """
import sys
from mechdesign.collect import load_mechanism
assert not any(name.startswith("mechdesign.families.marginals.papers") for name in sys.modules)
print(load_mechanism(sys.argv[1]).type)
"""


def test_a_class_of_the_papers_is_found_by_the_type_in_its_file(tmp_path):
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
        "import sys; from mechdesign.collect.base import Mechanism, load_mechanism;"
        "from mechdesign.core.extensions import derived; load_mechanism(sys.argv[1]);"
        "print(*{kind.type for kind in derived(Mechanism.__subclasses__()) if 'type' in vars(kind)})"
    )
    command = [sys.executable, "-W", "error", "-c", program, str(tmp_path / "m.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "kary-response"


def test_the_module_of_every_type_is_the_only_one_with_its_word():
    here = {word: kind for word, kind in mechanism_types().items() if kind.__module__.startswith(PACKAGES)}
    assert len(here) > 50
    for word, kind in here.items():
        assert list(kinds._modules_with("type", word, PACKAGES)) == [kind.__module__]


def test_a_file_that_is_called_like_the_type_is_read_before_the_others(monkeypatch):
    read, has = [], kinds._mentions
    monkeypatch.setattr(kinds, "_mentions", lambda path, given: read.append(path) or has(path, given))
    assert next(kinds._modules_with("type", "kary-response", PACKAGES)) == "mechdesign.primitives.kary"
    assert len(read) < 10
