"""The owner's results room: a page, downloads, and nothing below the least number of reports.

Everything here is made of a snapshot (:mod:`mechdesign.serve.snapshots`); below the least number there is
none, so that no address has anything to answer with.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mechdesign.core.errors import DataError, UnknownNameError
from mechdesign.core.extensions import installed_version
from mechdesign.core.values import encode
from mechdesign.data.tidy import Columns, Tidy, with_question
from mechdesign.export.disclosure import limit_for_respondents
from mechdesign.export.texts import texts_of
from mechdesign.report.page import Estimation, results_page, waves_page
from mechdesign.report.tables import write_results
from mechdesign.report.workbook import write_result, write_tidy
from mechdesign.serve.pages import owner_page, words_of
from mechdesign.serve.place import Place
from mechdesign.serve.result_values import Language, result_values, wave_values
from mechdesign.serve.snapshots import Snapshot, Snapshots, estimates_of_waves

Chain = Sequence[Snapshot]
Writer = Callable[[str, Snapshot], None]

MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "html": "text/html; charset=utf-8",
}
"""Types of downloads by the endings of their names."""

REFUSED = 409
"""The status of a download below the least number of reports."""

MECHANISM, REPORTS = "survey.json", "reports.jsonl"
"""Names of the files that ``mechdesign estimate`` reads."""


class ResultsRoom:
    """The results of the surveys of a place.

    Attributes
    ----------
    place : Place
    snapshots : Snapshots
    """

    def __init__(self, place: Place) -> None:
        self.place, self.snapshots = place, Snapshots(place)
        self._values: dict[str, dict[str, Any]] = {}

    def show(self, request: Request) -> Response:
        """Answer with the page: results, or how many reports are missing for some."""
        survey = self.place.survey(request.path_params["slug"])
        language = Language(words_of(request).language)
        snapshot = self.snapshots.of(survey)
        chain = self.snapshots.waves(survey) if snapshot is not None else []
        values: dict[str, Any] = {"results": None, "waves": None, "limit": "", "downloads": []}
        if snapshot is not None:
            values = self._of_snapshot(survey.slug, snapshot, chain, language)
        return owner_page(
            request,
            "results.html",
            survey=survey,
            snapshot=snapshot,
            number=language.count,
            day_text=language.day,
            least=survey.settings.least,
            count=survey.count,
            missing=self.snapshots.missing(survey),
            days=days_of(survey.count_by_day()),
            **values,
        )

    def _of_snapshot(self, slug: str, snapshot: Snapshot, chain: Chain, language: Language) -> dict[str, Any]:
        """Return what is shown of a snapshot, which is drawn once for each language."""
        key = (snapshot, *chain, language.code)
        if slug not in self._values or self._values[slug].get("key") != key:
            self._values[slug] = {
                "key": key,
                "results": result_values(snapshot, language),
                "waves": wave_values(chain, language) if chain else None,
                "limit": limit_for_respondents(snapshot.mechanism, texts_of(language.code)),
                "downloads": [*downloads_of(snapshot), *(WAVES if chain else ()), MECHANISM],
            }
        return {name: value for name, value in self._values[slug].items() if name != "key"}

    def download(self, request: Request) -> Response:
        """Answer with a file of the results; refused below the least number of reports."""
        survey = self.place.survey(request.path_params["slug"])
        name = request.path_params["name"]
        snapshot = self.snapshots.of(survey)
        if snapshot is None:
            words = words_of(request)
            error = words.say("results.too_few", least=survey.settings.least)
            return owner_page(request, "refused.html", REFUSED, survey=survey, error=error)
        chain = self.snapshots.waves(survey)
        possible = [*downloads_of(snapshot), *(WAVES if chain else ())]
        if name not in possible:
            raise UnknownNameError("results", f"unknown file '{name:.60}'")
        write = partial(WAVE_WRITERS[name], chain=chain) if name in WAVES else WRITERS[name]
        with tempfile.TemporaryDirectory(prefix="mechdesign-") as folder:
            path = Path(folder, name)
            write(str(path), snapshot)
            return _file(survey.slug, name, path.read_bytes())


def routes(place: Place) -> list[Route]:
    """Return the routes of the room, below ``/owner``."""
    room = ResultsRoom(place)
    return [
        Route("/s/{slug}/results", room.show),
        Route(f"/s/{{slug}}/results/{MECHANISM}", _mechanism),
        Route("/s/{slug}/results/{name}", room.download),
    ]


def _mechanism(request: Request) -> Response:
    """Answer with the built survey, which holds no report: the file of ``mechdesign estimate``."""
    survey = request.app.state.place.survey(request.path_params["slug"])
    if survey.mechanism is None:
        raise DataError(survey.slug, "is not built", "build it first")
    return _file(survey.slug, MECHANISM, survey.mechanism_path.read_bytes())


def _file(slug: str, name: str, content: bytes) -> Response:
    """Return a download."""
    headers = {"Content-Disposition": f'attachment; filename="{slug}-{name}"', "Cache-Control": "no-store"}
    return Response(content, headers=headers, media_type=MEDIA[name.rpartition(".")[2]])


def days_of(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return how many reports came on each day, with the length of a bar out of 100.

    Examples
    --------
    >>> days_of({"2026-11-27": 10, "2026-11-28": 40})[0]
    {'day': datetime.date(2026, 11, 27), 'count': 10, 'length': 25.0}
    """
    most = max(counts.values(), default=1)
    return [
        {"day": date.fromisoformat(day), "count": count, "length": round(100.0 * count / most, 1)}
        for day, count in counts.items()
    ]


# Downloads


def downloads_of(snapshot: Snapshot) -> list[str]:
    """Return the names of the files of a snapshot: tables where its result is one."""
    tables = ("results.xlsx", "results.csv") if isinstance(snapshot.result, Tidy) else ()
    return [*tables, "results.json", "results.html", REPORTS]


def _columns(snapshot: Snapshot) -> Columns:
    names = snapshot.mechanism.data_columns
    return with_question(snapshot.result.tidy(), names[0] if len(names) == 1 else "")


def _write_workbook(path: str, snapshot: Snapshot) -> None:
    write_result(path, snapshot.result, snapshot.mechanism, _columns(snapshot))


def _write_csv(path: str, snapshot: Snapshot) -> None:
    write_results(path, {"estimates": _columns(snapshot)})


def _write_json(path: str, snapshot: Snapshot) -> None:
    _write_text(path, json.dumps(encode(snapshot.result), indent=2, allow_nan=False) + "\n")


def _write_reports(path: str, snapshot: Snapshot) -> None:
    lines = (json.dumps(row) for rows in snapshot.messages for row in rows)
    _write_text(path, "".join(f"{line}\n" for line in lines))


def _write_page(path: str, snapshot: Snapshot) -> None:
    slug = snapshot.slug
    estimation = Estimation(snapshot.result, "estimate", f"{slug}-{MECHANISM}", [f"{slug}-{REPORTS}"])
    _write_text(path, results_page(snapshot.mechanism, estimation, installed_version()))


def _write_text(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="utf-8")


WRITERS: dict[str, Writer] = {
    "results.xlsx": _write_workbook,
    "results.csv": _write_csv,
    "results.json": _write_json,
    "results.html": _write_page,
    REPORTS: _write_reports,
}


def _write_wave_workbook(path: str, snapshot: Snapshot, chain: Chain) -> None:
    write_tidy(path, {"waves": estimates_of_waves(chain)}, snapshot.mechanism)


def _write_wave_csv(path: str, snapshot: Snapshot, chain: Chain) -> None:
    write_results(path, {"estimates": estimates_of_waves(chain).tidy()})


def _write_wave_page(path: str, snapshot: Snapshot, chain: Chain) -> None:
    mechanisms = [wave.mechanism for wave in chain]
    estimations = [
        Estimation(wave.result, "estimate", f"{wave.slug}-{MECHANISM}", [f"{wave.slug}-{REPORTS}"])
        for wave in chain
    ]
    text = waves_page(mechanisms, estimations, estimates_of_waves(chain), installed_version())
    _write_text(path, text)


WAVE_WRITERS: dict[str, Callable[..., None]] = {
    "waves.xlsx": _write_wave_workbook,
    "waves.csv": _write_wave_csv,
    "waves.html": _write_wave_page,
}
WAVES = tuple(WAVE_WRITERS)
