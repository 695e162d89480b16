"""JSON Schemas (2020-12) of mechanism files, one a type, made from the fields of their content."""

from __future__ import annotations

from typing import Any

from mechdesign.collect.base import FORMAT, VERSION
from mechdesign.core.errors import UnknownNameError, suggestion
from mechdesign.data.about import IDENTITY, LANGUAGE, SEALED_FROM
from mechdesign.data.intake import MISSING
from mechdesign.exact.numbers import EXACT_BELOW
from mechdesign.exact.randomness import TOTAL

Schema = dict[str, Any]

WHOLE: Schema = {
    "description": "an integer; beyond 2^53 a string of its digits",
    "oneOf": [
        {"type": "integer", "minimum": -EXACT_BELOW, "maximum": EXACT_BELOW},
        {"type": "string", "pattern": "^-?[0-9]{16,}$"},
    ],
}
COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": EXACT_BELOW}
NUMBER: Schema = {"type": "number"}
PART: Schema = {"type": "number", "minimum": 0, "maximum": 1}
POSITIVE: Schema = {"type": "number", "minimum": 0}
TEXT: Schema = {"type": "string"}


def either(*schemas: Schema) -> Schema:
    """Return the schema of a value that has one of several."""
    return {"anyOf": list(schemas)}


def optional(schema: Schema) -> Schema:
    """Return the schema of a value that may be null."""
    return either(schema, {"type": "null"})


def several(schema: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


def record(fields: dict[str, Schema], required: tuple[str, ...] | None = None) -> Schema:
    """Return the schema of an object with these fields and no others; all are required by default."""
    needed = list(fields) if required is None else list(required)
    return {"type": "object", "properties": fields, "required": needed, "additionalProperties": False}


QUOTIENT: Schema = either(WHOLE, {"type": "string", "pattern": "^-?[0-9]+/[0-9]+$"})
LABELS = optional(several(TEXT))
ATTRIBUTES = record({"sizes": several(COUNT), "names": LABELS, "labels": optional(several(LABELS))})
CHANNEL_FIELDS = "epsilon delta notion distance labels report_labels mixing total weights"
LATTICE_FIELDS = "epsilon beta area step cells weights"
RADIO_CHANNEL = record(
    {"name": TEXT, "tiles": several(several({"type": "integer"})), "protection": POSITIVE}, ("name",)
)

FIELDS: dict[str, Schema] = {
    "edges": several(NUMBER),
    **dict.fromkeys(("epsilon", "report_epsilon", "price", "budget", "cell", "slot", "path_loss"), POSITIVE),
    **dict.fromkeys(("radius", "reserve", "tradeoff", "data_range", "error", "displacement"), POSITIVE),
    **dict.fromkeys(("delta", "mixing", "honest", "beta", "participation", "confidence"), PART),
    **dict.fromkeys(
        ("own", "high", "low", "keep", "add", "flip", "other", "even", "include", "lo", "hi"), WHOLE
    ),
    **dict.fromkeys(("silent", "coin", "noise", "ratio", "dummy", "seed", "modulus"), WHOLE),
    **dict.fromkeys(
        ("size", "categories", "buckets", "field", "per_user", "reports", "users", "trials"), COUNT
    ),
    **dict.fromkeys(("length", "depth", "shares", "fakes", "hashes", "entries", "precision", "order"), COUNT),
    **dict.fromkeys(("window", "cells", "threshold"), COUNT),
    **dict.fromkeys(("kept", "lengths", "parts", "levels", "requirements", "oracle_of_view"), several(COUNT)),
    **dict.fromkeys(("noises", "ratios", "others"), several(WHOLE)),
    **dict.fromkeys(
        ("outputs", "payment", "types", "counts", "participation_cost", "prices"), several(NUMBER)
    ),
    **dict.fromkeys(("protection", "origin"), several(NUMBER)),
    **dict.fromkeys(
        ("calibration", "information", "objective", "rule", "policy", "rival", "hide", "exact_epsilon"), TEXT
    ),
    "labels": LABELS,
    "most": COUNT,
    "separator": TEXT,
    "report_labels": LABELS,
    "tasks": several(TEXT),
    "columns": several(TEXT),
    "periods": optional(several(COUNT)),
    "attributes": ATTRIBUTES,
    "bit": record({"flip": WHOLE, "keep": WHOLE}),
    "area": optional(several(NUMBER)),
    "views": optional(several(several(COUNT))),
    "distance": optional(several(several(NUMBER))),
    "notion": {"enum": ["ldp", "entry-wise", "set-wise"]},
    "estimator": {"enum": ["self-normalized", "scaled"]},
    "total": {"const": str(TOTAL)},
    "weights": several(several(WHOLE)),
    "step": POSITIVE,
    "privacy": POSITIVE,
    "epsilon_min": optional(POSITIVE),
    "epsilon_max": optional(POSITIVE),
}
"""What stands under a name, unless a type says otherwise."""

PROMISE = "users epsilon delta honest calibration"
TALLIED = f"{PROMISE} categories labels"
TABLES = {
    "kary-response": "epsilon delta labels total size own high low kept",
    "finite-channel": CHANNEL_FIELDS,
    "hadamard-response": "epsilon categories labels total even",
    "local-hashing": "epsilon categories labels total buckets other",
    "prefix-hashing": "epsilon alphabet bits buckets other lengths groups alarms known total",
    "projective-geometry": "epsilon categories labels total field include",
    "subset-selection": "epsilon categories labels total size include",
    "set-selection": "epsilon categories labels total length size include most separator",
    "set-hashing": "epsilon categories labels total length size include most separator",
    "key-value-selection": "epsilon categories labels total length size include most separator low high",
    "unary-encoding": "epsilon categories labels total keep add",
    "marginal-release": "attributes views oracles oracle_of_view shares users",
    "marginal-rival": "rival attributes epsilon order views oracles users",
    "set-response": "attributes epsilon sets total include tables",
    "survey": "epsilon questions designs wanted users",
    "linear-queries": "epsilon workload query_weights population domain labels group sets low high",
    "event-counts": "epsilon slots most prior labels named weights decoded blank",
    "joint-response": "attributes epsilon report_epsilon reports total flip keep add",
    "weekly-response": "epsilon week_epsilon categories labels total include near "
    "permanent_size weekly_size weeks distinct kind cells",
    "grid-mean": "low high outputs displacement channel",
    "duchi": "delta epsilon low high total lo hi mixing",
    "censoring-interval": "delta epsilon low high total lo hi mixing",
    "discrete-piecewise": "epsilon low high cells window",
    **dict.fromkeys(("hybrid", "laplace", "piecewise", "square-wave"), "epsilon low high"),
    **dict.fromkeys(
        ("attribute-sampling", "harmony"), "inner attributes per_user epsilon low high estimator"
    ),
    "shuffled": "users epsilon delta honest local",
    "contract-menu": "epsilon payment types counts participation_cost budget information data_range "
    "confidence noise objective epsilon_min epsilon_max prices",
    "direct-mechanism": "environment demands out_of weights payments",
    "screening-menu": "types prior quantities out_of weights payments",
    "online-auction": "tasks requirements epsilon participation tradeoff reserve periods rule policy",
    "planar-laplace": "epsilon beta area",
    "planar-lattice": LATTICE_FIELDS,
    "batch-shuffler": "threshold hide epsilon delta columns",
    "spectrum-cloak": "cell protection origin slot",
    "spectrum-database": "channels price budget cell origin path_loss",
    "spectrum-user": "privacy radius noise",
    "aut": f"{TALLIED} error trials cell",
    "cnt-rr": f"{PROMISE} flip",
    "cnt-2m": f"{PROMISE} silent",
    "cnt-bn": f"{PROMISE} trials coin",
    "cnt-pure": f"{PROMISE} length noise ratio",
    "cnt-sgm": f"{PROMISE} ratio depth shares modulus",
    "distinct-parity": f"{TALLIED} flip shares",
    "hist-dump": f"{TALLIED} trials dummy",
    "hist-flip": f"{TALLIED} fakes flip",
    "hist-kr": f"{TALLIED} other",
    "hist-mm": f"{TALLIED} silent",
    "hist-rr": f"{TALLIED} flip",
    "murs": f"{TALLIED} buckets other fakes",
    "prhr": f"{TALLIED} entries trials dummy",
    "pucm": f"{TALLIED} hashes buckets seed trials cell",
    "put": f"{TALLIED} error ratio depth shares modulus",
    "range-tree": f"{TALLIED} trials cell",
    "rsum-dsg": f"{PROMISE} precision ratio depth shares modulus",
    "rsum-kr": f"{PROMISE} precision other",
    "rsum-pure": f"{PROMISE} precision lengths noises ratios parts",
    "rsum-rm": f"{PROMISE} precision levels others parts",
    "rsum-rr": f"{PROMISE} precision flip",
    "solh": f"{TALLIED} buckets other",
    "uniformity-dump": f"{TALLIED} error trials dummy",
}
"""The fields of the content of each type."""

SOMETIMES = {
    "survey": "delta",
    "discrete-piecewise": "exact_epsilon",
    "joint-response": "bit",
    "weekly-response": "edges",
}
"""Fields that a content has only where they say more than the others."""

ORACLES = ("kary-response", "hadamard-response", "local-hashing", "projective-geometry", "subset-selection")
MEANS = ("duchi", "censoring-interval", "grid-mean", "discrete-piecewise", "hybrid", "laplace", "piecewise")
ENDS = either(NUMBER, several(NUMBER))
SURVEY_PART = record({"questions": several(COUNT), "type": TEXT, "content": {"type": "object"}})
SAMPLED: dict[str, Schema] = {"low": ENDS, "high": ENDS, "attributes": either(COUNT, several(TEXT))}
SPECIAL: dict[str, dict[str, Schema]] = {
    **{kind: {"low": NUMBER, "high": NUMBER} for kind in (*MEANS, "square-wave")},
    "key-value-selection": {"low": NUMBER, "high": NUMBER},
    **{kind: SAMPLED for kind in ("attribute-sampling", "harmony")},
    **{kind: {"cell": WHOLE} for kind in ("aut", "pucm", "range-tree")},
    "marginal-release": {"shares": several(WHOLE), "users": optional(COUNT)},
    "marginal-rival": {"users": optional(COUNT)},
    "set-response": {
        "sets": {"type": "object", "required": ["kind"]},
        "tables": optional(several(several(COUNT))),
    },
    "survey": {
        "questions": several({"type": "object", "required": ["name", "kind"]}),
        "designs": several(record({"weight": WHOLE, "parts": several(SURVEY_PART)})),
        "wanted": {"type": "array"},
        "users": optional(COUNT),
    },
    "linear-queries": {
        "workload": either({"type": "object", "required": ["name"]}, {"type": "array"}),
        "query_weights": optional({"type": "array"}),
        "population": several(NUMBER),
        "domain": optional(several(NUMBER)),
        "group": optional(TEXT),
        "sets": several(TEXT),
        "low": several(WHOLE),
        "high": several(WHOLE),
    },
    "prefix-hashing": {
        "alphabet": either(
            TEXT, {"type": "object", "additionalProperties": {"type": "string", "pattern": "^[01]+$"}}
        ),
        "bits": COUNT,
        "lengths": several(COUNT),
        "groups": several(WHOLE),
        "alarms": several(POSITIVE),
        "known": several(TEXT),
    },
    "event-counts": {
        "slots": COUNT,
        "most": COUNT,
        "prior": several(NUMBER),
        "named": several(COUNT),
        "weights": several(several(WHOLE)),
        "decoded": several(several(NUMBER)),
        "blank": NUMBER,
    },
    "joint-response": {
        "report_epsilon": optional(POSITIVE),
        **{name: optional(WHOLE) for name in ("flip", "keep", "add")},
    },
    "weekly-response": {
        "week_epsilon": POSITIVE,
        **dict.fromkeys(("permanent_size", "weekly_size", "weeks", "distinct", "cells"), COUNT),
        "near": WHOLE,
        "kind": {"enum": ["answers", "hashed", "bins"]},
    },
    "planar-lattice": {"weights": several(WHOLE)},
    "contract-menu": {"epsilon": several(POSITIVE), "budget": optional(POSITIVE), "noise": optional(TEXT)},
    "spectrum-database": {"channels": several(RADIO_CHANNEL)},
    "direct-mechanism": {
        "environment": record(
            {
                "agents": several(TEXT),
                "types": several(several(TEXT)),
                "outcomes": several(TEXT),
                "values": several({"type": "array"}),
                "cost": several(QUOTIENT),
                "joint": several(QUOTIENT),
                "outside": several(several(QUOTIENT)),
            }
        ),
        "demands": record(
            {
                "incentives": {"enum": ["dominant", "bayesian"]},
                "participation": {"enum": ["ex-post", "interim", "none"]},
                "budget": {"enum": ["none", "no-deficit", "balanced", "expected"]},
                "transfers": {"type": "boolean"},
                "payment_low": optional(QUOTIENT),
                "payment_high": optional(QUOTIENT),
            }
        ),
        "out_of": several(WHOLE),
        "payments": several(several(QUOTIENT)),
    },
    "screening-menu": {
        **dict.fromkeys(("types", "prior", "quantities", "payments"), several(QUOTIENT)),
        "out_of": WHOLE,
    },
}
"""Where a type has something else under a name."""


def nested_schema(kinds: tuple[str, ...]) -> Schema:
    """Return the schema of a mechanism inside another one."""
    return either(*(record({"type": {"const": kind}, "content": content_schema(kind)}) for kind in kinds))


def content_schema(kind: str) -> Schema:
    """Return the schema of the content of a mechanism type."""
    inside = {
        "inner": lambda: nested_schema((*MEANS, "square-wave")),
        "oracles": lambda: several(nested_schema((*ORACLES, "unary-encoding"))),
        "local": lambda: nested_schema(tuple(name for name in TABLES if _is_local(name))),
        "channel": lambda: content_schema("finite-channel"),
    }
    fields = {}
    for name in TABLES[kind].split():
        if kind == "spectrum-user" and name == "noise":
            fields[name] = content_schema("planar-lattice")
        elif name in SPECIAL.get(kind, {}):
            fields[name] = SPECIAL[kind][name]
        else:
            fields[name] = inside[name]() if name in inside else FIELDS[name]
    more = {name: FIELDS[name] for name in SOMETIMES.get(kind, "").split()}
    return record({**fields, **more}, tuple(fields))


def _is_local(kind: str) -> bool:
    """Whether a type can stand inside a shuffled one."""
    others = ("survey", "shuffled", "contract-menu", "online-auction", "batch-shuffler", "marginal-rival")
    decides = kind in ("direct-mechanism", "screening-menu")
    return (
        not decides
        and not kind.startswith(("spectrum", "planar"))
        and kind not in others
        and "calib" not in TABLES[kind]
    )


def schema(kind: str) -> Schema:
    """Return the JSON Schema of the files of a mechanism type.

    Parameters
    ----------
    kind : str

    Raises
    ------
    UnknownNameError
        For a type without one.

    Examples
    --------
    >>> schema("duchi")["properties"]["type"]
    {'const': 'duchi'}
    """
    if kind not in TABLES:
        raise UnknownNameError("schema", f"no schema of the type '{kind}'", suggestion(kind, TABLES))
    fields: dict[str, Schema] = {
        "format": {"const": FORMAT},
        "version": {"enum": [SEALED_FROM, VERSION]},
        "type": {"const": kind},
        "about": _about(),
        "content": content_schema(kind),
        "certificates": several({"type": "object"}),
        "data": record({"columns": several(TEXT), "missing": {"enum": list(MISSING)}}),
        "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    }
    required = tuple(name for name in fields if name not in ("about", "data"))
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"mechanism file of the type {kind}",
    }
    return {**head, **record(fields, required)}


def _about() -> Schema:
    """Return the schema of what is said about a survey, each entry where it is."""
    identity = {"type": "string", "pattern": f"^{IDENTITY.pattern}$"}
    language = {"type": "string", "pattern": f"^{LANGUAGE.pattern}$"}
    fingerprint = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    guarantee = record(
        dict.fromkeys(("epsilon", "delta", "notion", "covers", "distance"), TEXT),
        ("epsilon", "delta", "notion", "covers"),
    )
    wave = {"id": identity, "fingerprint": fingerprint, "wave": TEXT, "guarantee": guarantee}
    question = {"name": TEXT, "text": TEXT, "hint": TEXT}
    question |= dict.fromkeys(("ends", "labels", "parts"), several(TEXT))
    texts = dict.fromkeys(("title", "question", "introduction", "thanks", "contact"), TEXT)
    texts |= {"language": language, "questions": several(record(question, ("name",)))}
    own = {"users": COUNT, "id": identity, "wave": TEXT}
    own["earlier"] = several(record(wave, ("id", "fingerprint")))
    own["translations"] = several(record(texts, ("language",)))
    return record({**texts, **own}, ())
