"""What protocols of a task have to know of users' values, next to the guarantee."""

from __future__ import annotations

from typing import Any

from mechdesign.families.shuffle.candidates import ProtocolSetting


def precision(case: ProtocolSetting) -> dict[str, Any]:
    """Return the parameters of a sum: its steps, or 0."""
    return {"precision": case.size}


def categories(case: ProtocolSetting) -> dict[str, Any]:
    """Return the parameters of a histogram."""
    return {"categories": case.size, "labels": case.labels}


def tested(case: ProtocolSetting) -> dict[str, Any]:
    """Return the parameters of a test of uniformity."""
    return {**categories(case), "error": case.error}
