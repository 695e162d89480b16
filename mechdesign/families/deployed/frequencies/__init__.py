"""The problem ``deployed-frequencies``: frequencies as a real system estimates them, and the optimum."""
