"""The privacy levels of the baseline in section 6.6.1, which are fixed and not optimised."""

FIXED_SECONDARY, FIXED_PRIMARY = 2.0, 1.0
