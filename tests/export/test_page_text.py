"""The text of the page for respondents: self-contained, with a policy, and an address that is one."""

from __future__ import annotations

import re

import pytest

from mechdesign.core.errors import ParameterError
from mechdesign.export import ExportSettings, export
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


@pytest.mark.parametrize("post", ["ftp://x.org", "javascript:alert(1)", "https://x.org/; script-src *", "x"])
def test_an_address_that_is_none_is_refused(post):
    with pytest.raises(ParameterError, match="is not an address; give an https:// address"):
        ExportSettings(post=post)
