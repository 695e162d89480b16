"""The address that a page sends reports to: one that its policy can name, without anything secret."""

from __future__ import annotations

import re

from mechdesign.core.errors import ParameterError

LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
PATH = r"/(?![/\\])[A-Za-z0-9._~:/@!$&()*+=%-]*(?:\?[A-Za-z0-9._~:/@!$&()*+=%?-]*)?"
ABSOLUTE = re.compile(rf"(https?://{LABEL}(?:\.{LABEL})*(?::[0-9]{{1,5}})?)(?:{PATH})?")
"""An address with its origin: letters that a policy takes for nothing else, and no name or password."""
RELATIVE = re.compile(PATH)
"""A path on the server that the page comes from."""
MOST_PORT = 65535

REMEDY = "give one such as https://example.org/reports, or /reports on the page's own server"


def require_address(post: str) -> None:
    """Raise ParameterError for what is not an address that a page may send reports to.

    Examples
    --------
    >>> require_address("https://example.org/reports")
    >>> require_address("//example.org")
    Traceback (most recent call last):
        ...
    mechdesign.core.errors.ParameterError: post: '//example.org' is not an address; give one such as ...
    """
    if not post or RELATIVE.fullmatch(post):
        return
    if re.match(r"[a-z]+://[^/?#]*@", post):
        raise ParameterError("post", "has a name or a password, which everyone could read", "omit it")
    if "#" in post:
        raise ParameterError("post", "has a fragment (#), which is never sent", "omit it")
    if not post.isascii():
        raise ParameterError(
            "post", f"'{post}' has letters that are not ASCII", "write xn-- and %XX for them"
        )
    found = ABSOLUTE.fullmatch(post)
    port = re.search(r":([0-9]+)$", found[1]) if found else None
    if found is None or (port is not None and not 0 < int(port[1]) <= MOST_PORT):
        raise ParameterError("post", f"'{post}' is not an address", REMEDY)


def origin_of(post: str) -> str:
    """Return what a policy names so that a page may connect to an address, and to nothing else.

    Examples
    --------
    >>> origin_of("https://example.org:8443/reports?wave=2"), origin_of("/reports"), origin_of("")
    ('https://example.org:8443', "'self'", "'none'")
    """
    if not post:
        return "'none'"
    found = ABSOLUTE.fullmatch(post)
    return found[1] if found else "'self'"
