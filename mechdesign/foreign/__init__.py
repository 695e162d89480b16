"""Mechanisms of others: their files and programs, read exactly and judged."""
