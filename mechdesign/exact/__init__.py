"""Exact arithmetic: numbers as written, integers out of 2^62, bounds of e^epsilon, random bits."""
