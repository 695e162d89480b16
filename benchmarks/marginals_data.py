"""People's data for the experiments on marginals, from a folder of files: codes and the attributes' sizes."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas
from numpy.typing import NDArray

Codes = NDArray[np.int64]

BINARY = ("retail", "msnbc", "census-items")
CATEGORICAL = ("adult", "acs")


@dataclass(frozen=True)
class People:
    """What people have: codes of shape (n, d), the size of each attribute, and its name."""

    codes: Codes
    sizes: tuple[int, ...]
    names: tuple[str, ...]

    def first(self, attributes: int) -> People:
        """Return the first attributes only."""
        return People(self.codes[:, :attributes], self.sizes[:attributes], self.names[:attributes])

    def sampled(self, users: int, rng: np.random.Generator) -> People:
        """Return ``users`` people: without repetition where there are enough, else with."""
        rows = rng.choice(len(self.codes), users, replace=users > len(self.codes))
        return People(self.codes[rows], self.sizes, self.names)


def of_columns(columns: dict[str, NDArray[np.int64]]) -> People:
    """Return people from columns of codes."""
    sizes = tuple(max(2, int(column.max()) + 1) for column in columns.values())
    return People(np.column_stack(list(columns.values())).astype(np.int64), sizes, tuple(columns))


def retail(folder: Path) -> People:
    """Return the 32 most frequent items of 88,162 baskets, the most frequent first."""
    with lzma.open(folder / "retail.dat.xz", "rt") as file:
        baskets = [np.unique(np.array(line.split(), dtype=np.int64)) for line in file]
    counts = np.bincount(np.concatenate(baskets))
    items = np.argsort(-counts, kind="stable")[:32]
    return of_columns({f"item {item}": _has(baskets, int(item)) for item in items})


def _has(baskets: list[NDArray[np.int64]], item: int) -> Codes:
    return np.array([bool((basket == item).any()) for basket in baskets], dtype=np.int64)


def msnbc(folder: Path) -> People:
    """Return the 17 page categories that 97,108 visitors saw or not, the most frequent first."""
    with np.load(folder / "msnbc_97k.npz") as arrays:
        bits = np.unpackbits(arrays["bits"], axis=1)[:, : int(arrays["n_items"])].astype(np.int64)
    order = np.argsort(-bits.sum(axis=0), kind="stable")
    return of_columns({f"category {place}": bits[:, place] for place in order})


def census_items(folder: Path) -> People:
    """Return 32 pairs of attribute and value of the KDD census, the most frequent first (dense data)."""
    with np.load(folder / "census_income_kdd.npz") as arrays:
        items = {}
        for name in arrays.files:
            column = arrays[name]
            counts = np.bincount(column)
            value = int(np.argmax(counts))
            items[f"{name}={value}"] = (column == value).astype(np.int64)
    order = sorted(items, key=lambda name: -int(items[name].sum()))[:32]
    return of_columns({name: items[name] for name in order})


def adult(folder: Path) -> People:
    """Return the attributes of UCI Adult without rows with gaps, numbers cut at quantiles."""
    frame = pandas.read_csv(folder / "adult.csv.xz", na_values="?", skipinitialspace=True).dropna()
    return of_columns(
        {
            "age": _quantiles(frame["age"], 4),
            "workclass": _codes(frame["workclass"], 4),
            "education": _codes(frame["education"], 5),
            "education-num": _quantiles(frame["education-num"], 4),
            "occupation": _codes(frame["occupation"], 6),
            "income": _codes(frame["income"], 2),
            "marital-status": _codes(frame["marital-status"], 3),
            "relationship": _codes(frame["relationship"], 4),
            "race": _codes(frame["race"], 3),
            "sex": _codes(frame["sex"], 2),
            "hours-per-week": _quantiles(frame["hours-per-week"], 4),
            "native-country": _codes(frame["native-country"], 3),
            "capital-gain": (frame["capital-gain"] > 0).to_numpy().astype(np.int64),
            "capital-loss": (frame["capital-loss"] > 0).to_numpy().astype(np.int64),
        }
    )


def acs(folder: Path) -> People:
    """Return attributes of the ACS 2019 excerpts; income is whether the decile is above the seventh."""
    frame = pandas.read_csv(folder / "acs2019_nist_excerpts.csv.xz", dtype=str).fillna("N")
    adults = frame[frame["PINCP_DECILE"] != "N"]
    return of_columns(
        {
            "AGEP": _quantiles(adults["AGEP"].astype(float), 4),
            "MSP": _codes(adults["MSP"], 4),
            "EDU": _quantiles(adults["EDU"].replace("N", "0").astype(float), 4),
            "INDP_CAT": _codes(adults["INDP_CAT"], 6),
            "DPHY": _codes(adults["DPHY"], 2),
            "income": (adults["PINCP_DECILE"].astype(int) > 7).to_numpy().astype(np.int64),
            "SEX": _codes(adults["SEX"], 2),
            "OWN_RENT": _codes(adults["OWN_RENT"], 3),
            "RAC1P": _codes(adults["RAC1P"], 3),
            "HOUSING_TYPE": _codes(adults["HOUSING_TYPE"], 3),
            "DVET": _codes(adults["DVET"], 3),
            "DREM": _codes(adults["DREM"], 2),
        }
    )


def _codes(column: pandas.Series[str], most: int) -> Codes:
    """Return the most frequent values as 0, 1, ..., all others together as the last one."""
    counts = column.value_counts()
    known = {value: place for place, value in enumerate(counts.index[:most])}
    return np.array([min(known.get(value, most - 1), most - 1) for value in column], dtype=np.int64)


def _quantiles(column: pandas.Series[float], parts: int) -> Codes:
    """Return numbers as parts of about equal size."""
    values = column.to_numpy(dtype=np.float64)
    cuts = np.unique(np.quantile(values, np.arange(1, parts) / parts))
    return np.searchsorted(cuts, values, side="right").astype(np.int64)


READERS: dict[str, Callable[[Path], People]] = {
    "retail": retail,
    "msnbc": msnbc,
    "census-items": census_items,
    "adult": adult,
    "acs": acs,
}


@cache
def read(folder: Path, name: str) -> People:
    """Return the people of a named data set."""
    return READERS[name](folder)
