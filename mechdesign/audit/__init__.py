"""Exact judges: they know no algorithm, only the integers a mechanism samples from."""

from mechdesign.core.extensions import offered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mechdesign.audit.channel import audit_channel as audit_channel
    from mechdesign.core.certificate import PrivacyAudit as PrivacyAudit
else:  # a type checker would take every unknown name for known
    __all__, __getattr__, __dir__ = offered(__name__, {"channel": "audit_channel PrivacyAudit"})
