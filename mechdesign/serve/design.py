"""The owner's design room: a survey is typed, its margins follow, and it is built.

What is typed is saved at each change, as the file that one writes by hand. A page says which draft it began
with; where another window has saved a later one, it is not overwritten.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from threading import Thread
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mechdesign.collect.base import load_mechanism
from mechdesign.core.errors import (
    NORMAL,
    MechDesignError,
    ModelFileError,
    ParameterError,
    printable,
)
from mechdesign.export.texts import texts_of
from mechdesign.serve.draft import (
    GOALS_WITH_ERRORS,
    HEAD,
    Document,
    draft_of_json,
    draft_of_text,
    faults,
    is_buildable,
    new_draft,
    text_of_draft,
    value_text,
)
from mechdesign.serve.pages import BRACED, Words, for_page, owner_page, room_tables, words_of
from mechdesign.serve.place import Place, ServedSurvey
from mechdesign.serve.planning import (
    built_survey,
    curves,
    plan_of,
    with_margin,
)
from mechdesign.serve.sentences import (
    audit_said,
    fault_said,
    line_of,
    margins_said,
    number_said,
    points_said,
    risk_of,
    ways_said,
)
from mechdesign.serve.ways import ways_to
from mechdesign.serve.worker import OvertakenError, Worker

MARGINS, STUDIES = "margins", "studies"
"""The processes that compute."""

ENDS = ("largest", "smallest")
"""The curves of a picture."""

LARGEST_BODY = 1 << 20
"""Bytes of a draft that a page sends."""

FORMS = ("yes_no", "choice", "several", "ordered", "rating", "mean", "classes")
"""How a question is answered, in the order in which a page offers it."""

SPOKEN = (
    *("saved", "saving", "unsaved", "refused", "conflict", "computing", "incomplete", "useless", "undo"),
    *("removed", "imported", "lost_comments", "question", "of_question", "up", "down", "copy", "remove"),
    *("joint_by", "joint_cross", "margin_points", "margin_units", "marked_one", "marked_many"),
    *("ways_computing", "curves_computing", "build_computing", "importance_other", "margin"),
    *("ways_alone", "ways_column", "ways_rest", "curves_people", "curves_epsilon", "curves_largest"),
    *("curves_smallest", "curves_table", "curves_none", "audit_what", "audit_verdict"),
    *("column_needed",),
)
"""The sentences that the script of the page says."""


class DesignRoom:
    """The routes of the room.

    Parameters
    ----------
    place : Place
    """

    def __init__(self, place: Place) -> None:
        self.place = place

    def routes(self) -> list[Route]:
        """Return the routes, below ``/owner``."""
        base = "/s/{slug}/design"
        posts = {
            "draft": self.save,
            "margins": self.plan,
            "margin": self.fill,
            "curves": self.draw,
            "ways": self.find_ways,
            "import": self.read_file,
            "build": self.build,
        }
        return [
            Route(base, self.show),
            Route(f"{base}/file", self.download),
            *(Route(f"{base}/{name}", method, methods=["POST"]) for name, method in posts.items()),
        ]

    def _survey(self, request: Request) -> ServedSurvey:
        return self.place.survey(request.path_params["slug"])

    def _subject(self, request: Request) -> str:
        """Return what a newer question overtakes an older one about: what one page asks about a survey."""
        page = request.query_params.get("page", "")[:40]
        return f"{request.url.path} {self._survey(request).folder} {page}"

    # The page

    def show(self, request: Request) -> Response:
        """Return the page."""
        survey, words = self._survey(request), words_of(request)
        Thread(target=worker(MARGINS).begin, daemon=True).start()  # ready when the first change comes
        text, refusal = survey.draft, ""
        try:
            document = draft_of_text(text) if text.strip() else new_draft(words.language)
        except ModelFileError as error:
            document, refusal = new_draft(words.language), str(error)
        if not survey.draft.strip() and survey.mechanism is None:
            text = text_of_draft(document)
            survey.save_draft(text)
        content = {
            "document": document,
            "base": draft_digest(text),
            "words": {
                **{name: words.say(f"design.{name}", **_kept(name, words)) for name in SPOKEN},
                "quoted": texts_of(words.language).quote("{text}"),
            },
            "normal": NORMAL,
            "decimal": texts_of(words.language).tables["language"]["decimal"],
            "yes_no": [texts_of(words.language).say("form.no"), texts_of(words.language).say("form.yes")],
            "fixed": survey.state in ("collecting", "ended"),
            "unreadable": bool(refusal),
        }
        translations = document[HEAD].get("translations", {})
        return owner_page(
            request,
            "design.html",
            survey=survey,
            content=content,
            refusal=refusal,
            forms=FORMS,
            goals=("mean", *GOALS_WITH_ERRORS),
            translations=", ".join(map(value_text, translations))
            if isinstance(translations, Mapping)
            else "",
            is_built=survey.mechanism is not None,
        )

    def download(self, request: Request) -> Response:
        """Return the draft as a file."""
        survey = self._survey(request)
        headers = {"Content-Disposition": f'attachment; filename="{survey.slug}.toml"'}
        return Response(survey.draft, headers=headers, media_type="application/toml")

    # What a page sends

    async def save(self, request: Request) -> Response:
        """Save a draft, and return what is wrong with it."""
        document = await self._document(request)
        return await run_in_threadpool(self._saved, request, document)

    def _saved(self, request: Request, document: Document, is_returned: bool = False) -> Response:
        survey, words = self._survey(request), words_of(request)
        base = request.query_params.get("base", "")
        if base and base != draft_digest(survey.draft):
            return JSONResponse({"conflict": True}, 409)
        text = text_of_draft(document)
        if text != survey.draft:
            survey.save_draft(text)
        listed = faults(document)
        return JSONResponse(
            {
                "base": draft_digest(text),
                "slug": self._slug(survey, words) if is_returned or "titled" in request.query_params else "",
                "faults": [fault_said(fault, words) for fault in listed],
                "buildable": is_buildable(listed),
                "line": line_of(document, words),
                "risk": risk_of(document[HEAD].get("epsilon"), words),
                **({"document": document} if is_returned else {}),
            }
        )

    def _slug(self, survey: ServedSurvey, words: Words) -> str:
        """Return the slug of a survey whose title is typed, which it is called after until it is built."""
        return survey.follow_title(new_draft(words.language)[HEAD]["title"])

    async def plan(self, request: Request) -> Response:
        """Return the margins of a draft."""
        document, words = await self._document(request), words_of(request)
        try:
            plan = await worker(MARGINS).ask(self._subject(request), _plan, document)
        except OvertakenError:
            return JSONResponse({"overtaken": True})
        except MechDesignError as error:
            return JSONResponse({"refused": _one(error, words), "line": line_of(document, words)})
        return JSONResponse(margins_said(document, plan, words))

    async def fill(self, request: Request) -> Response:
        """Return a draft in which all results have a margin."""
        document, points = await self._document(request), _points(request)
        try:
            return JSONResponse({"document": with_margin(document, points)})
        except (AttributeError, KeyError, TypeError, ValueError):
            remedy = "correct the marked entries"
            raise ParameterError("margin", "is for complete questions", remedy) from None

    async def draw(self, request: Request) -> Response:
        """Return the curves of a draft."""
        document, words = await self._document(request), words_of(request)
        names = ("people", "epsilon", "margin", "largest", "smallest", "now", "caption")
        texts = {name: words.say(f"design.curves_{name}") for name in (*names, "over_people", "over_epsilon")}
        try:
            pictures = await worker(STUDIES).ask(self._subject(request), curves, document, texts)
        except OvertakenError:
            return JSONResponse({"overtaken": True})
        except MechDesignError as error:
            return JSONResponse({"refused": _one(error, words)})
        return JSONResponse(
            {
                axis: {
                    "picture": for_page(curve["picture"]),
                    "rows": [
                        [
                            number_said(row["x"], words),
                            *(points_said(row[end], words) for end in ENDS),
                        ]
                        for row in curve["rows"]
                    ],
                }
                for axis, curve in pictures.items()
            }
        )

    async def find_ways(self, request: Request) -> Response:
        """Return what takes the margins of a draft to some points."""
        document, points, words = await self._document(request), _points(request), words_of(request)
        try:
            ways = await worker(STUDIES).ask(self._subject(request), _ways, document, points)
        except OvertakenError:
            return JSONResponse({"overtaken": True})
        except MechDesignError as error:
            return JSONResponse({"refused": _one(error, words)})
        return JSONResponse(ways_said(document, ways, words))

    async def read_file(self, request: Request) -> Response:
        """Save a survey file in the place of the draft; a file that is none is refused in one line."""
        text = (await self._body(request)).decode("utf-8", "strict")
        name = printable(request.query_params.get("name", "survey.toml"))[:100]
        document = draft_of_text(text, name)
        return await run_in_threadpool(self._saved, request, document, True)

    async def build(self, request: Request) -> Response:
        """Build the draft, and return the result of the audit."""
        survey, words = self._survey(request), words_of(request)
        slug = self._slug(survey, words)
        path = survey.folder / "built.json"
        try:
            # a survey is built where margins are computed, which is quick: studies take long
            await worker(MARGINS).ask(self._subject(request), built_survey, survey.draft, str(path))
            mechanism = survey.use(await run_in_threadpool(load_mechanism, path))
        except OvertakenError:
            return JSONResponse({"overtaken": True})
        except MechDesignError as error:
            return JSONResponse({"refused": _one(error, words)})
        finally:
            with suppress(OSError):
                path.unlink()
        certificates = await run_in_threadpool(mechanism.certificates)
        return JSONResponse(
            {
                "built": words.say("design.built"),
                "slug": slug,
                "rows": [audit_said(item, words) for item in certificates],
                "holds": all(item.holds for item in certificates),
                "fingerprint": mechanism.fingerprint,
                "identity": mechanism.about.id,
            }
        )

    async def _body(self, request: Request) -> bytes:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_BODY:
                raise ParameterError("draft", "is larger than 1 MiB", "make it shorter")
        return body

    async def _document(self, request: Request) -> Document:
        return draft_of_json(await self._body(request))


@cache
def worker(name: str) -> Worker:
    """Return a process that computes for all places: for margins, which are awaited, or for studies."""
    return Worker()


def routes(place: Place) -> list[Route]:
    """Return the routes of the room, below ``/owner``."""
    return _answered(DesignRoom(place).routes())


def _answered(listed: Sequence[Route]) -> list[Route]:
    """Return routes whose errors are lines for the script of the page, where it posts."""
    return [
        Route(route.path, _with_line(route.endpoint), methods=["POST"])
        if "POST" in (route.methods or ())
        else route
        for route in listed
    ]


def _with_line(method: Any) -> Any:
    async def answer(request: Request) -> Response:
        try:
            result: Response = await method(request)
        except MechDesignError as error:
            return JSONResponse({"refused": _one(error, words_of(request))}, 400)
        except UnicodeDecodeError:
            line = words_of(request).line("the file is not a text in UTF-8; choose a survey file")
            return JSONResponse({"refused": line["text"]}, 400)
        return result

    return answer


def draft_digest(text: str) -> str:
    """Return by what a page recognizes the draft that it began with."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _plan(document: Document) -> dict[str, Any]:
    return plan_of(document).as_json()


def _ways(document: Document, points: float) -> dict[str, Any]:
    return ways_to(document, points).as_json()


def _points(request: Request) -> float:
    """Return the points that a page asks for."""
    text = request.query_params.get("points", "").replace(",", ".")
    try:
        points = float(text)
    except ValueError:
        points = math.nan
    if not 0.0 < points <= 100.0:
        raise ParameterError("margin", f"'{text:.40}' is not a margin", "give points above 0, such as 5")
    return points


def _one(error: MechDesignError, words: Words) -> str:
    """Return an error as one line without the names of files, in the owner's language where it is known."""
    text = re.sub(r"\S*/(\w+\.(?:toml|json))", r"\1", str(error))
    return words.line(text.removeprefix("survey.toml: ").removeprefix("design: "))["text"]


def _kept(name: str, words: Words) -> dict[str, str]:
    """Return the parts of a sentence that the script fills in, as they are."""
    names = BRACED.findall(room_tables("design")[words.language][name])
    return {part: f"{{{part}}}" for part in names}
