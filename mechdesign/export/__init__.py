"""Clients in other languages, made from a mechanism: a layer above the toolkit, below the command line."""

from mechdesign.export.clients import ExportSettings
from mechdesign.export.exporting import KINDS, export
from mechdesign.export.received import Receiver
from mechdesign.export.schemas import schema
from mechdesign.export.vectors import vectors
from mechdesign.export.verify import ExportCheck, compare_export

__all__ = [
    "KINDS",
    "ExportCheck",
    "ExportSettings",
    "Receiver",
    "compare_export",
    "export",
    "schema",
    "vectors",
]
