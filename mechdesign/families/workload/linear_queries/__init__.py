"""The problem ``linear-queries``: the best private reports for a workload of linear queries."""
