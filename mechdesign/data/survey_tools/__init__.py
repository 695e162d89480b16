"""Exports of survey tools: what their columns are, and which of them are questions.

Each tool has a module that reads its header lines and its own columns. What comes after that is the same for
all: rows that are tests or repeats, codes for no answer, columns that identify people, and questions.
"""
