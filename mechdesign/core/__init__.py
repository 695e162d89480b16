"""Core nouns and verbs: problem, method, solution, solve, compare. Imports nothing of the package."""
