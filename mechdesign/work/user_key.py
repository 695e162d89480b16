"""A secret key of the user: what carries its seal was written by a program of this user, and by nobody else.

It is in the user's own folder, never next to what it seals: a folder of entries may come from an archive or a
repository, and what it holds must not run.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from functools import cache
from pathlib import Path

SIZE = 32
"""Bytes of the key, and of a seal."""


def key_path() -> Path:
    """Return where the key is: a file of the user's state, ``~/.local/state/mechdesign/key``."""
    usual = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(usual) / "mechdesign" / "key"


def seal_of(*parts: bytes) -> bytes | None:
    """Return the seal of what the parts say, in this order; None where no key can be read or made.

    Examples
    --------
    >>> seal_of(b"a", b"bc") == seal_of(b"ab", b"c")
    False
    """
    key = _key(key_path())
    if key is None:
        return None
    text = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hmac.new(key, text, hashlib.sha256).digest()


def is_seal(seal: bytes, *parts: bytes) -> bool:
    """Return whether this is the seal of the parts."""
    own = seal_of(*parts)
    return own is not None and hmac.compare_digest(own, seal)


@cache
def _key(path: Path) -> bytes | None:
    """Return the key in a file that is the user's own and private; it is made where there is none."""
    if not path.exists():
        with suppress(OSError):  # where nothing can be written there is none
            _make(path)
    try:
        found = path.stat()
        text = path.read_bytes()
    except OSError:
        return None
    is_own = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
    return text if is_own and len(text) == SIZE else None


def _make(path: Path) -> None:
    """Write a new key, unless another process has been faster: all have one key."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(secrets.token_bytes(SIZE))
        _place(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _place(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        if not path.exists():
            temporary.replace(path)
