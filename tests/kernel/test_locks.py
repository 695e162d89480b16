"""One process after the other: what is refused leaves no lock, and nobody works beside another."""

import threading
from pathlib import Path

import pytest

from mechdesign.core.errors import DataError
from mechdesign.work.files import one_at_a_time


def test_no_lock_is_left_whether_the_work_is_done_or_refused(tmp_path):
    with one_at_a_time(tmp_path / "state", DataError):
        assert [path.name for path in tmp_path.iterdir()] == [".state.lock"]
    with pytest.raises(DataError, match="refused"), one_at_a_time(tmp_path / "state", DataError):
        raise DataError("refused")
    assert list(tmp_path.iterdir()) == []


def test_nobody_works_beside_another_though_locks_are_removed(tmp_path):
    place, inside, together = tmp_path / "state", [], []

    def work(path: Path) -> None:
        for _ in range(100):
            with one_at_a_time(path, DataError):
                inside.append(1)
                together.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work, args=(place,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(together) == 600
    assert max(together) == 1
    assert list(tmp_path.iterdir()) == []
