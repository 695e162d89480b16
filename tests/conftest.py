"""Settings of every test: repeatable property tests that write nothing into the checkout."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile

from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("explore", parent=settings.get_profile("repeatable"), derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts the tests in the background has them, and all that they start, ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and nohup has them ignore the end of its terminal

# The tests start hundreds of processes; each would compile the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


gc.disable()  # what is collected stays: there is no garbage to search for until then


def pytest_collection_finish() -> None:
    """Keep the collected tests out of every later search for garbage: they stay until the end anyway."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(
        100_000, 20, 20
    )  # by default each 700 new objects start a search; a law has more numbers


def pytest_sessionfinish() -> None:
    """End the browsers that were kept for the next test, where there are any."""
    if "tests.support.browser" in sys.modules:
        sys.modules["tests.support.browser"].close_browsers()


# Tables are as wide as where there is no terminal, whatever the runner says about its own. No result comes
# from a cache, and none from further processes, unless a test asks for it.
os.environ.pop("COLUMNS", None)
os.environ.update(MECHDESIGN_CACHE="off", MECHDESIGN_JOBS="1")
os.environ["XDG_STATE_HOME"] = os.path.join(tempfile.gettempdir(), "mechdesign_tests_state")
