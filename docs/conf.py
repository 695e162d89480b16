"""Sphinx configuration; `python3 run.py docs` builds the pages, a warning is an error."""

from importlib.metadata import version as version_of

from mechdesign.report.findings import findings, findings_page

project = "mechdesign"
author = "The mechdesign developers"
copyright = "The mechdesign developers"
release = version = version_of("mechdesign")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
html_theme = "furo"
html_title = "mechdesign"

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# The reference: one page a module, written by autosummary from the docstrings and from nothing else.
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_google_docstring = False
napoleon_numpy_docstring = True
# As fields of the class, because the dataclass's own attributes would be the same objects once more.
napoleon_use_ivar = True

# A word such as `value` in a docstring's type may be the name of several attributes.
suppress_warnings = ["ref.python"]


def add_findings(app, docname, source):
    """Put the refuted claims of the models in the place that their page has for them."""
    if docname == "findings":
        source[0] = source[0].replace("<!-- findings -->", findings_page(findings()))


def setup(app):
    """Connect what is made when pages are read; Sphinx calls this."""
    app.connect("source-read", add_findings)
