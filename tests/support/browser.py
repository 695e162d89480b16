"""A real browser without a window, and a small server of the files of a folder."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
REASON = "no Chromium with its driver here (Debian: chromium, chromium-driver)"


UNUSED = ("BackForwardCache", "ProactivelySwapBrowsingInstance", "SpareRendererForSitePerProcess")
"""What starts a process for each page of a tab: a quarter of its time. Other tabs have their own."""

IDLE: dict[tuple[str, ...], Any] = {}
"""Browsers that nobody uses, by their arguments: the next test takes one instead of starting another."""


POLL = 0.02
"""Seconds between two looks at a page: what is waited for is mostly there at the second one."""


def wait(driver: Any, test: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Wait until a function returns something true, and return that."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, seconds, poll_frequency=POLL).until(lambda _: test())


def open_anew(driver: Any, address: str) -> None:
    """Load a page, also where only what follows the # differs from the one that is open.

    For that alone a browser loads nothing, unless another page was open between.
    """
    page, sign, _ = address.partition("#")
    if sign and driver.current_url.partition("#")[0] == page:
        driver.get("about:blank")
    driver.get(address)


def forget(driver: Any, address: str) -> None:
    """Make the browser forget what the pages of an address store, without opening one of them."""
    driver.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": address, "storageTypes": "all"})


def resize(driver: Any, width: int, height: int = 900) -> None:
    """Give the tab a size, as that of a phone if it is narrow, until another one is given or it is closed."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


@contextmanager
def chromium(*arguments: str) -> Iterator[Any]:
    """Yield a driver of a browser with an empty tab, without cookies; afterwards it is kept for the next.

    What is set for a tab, such as its size, its media and its scripts, ends with it. What pages store belongs
    to their port, and each server has another one. Further arguments start another browser, which takes as
    long as a dozen pages: tests use the one without.
    """
    driver = IDLE.pop(arguments, None) or _started(arguments)
    try:
        yield driver
        _leave(driver)
    except BaseException:
        driver.quit()
        raise
    if arguments in IDLE:  # two were in use at once
        driver.quit()
    else:
        IDLE[arguments] = driver


def _started(arguments: tuple[str, ...]) -> Any:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    usual = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
    for argument in (*usual, f"--disable-features={','.join(UNUSED)}", *arguments):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(str(DRIVER)))


def _leave(driver: Any) -> None:
    """Leave one new tab, and nothing of what was before."""
    before = driver.window_handles
    driver.switch_to.window(before[0])
    driver.switch_to.new_window("tab")
    own = driver.current_window_handle
    for handle in before:
        driver.switch_to.window(handle)
        driver.close()
    driver.switch_to.window(own)
    driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    driver.get_log("browser")


def close_browsers() -> None:
    """End the browsers that nobody uses; at the end of a run of the tests."""
    while IDLE:
        IDLE.popitem()[1].quit()


class Silent(SimpleHTTPRequestHandler):
    """Serves files without a word; what is posted is kept in ``server.posted``."""

    extensions_map: ClassVar = {**SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""

    def do_POST(self) -> None:
        """Keep the body and answer 204, or what ``server.status`` is."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posted.append(body.decode())  # type: ignore[attr-defined]
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.end_headers()


@contextmanager
def served(folder: Path) -> Iterator[Any]:
    """Yield a server of a folder's files on a free port of this machine; ``address`` is where."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(folder)))
    server.posted, server.status = [], 204
    server.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
