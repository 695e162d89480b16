"""Exact judges: they know no algorithm, only the integers a mechanism samples from."""

from mechdesign.audit.channel import PrivacyAudit, audit_channel
from mechdesign.audit.exponential import exp_lower, exp_upper, log_ratio
from mechdesign.audit.incentives import audit_menu

__all__ = ["PrivacyAudit", "audit_channel", "audit_menu", "exp_lower", "exp_upper", "log_ratio"]
