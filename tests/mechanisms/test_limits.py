"""Small files that would ask for much: memory, time, or a file without end."""

from __future__ import annotations

import json
import tracemalloc

import pytest

import mechdesign as md
from mechdesign.audit.kary import KaryWeights
from mechdesign.core.errors import ModelFileError
from mechdesign.core.randomness import TOTAL
from mechdesign.mechanisms import KaryResponse
from mechdesign.mechanisms.base import FORMAT, VERSION, digest, load_mechanism
from mechdesign.mechanisms.mean import AttributeSampling, DiscretePiecewise, Duchi, Harmony


def document(kind, content):
    return {
        "format": FORMAT,
        "version": VERSION,
        "type": kind,
        "content": content,
        "sha256": digest(kind, content),
    }


def test_small_files_do_not_ask_for_much_memory(tmp_path):
    sampling = AttributeSampling(Duchi(1.0), 2).content() | {"attributes": 10**8, "low": 0.0, "high": 1.0}
    harmony = Harmony(1.0, 2).content() | {"attributes": 10**8, "low": 0.0, "high": 1.0}
    kary = KaryResponse(KaryWeights(1, 1, 0, TOTAL, 0), [0], 0.0).content() | {"size": 10**8}
    nested = DiscretePiecewise(1.0).content() | {"cells": 10**8, "window": 10**7}
    forged = [("attribute-sampling", sampling), ("harmony", harmony), ("kary-response", kary)]
    for kind, content in [*forged, ("discrete-piecewise", nested)]:
        (tmp_path / "forged.json").write_text(json.dumps(document(kind, content)))
        tracemalloc.start()
        try:
            with pytest.raises(ModelFileError, match="content is damaged") as caught:
                load_mechanism(tmp_path / "forged.json")
            assert "\n" not in str(caught.value)
            assert tracemalloc.get_traced_memory()[1] < 1 << 24
        finally:
            tracemalloc.stop()


def test_a_file_without_end_is_read_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("mechdesign.mechanisms.base.LARGEST_FILE", 1 << 20)
    monkeypatch.setattr("mechdesign.catalog.toml.LARGEST_FILE", 1 << 20)
    (tmp_path / "model.toml").symlink_to("/dev/zero")
    with pytest.raises(ModelFileError, match="is larger than 1 MiB; name another file"):
        load_mechanism("/dev/zero")
    with pytest.raises(ModelFileError, match="is larger than 1 MiB; name another file"):
        md.load_model(tmp_path / "model.toml")
    monkeypatch.setattr("mechdesign.mechanisms.base.LARGEST_FILE", 100)
    with pytest.raises(ModelFileError, match="make it smaller"):
        md.solve(md.RandomizedResponse([0.5, 0.5], 1.0)).mechanism().save(tmp_path / "survey.json")
    assert not (tmp_path / "survey.json").exists()
