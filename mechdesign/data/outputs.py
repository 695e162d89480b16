"""Whether an output may be written where something stands: by ``--force``, and never over an input."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from mechdesign.core.errors import MechDesignError, ParameterError
from mechdesign.work.files import require_name


def require_output(
    path: str,
    inputs: Iterable[str],
    force: bool,
    same: Callable[[], bool] | None = None,
    option: str = "-o",
) -> None:
    """Raise ParameterError when writing to this path would destroy something.

    Parameters
    ----------
    path : str
        The output.
    inputs : iterable of str
        What the command reads; none of it is ever overwritten, by whatever name.
    force : bool
        Whether the user said that an existing file may be replaced.
    same : callable, optional
        Whether what stands there says the same already, so that nothing is lost. An error of the toolkit
        means no.
    option : str
        How the command names this output.

    Examples
    --------
    >>> require_output("people.csv", ["people.csv"], force=True)
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: -o people.csv: is an input of this command; choose another path
    """
    if path == "-":
        raise ParameterError(f"{option} -", "nothing is written to the standard output", "name a file")
    require_name(path, ParameterError)
    for source in inputs:
        if same_file(path, source):
            raise ParameterError(f"{option} {path}", "is an input of this command", "choose another path")
    if not os.path.isdir(os.path.dirname(os.path.realpath(path))):
        raise ParameterError(
            f"{option} {path}",
            "cannot be written (its folder does not exist)",
            "create it or choose another path",
        )
    if os.path.islink(os.path.realpath(path)):
        raise ParameterError(f"{option} {path}", "is a link that leads to itself", "choose another path")
    if force or not os.path.lexists(path) or not Path(path).is_file():
        return  # what is not a file is refused when it is written
    if same is not None:
        with suppress(MechDesignError):
            if same():
                return
    raise ParameterError(f"{option} {path}", "file exists", "choose another path or add --force")


def same_file(first: str, second: str) -> bool:
    """Whether two names are of one file, be it through links."""
    if os.path.realpath(first) == os.path.realpath(second):
        return True
    try:
        return os.path.samefile(first, second)
    except OSError:
        return False
