"""Quantities of ``linear-queries`` for claims."""
