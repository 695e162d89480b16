"""The version that is installed."""

from __future__ import annotations


def installed_version() -> str:
    """Return the version of the installed package; ``0.0.0`` for a checkout that was never installed.

    Examples
    --------
    >>> installed_version().count(".") >= 2
    True
    """
    from importlib.metadata import PackageNotFoundError, version  # takes longer than a short command

    try:
        return version("mechdesign")
    except PackageNotFoundError:
        return "0.0.0"
