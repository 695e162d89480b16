"""Sphinx configuration; `python3 run.py docs` builds the pages, a warning is an error."""

import importlib
import os
import pkgutil
import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from unittest import mock

from docutils.nodes import FixedTextElement, SkipNode, Text, comment, entry, literal, math, math_block, raw
from sphinx.util import logging

import mechdesign
from mechdesign.cli.parser import parser
from mechdesign.papers.claims.sources import sources
from mechdesign.papers.shown.letter import letter, letter_page, others_page
from mechdesign.papers.shown.sources import counted as counted_items, items_page, overview_page
from mechdesign.report.page.render import mathml

project = "mechdesign"
author = "The mechdesign developers"
copyright = "The mechdesign developers"
release = version = version_of("mechdesign")

sys.path.insert(0, str(Path(__file__).parent))  # picture.py, beside this file
extensions = [
    "myst_parser",
    "picture",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "mechdesign"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_math_renderer = "mathml"

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

LONG, VERY_LONG = 40, 120
"""Letters in cells of tables that are not to be squeezed to the width of a word, or of a few."""
VERBATIM = (FixedTextElement, comment, literal, math, math_block, raw)
SOURCE_OF_FORMULA = re.compile(r"\$|\\(?:frac|sum|mathbb|varepsilon|in|mu|eta|le|ge)\b")
LITERAL = re.compile(r"(``.*?``)")
AUTOMODULE = """.. automodule:: {}
   :members:
   :ignore-module-all:
   :show-inheritance:
"""
SEVERAL = re.compile(r":(ivar|vartype) (\w+(?:, \w+)+):(.*)")
"""Attributes that share a line of a docstring, as napoleon leaves them."""

# The reference: one page a package, with all its modules, from the docstrings and from nothing else.
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
    """Put the letter on a source, made from the claims of the models, in its place on the page."""
    page = docname.removeprefix("papers/findings_")
    if page != docname:
        text = others_page() if page == "others" else letter_page(letter(page))
        source[0] = source[0].replace("<!-- letter -->", text)


def add_sources(app, docname, source):
    """Put the items of the sources in the places that their page has for them."""
    if docname == "papers/sources":
        found = sources()
        for place, text in (
            ("counts", counted_items(found)),
            ("overview", overview_page(found)),
            ("items", items_page(found)),
        ):
            source[0] = source[0].replace(f"<!-- {place} -->", text)


def add_commands(app, docname, source):
    """Put the help of every command in the place that its page has for it."""
    if docname == "reference/commands":
        with mock.patch.dict(os.environ, COLUMNS="90"):
            parts = [f"## {name}\n\n```text\n{text}```\n" for name, text in commands().items()]
        source[0] = source[0].replace("<!-- commands -->", "\n".join(parts))


def commands():
    """Return the help of each command by its name."""
    main = parser()
    (choices,) = (action.choices for action in main._actions if isinstance(action.choices, dict))
    return {name: command.format_help() for name, command in choices.items()}


def without_type(app, what, name, thing, options, lines):
    """Keep napoleon from taking the words before a colon, in a value's first line, for its type."""
    if what in ("attribute", "data", "property") and lines:
        lines[0] = f": {lines[0]}"


def packages():
    """Return every package of the toolkit by its name, with the names of its modules."""
    found = {"mechdesign": []}
    for module in pkgutil.walk_packages(mechdesign.__path__, "mechdesign."):
        if module.ispkg:
            found[module.name] = []
        elif not module.name.endswith("__main__"):
            found[module.name.rpartition(".")[0]].append(module.name)
    return found


def reference_page(package, modules):
    """Return the page of a package: what it holds, then each of its modules."""
    parts = [":orphan:", "", package, "=" * len(package), "", AUTOMODULE.format(package)]
    for module in modules:
        name = module.rpartition(".")[2]
        parts += [name, "-" * len(name), "", AUTOMODULE.format(module)]
    return "\n".join(parts)


def write_reference(app):
    """Write the pages of the reference, where they are not as they would be written."""
    folder = Path(app.srcdir) / "reference" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {f"{package}.rst": reference_page(package, found) for package, found in packages().items()}
    for file in folder.iterdir():
        if file.name not in wanted:
            file.unlink()
    for name, text in wanted.items():
        if not (folder / name).exists() or (folder / name).read_text(encoding="utf-8") != text:
            (folder / name).write_text(text, encoding="utf-8")


def add_packages(app, docname, source):
    """Put the list of packages in the place that its page has for it."""
    if docname == "reference/modules":
        lines = []
        for package in packages():
            first = (importlib.import_module(package).__doc__ or "").strip().split("\n\n")[0]
            text = " ".join(first.replace("``", "`").split())
            lines.append(f"[`{package}`](generated/{package})\n: {text}\n")
        source[0] = source[0].replace("<!-- packages -->", "\n".join(lines))


def bars_as_text(app, what, name, thing, options, lines):
    """Take bars for norms, not for substitutions; examples and literals stay as they are."""
    indent, kind = 0, ""  # of the block that is left as it is
    for number, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        is_over = {"example": not line.strip(), "literal": bool(line.strip()) and depth <= indent}
        if is_over.get(kind):
            kind = ""
        if line.lstrip().startswith(">>>"):
            kind = "example"
        elif not kind:
            parts = LITERAL.split(line)
            parts[::2] = [part.replace("|", "\\|") for part in parts[::2]]
            lines[number] = "".join(parts)
            if line.rstrip().endswith("::"):
                indent, kind = depth, "literal"


def one_each(app, what, name, thing, options, lines):
    """Describe attributes that share a line one by one; else the first name would be taken for a type."""
    fields = []  # each one line, or the same lines for every name
    for line in lines:
        several = SEVERAL.match(line)
        if several:
            kind, names, text = several.groups()
            fields.append([[f":{kind} {each}:{text}"] for each in names.split(", ")])
        elif fields and line.startswith(" "):
            for field in fields[-1]:
                field.append(line)
        else:
            fields.append([[line]])
    lines[:] = [line for same in fields for field in same for line in field]


def mark_long_cells(app, doctree):
    """Let the style know which cells of tables hold sentences."""
    for cell in doctree.findall(entry):
        length = len(cell.astext())
        if length > LONG:
            cell["classes"].append("long" if length <= VERY_LONG else "very-long")


def warn_of_formulas(app, doctree, docname):
    """Warn where a reader would see the source of a formula: a dollar or a command of TeX in plain text."""
    for node in doctree.findall(Text):
        is_verbatim = any(isinstance(each, VERBATIM) for each in (node.parent, node.parent.parent))
        if not is_verbatim and SOURCE_OF_FORMULA.search(node.astext()):
            text = f"a formula shows as text: {node.astext()[:80]}"
            logging.getLogger(__name__).warning(text, location=node.parent)


def converted(node, display):
    """Return a node's TeX as MathML, which browsers render without a script and without a network."""
    found = mathml(node.astext(), display)
    if not found.startswith("<math"):
        logging.getLogger(__name__).warning("TeX that cannot be converted: %s", node.astext(), location=node)
    return found


def visit_math(self, node):
    """Write mathematics in the line."""
    self.body.append(converted(node, display=False))
    raise SkipNode


def visit_math_block(self, node):
    """Write mathematics on its own; a wide one scrolls by itself."""
    self.body.append(f'<div class="formula">{converted(node, display=True)}</div>')
    raise SkipNode


def setup(app):
    """Connect what is made when pages are read and written; Sphinx calls this."""
    app.connect("source-read", add_findings)
    app.connect("source-read", add_sources)
    app.connect("source-read", add_packages)
    app.connect("source-read", add_commands)
    app.connect("builder-inited", write_reference)
    app.connect("autodoc-process-docstring", without_type, priority=400)  # before napoleon's own
    app.connect("autodoc-process-docstring", one_each, priority=600)  # after it
    app.connect("autodoc-process-docstring", bars_as_text, priority=700)
    app.connect("doctree-read", mark_long_cells)
    app.connect("doctree-resolved", warn_of_formulas)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
