"""The mask of a numpy array is never lost: a masked value is a missing one, wherever arrays come in."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import numpy.ma
import pandas as pd
import pytest

from mechdesign.collect.codec import Domain
from mechdesign.core.errors import DataError, ParameterError, RowError
from mechdesign.data.intake import array_of
from mechdesign.exact.numbers import doubles, mask_of, wholes
from mechdesign.families.survey import Question, SurveyMechanism
from mechdesign.primitives import KaryResponse
from tests.contract.test_every_mechanism import COUNTED, PROTOCOLS, client_of, made, server_of, values_for

MISSING = "row 2: is missing|row 2: has no answer"


def masked_in_row_2(values: Any) -> Any:
    """Return values of which the second row has a masked entry: the last one of its columns or fields."""
    hidden = numpy.ma.array(
        values,
        mask=np.zeros(
            np.shape(values), (values.dtype.names and numpy.ma.make_mask_descr(values.dtype)) or bool
        ),
    )
    if values.dtype.names:
        hidden[values.dtype.names[-1]][1] = numpy.ma.masked
    else:
        hidden[(1, *(-1,) * (values.ndim - 1))] = numpy.ma.masked
    return hidden


@pytest.mark.parametrize("kind", COUNTED)
def test_clients_and_servers_refuse_what_is_masked(kind):
    mechanism = made(kind)
    client, values = (
        client_of(mechanism),
        np.asarray(values_for(mechanism, 1000 if kind in PROTOCOLS else 20)),
    )
    hidden = masked_in_row_2(values)
    for given in (hidden, list(hidden)):
        with pytest.raises(RowError, match=MISSING):
            client(given, rng=1)
    whole = client(values, rng=1)
    assert client(numpy.ma.array(values), rng=1).tolist() == whole.tolist(), "nothing is masked"
    server = server_of(mechanism)
    with pytest.raises(RowError, match=r"(reports|messages): row 2: is missing"):
        server.update(masked_in_row_2(whole))
    assert server.as_json() == server_of(mechanism).as_json(), "nothing was counted"


def test_every_row_is_named_and_counted():
    mechanism = KaryResponse.of(3, epsilon=2.0)
    hidden = numpy.ma.array([1, 2, 0, 1], mask=[0, 0, 1, 1])
    with pytest.raises(
        RowError, match=r"answers: row 3: is missing \(2 such rows here\); leave such rows out"
    ):
        mechanism.randomize(hidden)
    with pytest.raises(RowError, match="reports: row 3: is missing"):
        mechanism.estimate(hidden)
    assert len(mechanism.randomize(hidden.compressed())) == 2


@pytest.mark.parametrize(
    "given",
    [
        [1, numpy.ma.masked],
        (1, numpy.ma.masked),
        np.array([1, numpy.ma.masked], dtype=object),
        [1, numpy.ma.array(1, mask=True)],
    ],
)
def test_masked_entries_of_lists_and_objects_are_seen(given):
    with pytest.raises(RowError, match="answers: row 2: is missing"):
        KaryResponse.of(2, epsilon=1.0).randomize(given)


def test_the_mask_of_a_row_and_of_a_record_belongs_to_its_row():
    rows = [numpy.ma.array([1, 2]), numpy.ma.array([1, 2], mask=[False, True])]
    records = numpy.ma.array([(1, 2.0), (3, 4.0)], dtype="i4,f8", mask=[(0, 0), (0, 1)])
    assert mask_of(rows).tolist() == mask_of(records).tolist() == [False, True]
    assert mask_of(numpy.ma.masked).tolist() == [True]
    assert mask_of([1, 2]) is mask_of(np.zeros(3)) is None
    assert mask_of(numpy.ma.zeros((2, 0))).tolist() == [False, False]


def test_a_masked_answer_is_no_answer_where_a_question_may_be_skipped():
    survey = SurveyMechanism.of(
        [Question("a", labels=("x", "y"), skip=True), Question("b", labels=("x", "y"))], 2.0
    )
    hidden = numpy.ma.array(["x", "y"], mask=[False, True])
    codes, _ = survey.questions.encode({"a": hidden, "b": ["x", "y"]})
    assert codes.tolist() == [0, 2]
    with pytest.raises(RowError, match="question 'b': row 2: has no answer"):
        survey.randomize({"a": ["x", "y"], "b": hidden})


@pytest.mark.parametrize("read", [doubles, wholes])
def test_parameters_with_a_mask_are_refused(read):
    for given in (numpy.ma.array([1, 2]), [1, numpy.ma.masked], [numpy.ma.array([1, 2], mask=[0, 1])]):
        with pytest.raises(ParameterError, match="counts: "):
            read("counts", given, np.ndim(given[0]) + 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("no", r"got 'no'; give a list: \['no'\]"),
        (3, r"got 3; give a list: \[3\]"),
        ((word for word in ("no", "yes")), r"got a generator; give a list: list\(...\)"),
        ({"no": 1}, "got a dict; give a list in the order of the users"),
        (np.array("no"), "got a single value; give a list"),
    ],
)
def test_what_is_not_a_list_is_said(given, message):
    with pytest.raises(DataError, match=message):
        KaryResponse.of(2, epsilon=1.0, labels=["no", "yes"]).randomize(given)


def test_a_plain_array_and_one_of_a_subclass_come_through_as_they_are():
    plain = np.arange(3)
    assert array_of(plain, "answers") is plain
    assert type(array_of(plain.view(np.recarray), "answers")) is np.ndarray


def test_a_frame_of_objects_with_a_masked_one():
    pandas = pytest.importorskip("pandas")
    table = pandas.Series(np.array([1, numpy.ma.masked], dtype=object), name="city")
    with pytest.raises(RowError, match=r"column 'city'.*: is missing"):
        KaryResponse.of(2, epsilon=1.0).randomize(table)


def test_users_and_counts_with_a_mask_are_refused():
    hidden = numpy.ma.array([1, 2, 3], mask=[False, True, False])
    survey = SurveyMechanism.of([Question("a", labels=("x", "y"))], 2.0)
    with pytest.raises(RowError, match="users: row 2: is missing"):
        survey.remember({"a": ["x", "y", "x"]}, users=hidden)
    for kind in ("kary-response", "finite-channel", "linear-queries", "event-counts"):
        mechanism: Any = made(kind)
        counts = numpy.ma.array(np.full(mechanism.counters, 9), mask=np.arange(mechanism.counters) == 1)
        with pytest.raises(RowError, match="counts: row 2: is missing"):
            mechanism.estimate_from_counts(counts)
    oracle: Any = made("hadamard-response")
    with pytest.raises(RowError, match="counts: row 2: is missing"):
        oracle.estimate_from_counts(hidden, 6)


GAPS = [
    None,
    float("nan"),
    np.float32("nan"),
    np.datetime64("NaT", "D"),
    Decimal("nan"),
    pd.NA,
    pd.NaT,
    numpy.ma.masked,
]


@pytest.mark.parametrize("gap", GAPS, ids=repr)
def test_whatever_stands_for_no_value_is_missing(gap):
    named, coded = KaryResponse.of(2, epsilon=1.0, labels=["a", "nan"]), KaryResponse.of(2, epsilon=1.0)
    for mechanism, values in ((named, ["a", gap, "a"]), (coded, [0, gap, 1])):
        with pytest.raises(RowError, match="answers: row 2: is missing"):
            mechanism.randomize(values)
        with pytest.raises(RowError, match="reports: row 2: is missing; a report is never empty"):
            mechanism.estimate(values)
    with pytest.raises(RowError, match=r"values: row 2: (is missing|NaN)"):
        Domain(0.0, 1.0).check([0.5, gap, 0.5])


def test_an_unknown_report_is_not_to_be_left_out():
    with pytest.raises(RowError) as caught:
        KaryResponse.of(2, epsilon=1.0, labels=["a", "b"]).estimate(["a", "NA"])
    assert "missing" not in str(caught.value)


def test_a_row_that_is_not_a_list_of_answers():
    survey = SurveyMechanism.of([Question("a", labels=("no", "yes"))], 1.0)
    for rows in ([0, 1], ["no", "yes"], [None]):
        with pytest.raises(RowError, match=r"data: row 1: is .*; give one answer to each question"):
            survey.randomize(rows)
