"""Vectors of clients are made once in a run of the tests, whichever process is first."""

from __future__ import annotations

import pytest

from mechdesign.work.cache import Cache
from tests.support import clients
from tests.support.checks import folder_of_run


@pytest.fixture(scope="session", autouse=True)
def kept_vectors(tmp_path_factory):
    clients.KEPT[:] = [Cache(folder_of_run(tmp_path_factory.getbasetemp()))]
