"""The problem ``marginal-views``: which views of the attributes users report, and how many users each."""
