"""Core nouns and verbs: problem, method, solution, solve. Imports nothing of the package."""
