"""A survey server: design a survey, collect reports, and read the results, in a browser.

Interface of the room
---------------------
A :class:`Place` is a folder on the disk with several surveys; a :class:`ServedSurvey` is one of them::

    place = Place(folder)                      # makes it (0700); one process at a time
    place.surveys()                            # list of ServedSurvey, by title
    place.survey(slug)                         # UnknownNameError where there is none
    place.new(toml_text, slug="")              # a new survey; the slug is made of its title
    place.remove(slug)                         # refused once there are reports

    survey.slug, survey.title, survey.state    # "draft", "built", "collecting", "ended"
    survey.draft                               # TOML text, whatever was typed last
    survey.save_draft(text)                    # at once on the disk; any text, also one that is not TOML yet
    survey.build()                             # draft -> mechanism (survey.json); refused once begun
    survey.mechanism                           # None until built
    survey.settings                            # least, stop, access, url, shared, language
    survey.change(least=100, ...)              # least and access are fixed once collecting has begun
    survey.begin(), survey.end()               # collecting; reports are taken only between the two
    survey.count, survey.count_by_day()        # number of reports; {"2026-11-28": 12, ...}
    survey.is_shown                            # whether there are settings.least reports
    survey.reports()                           # messages (lists of rows), random order; DataError below least
    survey.reports_file(path)                  # the same as JSON lines that estimate, count and merge read
    survey.tokens                              # Tokens: make(count), links(), count, used

Pages are templates of Jinja (``templates/NAME.html``) that extend ``base.html``; their sentences stand in
``texts/ROOM.toml``, with the tables ``[en]`` and ``[de]``::

    routes(place) -> list[Route]               # of serve.design, serve.collection, serve.results
    owner_page(request, "design.html", survey=survey, ...)  -> HTMLResponse
    await posted_fields(request) -> dict[str, list[str]]    # of a form that was posted
    await json_of(request) -> Any                     # of fetch(); send the header X-CSRF-Token

Routes are below ``/owner/``: each of a survey begins with ``/s/{slug}/`` there, such as
``/owner/s/staff/design``, ``/owner/s/staff/collect`` and ``/owner/s/staff/results``. In a template there are
``say("design.title", name=...)``, ``language``, ``place``, ``nonce``, ``csrf`` (the value of the hidden field
``csrf`` of each form, and of the header), ``script("design.js")``, ``data(value)`` (JSON for a script), and
``path("/s/" ~ survey.slug ~ "/design")``. The policy of the page allows scripts and styles with the nonce
alone: no ``style="..."``, no ``onclick="..."``. Whoever reaches such a route has the owner's key, and the
request came from the owner's own pages.
"""

from mechdesign.core.extensions import offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.serve.place import Place as Place, ServedSurvey as ServedSurvey
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {"place": "Place ServedSurvey"},
    )
