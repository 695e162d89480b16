"""Many checks in one test: all of them are made, and all that fail are reported together."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping

import pytest


def assert_each(checks: Mapping[str, Callable[[], object]]) -> None:
    """Make every check, and fail with the name and the traceback of each that raises.

    >>> def fails():
    ...     assert 1 > 2, "1 is less"
    >>> try:
    ...     assert_each({"one": fails, "two": int, "three": fails})
    ... except AssertionError as error:
    ...     text = str(error)
    >>> text.splitlines()[0]
    '2 of 3 fail: one, three'
    >>> text.count("AssertionError: 1 is less")
    2
    """
    assert checks, "nothing to check"
    failed: dict[str, str] = {}
    for name, check in checks.items():
        try:
            check()
        except (Exception, pytest.fail.Exception):
            failed[name] = traceback.format_exc()
    head = f"{len(failed)} of {len(checks)} fail: {', '.join(failed)}"
    assert not failed, "\n".join([head, *(f"\n{name}:\n{text}" for name, text in failed.items())])
