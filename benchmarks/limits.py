"""What a compiled loop takes on one thread: the limit of a client or a server in one process.

The loops of ``limit.c`` are compiled on the fly; without a C compiler there is no limit in the table. They
make the same kinds of reports and count them, with a generator that is fast and not a cryptographic one.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SOURCE = Path(__file__).with_name("limit.c")
COMPILERS = ("cc", "gcc", "clang")


@cache
def compiled(source: Path) -> ctypes.CDLL | None:
    """Return the loops of a file in C; None without a compiler, or without one that understands it."""
    named = [name for name in (os.environ.get("CC", ""), *COMPILERS) if name and shutil.which(name)]
    if not named:
        return None
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "loops.so"
        options = ["-O3", "-march=native", "-shared", "-fPIC", str(source), "-o", str(made), "-lm"]
        done = subprocess.run([named[0], *options], capture_output=True)
        return ctypes.CDLL(str(made)) if done.returncode == 0 else None


def limit_of(
    name: str, answers: NDArray[Any], counters: int, *numbers: int | float
) -> Callable[[], Any] | None:
    """Return a loop on these answers as a function without arguments; None without a compiler."""
    library = compiled(SOURCE)  # knows numbers of 128 bits
    if library is None:
        return None
    loop, counts = getattr(library, name), np.zeros(counters, dtype=np.int64)
    given = [
        ctypes.c_double(number) if isinstance(number, float) else ctypes.c_int64(number) for number in numbers
    ]
    loop.restype = None

    def run() -> NDArray[np.int64]:
        counts[:] = 0
        loop(
            ctypes.c_void_p(answers.ctypes.data),
            ctypes.c_int64(len(answers)),
            *given,
            ctypes.c_void_p(counts.ctypes.data),
        )
        return counts

    return run
