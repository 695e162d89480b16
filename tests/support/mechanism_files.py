"""Mechanism files as tests change them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mechdesign.exact.numbers import plain_values


def opened(path: Path) -> dict[str, Any]:
    """Return what a file holds, whole numbers as such; a file may be written with those as well."""
    document = json.loads(path.read_text(encoding="utf-8"))
    return {key: plain_values(part) if key == "content" else part for key, part in document.items()}
