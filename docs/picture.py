"""The directive ``picture``: commands or Python of a page, and the pictures that they draw when it is built.

Its argument says what the picture shows, for people who do not see it. Its body is run in an empty folder,
as shell commands or, with ``:python:``, as Python. What is there then as ``picture.svg``, ``picture-1.svg``
and so on is shown below the body, and ``picture.html`` as a page of the size of a phone, which can be used.
With ``:quiet:`` the body itself is not shown. With ``:file:`` it is a file of ``docs/pictures``, in Python if
the name ends in ``.py``, and is not shown either. A body that fails, or draws nothing, is a warning.
"""

import base64
import html
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive, directives

SECONDS = 120

PICTURES = Path(__file__).parent / "pictures"


class Picture(Directive):
    """Run the body, and show what it drew."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {  # noqa: RUF012 (docutils reads it)
        "python": directives.flag,
        "quiet": directives.flag,
        "file": directives.path,
    }

    def run(self):
        text, alternative = "\n".join(self.content), " ".join(self.arguments[0].split())
        name = self.options.get("file", "")
        if name:
            if text:
                return [self.state.document.reporter.warning("a body and a file", line=self.lineno)]
            text = (PICTURES / name).read_text(encoding="utf-8").rstrip("\n")
            self.state.document.settings.record_dependencies.add(str(PICTURES / name))
        python = "python" in self.options or name.endswith(".py")
        with tempfile.TemporaryDirectory() as folder:
            failure = drawn(text, python, Path(folder))
            shown = [raw(path, alternative) for path in sorted(Path(folder).glob("picture*"))]
        if failure or not shown:
            return [self.state.document.reporter.warning(failure or "no picture was drawn", line=self.lineno)]
        source = nodes.literal_block(text, text, language="python" if python else "console")
        return [*([] if name or "quiet" in self.options else [source]), *shown]


def drawn(text, is_python, folder):
    """Run what draws the pictures of a page; return what went wrong, or nothing."""
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": os.pathsep.join([scripts, os.environ.get("PATH", os.defpath)])}
    environment.update(COLUMNS="100", XDG_CACHE_HOME=str(folder / ".cache"), OPENBLAS_NUM_THREADS="1")
    if is_python:
        command = [sys.executable, "-c", text]
    else:
        command = ["sh", "-euc", "\n".join(line.removeprefix("$ ") for line in text.splitlines())]
    try:
        subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=True, timeout=SECONDS
        )
    except subprocess.CalledProcessError as error:
        return f"exit code {error.returncode}: {error.stderr.strip()[-500:]}"
    except subprocess.TimeoutExpired:
        return f"took longer than {SECONDS} s"
    return ""


def raw(path, alternative):
    """Return a picture as part of the page: it needs no file beside it."""
    text, name = path.read_text(encoding="utf-8"), html.escape(alternative)
    if path.suffix == ".html":
        code = f'<iframe class="phone" loading="lazy" title="{name}" srcdoc="{html.escape(text)}"></iframe>'
    else:
        data = base64.b64encode(text.encode()).decode()
        code = f'<p class="picture"><img alt="{name}" src="data:image/svg+xml;base64,{data}"></p>'
    return nodes.raw("", code, format="html")


def setup(app):
    """Make the directive known; Sphinx calls this."""
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
