"""Exact arithmetic: plain numbers, integers out of 2^62, bounds of e^epsilon, random bits and draws."""
