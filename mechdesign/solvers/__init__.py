"""The only importers of scipy.optimize, cvxpy and pulp. Each module imports its solver on first use."""
