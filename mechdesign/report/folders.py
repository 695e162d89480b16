"""A folder whose files appear together, once all of them are written."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mechdesign.core.errors import ParameterError


@contextmanager
def whole_folder(folder: str) -> Iterator[Path]:
    """Give a temporary folder whose files move to this one only when all were written."""
    target = Path(folder.rstrip("/" + os.sep) or folder).absolute()
    try:
        work = Path(tempfile.mkdtemp(prefix=f".{target.name[:60]}.", suffix=".part", dir=target.parent))
    except OSError as error:
        raise ParameterError(f"-o {folder}", f"cannot be written ({error.strerror})") from None
    try:
        yield work
        for file in sorted(path for path in work.rglob("*") if path.is_file()):
            place = target / file.relative_to(work)
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(file, place)
    except OSError as error:
        raise ParameterError(f"-o {folder}", f"cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
