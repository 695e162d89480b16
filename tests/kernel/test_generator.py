"""Other names of ``rng`` are errors in a line, for every mechanism that draws or estimates."""

from __future__ import annotations

import pytest

from mechdesign.collect.kernel import OTHER_NAMES
from mechdesign.core.errors import MechDesignError
from tests.meta.test_shown import MECHANISMS


@pytest.mark.parametrize("kind", MECHANISMS)
def test_other_names_of_the_generator_are_refused_in_a_line(kind):
    mechanism = MECHANISMS[kind][0]()
    for method in ("randomize", "estimate"):
        for name in OTHER_NAMES if hasattr(mechanism, method) else ():
            with pytest.raises(MechDesignError, match=f"unknown argument '{name}'") as caught:
                getattr(mechanism, method)(None, **{name: 1})
            assert "rng=" in str(caught.value)
            assert "\n" not in str(caught.value)
