"""What a mechanism can be exported to: one file for each kind of client."""

from __future__ import annotations

import json
from collections.abc import Callable

from mechdesign.collect.base import Mechanism
from mechdesign.core.errors import MethodError, ParameterError
from mechdesign.export.clients import VERSION, ExportSettings, javascript, plain_json, python
from mechdesign.export.page import page
from mechdesign.export.rlang import r_client
from mechdesign.export.schemas import schema
from mechdesign.export.vectors import vectors

MOST_BYTES = 1 << 26
"""Larger tables are refused: no browser would open them."""


def vectors_text(mechanism: Mechanism, settings: ExportSettings) -> str:
    """Return test vectors as JSON, one per line."""
    found = vectors(mechanism)
    rows = ",\n".join(f"  {plain_json(list(row))}" for row in found)
    head = {
        "format": "mechdesign-vectors",
        "version": VERSION,
        "type": mechanism.type,
        "fingerprint": mechanism.fingerprint,
    }
    if mechanism.about.id:
        head["survey"] = mechanism.about.id
    return f'{json.dumps(head)[:-1]},\n "vectors": [\n{rows}\n ]}}\n'


def schema_text(mechanism: Mechanism, settings: ExportSettings) -> str:
    """Return the JSON Schema of the files of this type of mechanism."""
    return json.dumps(schema(mechanism.type), indent=1) + "\n"


KINDS: dict[str, Callable[[Mechanism, ExportSettings], str]] = {
    "python": python,
    "js": javascript,
    "html": page,
    "r": r_client,
    "vectors": vectors_text,
    "schema": schema_text,
}
"""What a mechanism is exported to, and how."""


def export(mechanism: Mechanism, to: str, settings: ExportSettings | None = None) -> str:
    """Return a client, a page or test vectors of a mechanism as the text of one file.

    Parameters
    ----------
    mechanism : Mechanism
    to : str
        A name of ``KINDS``.
    settings : ExportSettings, optional

    Raises
    ------
    ParameterError
        For another name.
    MethodError
        For a mechanism without a client in whole numbers, or tables that are too large.

    Examples
    --------
    >>> from mechdesign.collect.kary import KaryResponse
    >>> export(KaryResponse.of(3, 1.0), "python").count("def randomize(")
    1
    """
    if to not in KINDS:
        raise ParameterError("to", f"expected one of {', '.join(KINDS)}, got '{to}'")
    result = KINDS[to](mechanism, settings or ExportSettings())
    if len(result) > MOST_BYTES:
        raise MethodError(
            "export", f"the tables take {len(result) >> 20} MiB", "use fewer categories or reports"
        )
    return result
