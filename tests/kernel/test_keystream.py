"""Random bits from keys of the system: the cipher is the standard's, and nothing is kept between requests."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from mechdesign.core.errors import ParameterError
from mechdesign.exact import randomness as keystream
from mechdesign.exact.randomness import LARGEST, SMALL, KeyedSource, SystemSource, bit_source, random_words

ZERO_KEY = (  # RFC 8439, appendix A.1, test vectors 1 and 2: key, nonce and counter zero, then counter one
    "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
    "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
    "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"
)


@pytest.fixture
def keys(monkeypatch):
    """The sizes that the system was asked for; it answers with zeros."""
    pytest.importorskip("cryptography")
    asked = []

    def urandom(size):
        asked.append(size)
        return bytes(size)

    monkeypatch.setattr(keystream.os, "urandom", urandom)
    return asked


def test_the_bits_are_those_of_the_standard(keys):
    words = random_words(SMALL)
    assert words.tobytes()[: len(ZERO_KEY) // 2].hex() == ZERO_KEY
    assert keys == [32]


def test_every_request_and_every_mebibyte_has_a_key_of_its_own(keys):
    words = random_words(2 * LARGEST // 8 + 1)
    assert keys == [32, 32, 32]
    first, second = words[: LARGEST // 8], words[LARGEST // 8 : 2 * LARGEST // 8]
    assert (first == second).all()  # as these keys are the same
    assert len(words) == 2 * LARGEST // 8 + 1
    random_words(SMALL)
    assert keys == [32, 32, 32, 32]


def test_small_requests_are_the_systems_own_bytes(keys):
    assert random_words(SMALL - 1).tolist() == [0] * (SMALL - 1)
    assert keys == [8 * (SMALL - 1)]


@pytest.mark.parametrize("count", [0, 1, SMALL, LARGEST // 8 + 3])
def test_words_fill_the_array_and_never_repeat(count):
    """Two equal words among 131 075 have a chance of 5e-10."""
    words = random_words(count)
    assert len(words) == count
    assert len(np.unique(words)) == count


def test_without_the_package_the_system_answers(monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers", None)
    keystream.cipher.cache_clear()
    try:
        assert keystream.cipher() is None
        assert len(np.unique(random_words(SMALL))) == SMALL
    finally:
        keystream.cipher.cache_clear()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_draws_other_bits():
    code = (
        "import os, sys\n"
        "from mechdesign.exact.randomness import random_words\n"
        "random_words(4096)\n"
        "child = os.fork()\n"
        "print(random_words(4096)[:2].tolist(), flush=True)\n"
        "os.waitpid(child, 0) if child else os._exit(0)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    lines = said.splitlines()
    assert len(lines) == 2
    assert lines[0] != lines[1]


def test_threads_draw_other_bits():
    drawn: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: drawn.append(random_words(1 << 14))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(np.unique(np.concatenate(drawn))) == 8 << 14


def test_the_environment_chooses_the_source(monkeypatch):
    monkeypatch.delenv("MECHDESIGN_RANDOM", raising=False)
    assert type(bit_source()) is KeyedSource
    monkeypatch.setenv("MECHDESIGN_RANDOM", "system")
    assert isinstance(bit_source(), SystemSource)
    monkeypatch.setenv("MECHDESIGN_RANDOM", "fast")
    with pytest.raises(
        ParameterError, match=r"^MECHDESIGN_RANDOM: expected chacha20 or system, got 'fast'; unset"
    ):
        bit_source()


def test_integers_are_uniform_in_their_highest_and_lowest_digits():
    """Each of the 62 digits is a fair coin: 6 standard errors, an error rate of 1e-7."""
    drawn = KeyedSource().integers(1 << 16)
    assert drawn.min() >= 0
    shares = ((drawn[:, None] >> np.arange(62)) & 1).mean(axis=0)
    assert np.abs(shares - 0.5).max() < 6 * 0.5 / 256
