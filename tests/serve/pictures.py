"""The pictures of docs/howto/serve.md, of the demonstration: ``python -m tests.serve.pictures``."""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support.browser import chromium
from tests.support.serving import KEY, Running

STATIC = Path(__file__).parents[2] / "docs" / "_static"
WIDTH, COLORS = 1180, 64
PICTURES = {
    "serve_design.png": ("/s/demo-draft/design", "#margins:not([hidden]) tbody tr", "header", 900),
    "serve_collect.png": ("/s/demo-2027/collect", "main", "header", 830),
    "serve_results.png": ("/s/demo-2027/results", "figure svg", "main section.result:nth-of-type(2)", 720),
}
"""The page, what has to be there, where the picture begins, and its height."""


def screenshot(browser: Any, begins: str, height: int) -> bytes:
    """Return a part of the page as PNG with few colors."""
    from PIL import Image

    top = "return document.querySelector(arguments[0]).getBoundingClientRect().top + scrollY - 10"
    first = max(0, browser.execute_script(top, begins))
    clip = {"x": 0, "y": first, "width": WIDTH, "height": height, "scale": 1}
    given = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    stream = io.BytesIO()
    picture = Image.open(io.BytesIO(base64.b64decode(given["data"]))).convert("RGB")
    picture.quantize(COLORS).save(stream, "PNG", optimize=True)
    return stream.getvalue()


def main() -> int:
    """Write the pictures."""
    from selenium.webdriver.support.ui import WebDriverWait

    from mechdesign.serve import Place
    from mechdesign.serve.demo import add_demo

    with tempfile.TemporaryDirectory() as parent, chromium("--force-color-profile=srgb") as browser:
        folder = Path(parent) / "place"
        with Place(folder) as place:
            add_demo(place)
        running = Running(folder, "--language", "en")
        address = f"http://127.0.0.1:{running.owner_port}/owner"
        metrics = {"width": WIDTH, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.get(f"{address}/?key={KEY}")
        for name, (page, needed, begins, height) in PICTURES.items():
            browser.get(f"{address}{page}")
            WebDriverWait(browser, 60).until(
                lambda _, needed=needed: browser.find_elements("css selector", needed)
            )
            content = screenshot(browser, begins, height)
            (STATIC / name).write_bytes(content)
            print(f"{STATIC / name}: {len(content)} bytes")
        running.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
