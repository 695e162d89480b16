"""Draw the pictures of the README again, as docs/_static/readme/*: python docs/readme_pictures.py

The page of the example survey on a phone and its results are photographs of pages, for which Chromium and
its driver have to be there; the answers are synthetic.
"""

import base64
import random
import tempfile
from pathlib import Path

import numpy as np
from selenium import webdriver

import mechdesign as md
from mechdesign.cli import main
from mechdesign.show.draw import svg
from mechdesign.show.figure import Figure, Line, Panel, Points

FOLDER = Path(__file__).parent / "_static" / "readme"
PEOPLE, SEED = 1620, 11


def answers(generator: random.Random) -> str:
    """Return the answers of synthetic people to the example survey, as CSV."""
    lines = ["department,recommend,satisfaction,tools: e-mail,tools: chat,tools: paper,age,overtime"]
    for _ in range(PEOPLE):
        team = generator.choices(["nursing", "doctors", "administration"], [6, 2, 3])[0]
        weights = {"nursing": [4, 5, 1], "doctors": [3, 7, 1], "administration": [2, 8, 1]}[team]
        recommend = generator.choices(["no", "yes", ""], weights)[0]
        mood = round(generator.gauss(3.4 if recommend == "yes" else 2.4, 1.0))
        ticks = [generator.choices(["no", "yes"], pair)[0] for pair in ([1, 9], [5, 5], [7, 3])]
        overtime = min(60, max(0, round(generator.gauss(14.0, 9.0))))
        row = [team, recommend, min(5, max(1, mood)), *ticks, generator.randint(19, 66), overtime]
        lines.append(",".join(map(str, row)))
    return "\n".join(lines) + "\n"


def pages(folder: Path) -> None:
    """Write the page for respondents and the page of results."""
    (folder / "answers.csv").write_text(answers(random.Random(SEED)), encoding="utf-8")
    where = {name: str(folder / name) for name in ("staff.toml", "staff.json", "answers.csv", "reports.csv")}
    for words in (
        ["init", "--example", "staff", "-o", where["staff.toml"]],
        ["build", where["staff.toml"], "-o", where["staff.json"]],
        ["export", where["staff.json"], "--to", "html", "-o", str(folder / "phone.html")],
        ["randomize", where["staff.json"], where["answers.csv"], "-o", where["reports.csv"], "--seed", "3"],
        ["report", where["staff.json"], where["reports.csv"], "-o", str(folder / "results.html")],
    ):
        if main(words):
            raise SystemExit(f"mechdesign {words[0]} failed")


def photograph(page: Path, width: int, height: int) -> None:
    """Write what a browser shows of a page, as PNG."""
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(argument)
    with webdriver.Chrome(options=options) as browser:
        size = {"width": width, "height": height, "deviceScaleFactor": 1.5, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(page.as_uri())
        shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    (FOLDER / f"{page.stem}.png").write_bytes(base64.b64decode(shot["data"]))


def optima() -> Figure:
    """Return the optimum of a survey over epsilon, by its closed form and by a solver."""
    epsilons = np.geomspace(0.25, 6.0, 61)
    problem = md.RandomizedResponse(prior=[0.5, 0.3, 0.15, 0.05], epsilon=1.0)
    some = epsilons[::6]

    def optimum(epsilon: float, method: str) -> float:
        return float(md.solve(problem.replace(epsilon=float(epsilon)), method=method).value)

    def truthful(epsilon: float) -> float:  # k-ary randomized response
        return float(np.exp(epsilon) / (np.exp(epsilon) + 3.0))

    marks = (
        Line(epsilons, [optimum(each, "closed-form") for each in epsilons], label="optimum, closed form"),
        Points(some, [optimum(each, "lp") for each in some], label="optimum, linear program"),
        Line(epsilons, [truthful(each) for each in epsilons], label="k-ary randomized response"),
    )
    panel = Panel(marks=marks, x_label="epsilon", y_label="probability of a truthful report", x_scale="log")
    return Figure(title="Four answers with shares 50, 30, 15 and 5 %", panels=(panel,))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        pages(Path(place))
        photograph(Path(place) / "phone.html", 390, 700)
        photograph(Path(place) / "results.html", 700, 700)
    (FOLDER / "optima.svg").write_text(svg(optima()), encoding="utf-8")
