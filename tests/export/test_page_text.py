"""The text of the page for respondents: self-contained, with a policy, and an address that is one."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from mechdesign.core.errors import ParameterError
from mechdesign.export import ExportSettings, compare_export, export
from mechdesign.export.clients import PLACE
from mechdesign.primitives import KaryResponse
from tests.support.clients import CLIENTS, NAMES


def test_the_page_is_self_contained_and_allows_nothing_else():
    text = export(
        CLIENTS["kary-response"](), "html", ExportSettings("T & <b>", NAMES[3], "https://x.org/r?a=1")
    )
    assert re.findall(r'(?:src|href)="([^"]*)"', text) == ["data:,"]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
    assert "default-src 'none'" in policy
    assert "connect-src https://x.org;" in policy
    assert "unsafe" not in policy
    assert "<h1>T &amp; &lt;b&gt;</h1>" in text
    assert text.count("</script>") == 1


REFUSED = {
    **dict.fromkeys(
        ["ftp://x.org", "javascript:alert(1)", "data:text/html,x", "x", "HTTPS://x.org/"], "is not an"
    ),
    **dict.fromkeys(
        ["https://x.org/; script-src *", "https://x.org/a b", " https://x.org/"], "is not an address"
    ),
    **dict.fromkeys(
        ["//evil", "///evil", "/\\evil", "https:///path", "https://", "http:x.org"], "is not an address"
    ),
    **dict.fromkeys(
        ["https://*/", "https://*.x.org/", "https://[::1]/", "https://x_y/", "https://x.org\\y"], "is not"
    ),
    **dict.fromkeys(
        ["https://x.org:/", "https://x.org:0/", "https://x.org:99999/", "https://x..org/"], "is not an"
    ),
    **dict.fromkeys(
        ["https://x.org?a=1", "https://'self'/", "https://-x.org/", "/a'b", "/a;b"], "is not an address"
    ),
    **dict.fromkeys(["https://u:secret@h.x/", "https://u@h.x", "http://@x.org"], "has a name or a password"),
    **dict.fromkeys(["https://x.org/#a", "/r#a"], "has a fragment"),
    **dict.fromkeys(["https://m\u00fcller.example/", "/\u00fc"], "not ASCII"),
}


@pytest.mark.parametrize("post", REFUSED)
def test_an_address_that_is_none_is_refused(post):
    with pytest.raises(ParameterError, match=f"^post: .*{re.escape(REFUSED[post])}") as caught:
        ExportSettings(post=post)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("post", "origin"),
    [
        ("https://x.org", "https://x.org"),
        ("http://localhost:8000/r", "http://localhost:8000"),
        ("https://a-b.x.org:443/r/%20?q=1&p=/?", "https://a-b.x.org:443"),
        ("http://127.0.0.1/", "http://127.0.0.1"),
        ("/", "'self'"),
        ("/r//s?next=https://x.org", "'self'"),
        ("", "'none'"),
    ],
)
def test_the_policy_names_the_origin_of_the_address_and_nothing_else(post, origin):
    text = export(CLIENTS["kary-response"](), "html", ExportSettings(post=post))
    assert f" connect-src {origin};" in re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(
        1
    )


def places() -> list[str]:
    folder = files("mechdesign.export") / "templates"
    return sorted(
        {f"@@{name}@@" for path in folder.iterdir() for name in PLACE.findall(path.read_text("utf-8"))}
    )


@pytest.mark.parametrize("kind", ["html", "js", "python", "r"])
@pytest.mark.parametrize("text", [*places(), "{a} b --> {", "mechdesign-export: {}"])
def test_what_looks_like_a_part_of_the_template_is_a_text(kind, text, tmp_path):
    """A label, a title and a question: filled in once, and audited as the same export."""
    mechanism = KaryResponse.of(2, epsilon=1.0, labels=[text, "yes"])
    made = export(mechanism, kind, ExportSettings(text, text))
    plain = export(KaryResponse.of(2, epsilon=1.0, labels=["no", "yes"]), kind, ExportSettings("T", "Q"))
    assert set(PLACE.findall(made)) <= set(PLACE.findall(text))
    assert abs(len(made) - len(plain)) < 1000
    (tmp_path / "export").write_text(made)
    assert compare_export(mechanism, tmp_path / "export").holds


def test_the_form_asks_browsers_to_keep_nothing():
    text = export(CLIENTS["kary-response"](), "html")
    (form,) = re.findall(r"<form[^>]*>", text)
    assert 'autocomplete="off"' in form
