"""Clients in other languages, made from a mechanism: a layer above the toolkit, below the command line."""

from mechdesign.core.extensions import offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.export.clients import ExportSettings as ExportSettings
    from mechdesign.export.exporting import (
        KINDS as KINDS,
        ExportCheck as ExportCheck,
        compare_export as compare_export,
        export as export,
    )
    from mechdesign.export.known_answers import vectors as vectors
    from mechdesign.export.page import Receiver as Receiver
    from mechdesign.export.schemas import schema as schema
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "clients": "ExportSettings",
            "exporting": "ExportCheck KINDS compare_export export",
            "page": "Receiver",
            "schemas": "schema",
            "known_answers": "vectors",
        },
    )
