"""Notes on labels and columns that other programs change: words for missing values, names that clash.

Names that differ in case, spaces, or how letters and numbers are written are different here, but a file comes
from people and passes other programs: a spreadsheet writes 1.0 as 1, many systems change the normal form of a
letter, and a database ignores the case of column names.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mechdesign.collect.server import alphabets_of, risky_labels
from mechdesign.exact.numbers import number_of_text

if TYPE_CHECKING:
    from mechdesign.collect.base import Mechanism


SHOWN = 4
"""How many groups of names a note lists."""


def plain_form(name: str) -> str:
    r"""Return what is left of a name without case, extra spaces, invisible letters and forms of writing.

    Examples
    --------
    >>> [plain_form(name) for name in (" Yes", "1.0", "01", "1,0", "e\u0301", "no\u200b", "-0")]
    ['yes', '1', '1', '1', 'é', 'no', '0']
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = "".join(letter for letter in folded if unicodedata.category(letter) != "Cf")
    words = " ".join(seen.split())
    number = number_of_text(words.replace(",", "."))
    return words if number is None else f"{number + 0.0:.15g}"  # spreadsheets keep 15 digits


def clashes_in(names: Iterable[str]) -> list[list[str]]:
    """Return the groups of different names that have one plain form.

    Examples
    --------
    >>> clashes_in(["yes", "no", "Yes", "yes "]), clashes_in(["1", "1.5", "2"])
    ([['yes', 'Yes', 'yes ']], [])
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(plain_form(name), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def clashes_note(mechanism: Mechanism) -> str | None:
    """Return a warning about answers and columns that files may not tell apart; None without any."""
    answers = [group for names in alphabets_of(mechanism) for group in clashes_in(names)]
    attributes = getattr(getattr(mechanism, "attributes", None), "names", None) or ()
    columns = clashes_in([*mechanism.data_columns, *attributes])
    notes = [_noted("labels", answers), _noted("columns", columns)]
    return "; ".join(note for note in notes if note) or None


def _noted(what: str, groups: Sequence[Sequence[str]]) -> str:
    if not groups:
        return ""
    text = "; ".join(" and ".join(map(_shown, group[:SHOWN])) for group in groups[:SHOWN])
    more = f" and {len(groups) - SHOWN} more groups" if len(groups) > SHOWN else ""
    return (
        f"{what}: people or other programs may write {text}{more} as one name, since they differ only in "
        "case, spaces, or how a letter or number is written; choose other words"
    )


def _shown(name: str) -> str:
    """Return a name in quotes, with escapes where it looks like another one."""
    return repr(name) if unicodedata.is_normalized("NFKC", name) else ascii(name)


def labels_note(mechanism: Mechanism) -> str | None:
    """Return a warning about labels that other programs read as missing values; None without any."""
    labels = risky_labels(mechanism)
    if not labels:
        return None
    text = ", ".join(map(repr, labels[:4])) + (f" and {len(labels) - 4} more" if len(labels) > 4 else "")
    return f"labels: R, pandas or other programs read {text} as a missing value; choose other words"
