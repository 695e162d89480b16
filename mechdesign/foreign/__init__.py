"""Mechanisms of others: their files and programs, read exactly and judged."""

SUFFIXES = (".csv", ".npy", ".npz", ".toml")
OTHERS = (".mat", ".ods", ".parquet", ".rds", ".tsv", ".xls", ".xlsx")
"""Tables of other kinds, which are refused by name."""


def is_foreign(path: str) -> bool:
    """Whether the name of a file is that of a foreign mechanism.

    Examples
    --------
    >>> is_foreign("channel.CSV"), is_foreign("mechanism.json")
    (True, False)
    """
    return path.lower().endswith(SUFFIXES + OTHERS)
