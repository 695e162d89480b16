"""Write what the shipped models claim into the file from which ``findings`` and ``sources`` are made.

    python -m benchmarks.recorded_claims

Needed after a change of a model, a source or the bibliography; a test compares the file with them.
"""

from __future__ import annotations

from typing import Any

from mechdesign.catalog.load import load_model
from mechdesign.catalog.shipped import SOURCES, model_files, models_folder, read_toml
from mechdesign.papers.claims.findings import claims_document
from mechdesign.papers.claims.recorded import FILE, digest_of, record_text


def documents() -> dict[str, tuple[str, Any]]:
    """Return digest and document of each file below the models' folder, by their paths."""
    result: dict[str, tuple[str, Any]] = {}
    for path in model_files():
        place = path.relative_to(models_folder())
        is_model = len(place.parts) > 1 and place.parts[0] != SOURCES
        slug = place.with_suffix("").as_posix()
        document = claims_document(load_model(slug)) if is_model else read_toml(path)
        result[place.as_posix()] = (digest_of(path), document)
    return result


def main() -> None:
    """Write the file."""
    FILE.write_text(record_text(documents()), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
