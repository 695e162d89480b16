"""Exact judges: they know no algorithm, only the integers a mechanism samples from."""

from mechdesign.core.extensions import offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.audit.channel import PrivacyAudit as PrivacyAudit, audit_channel as audit_channel
    from mechdesign.families.contract.incentives import audit_menu as audit_menu
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(
        __name__,
        {
            "channel": "PrivacyAudit audit_channel",
            "incentives": "audit_menu",
        },
    )
