"""Location privacy: noise in the plane. The best channel of a few places is ``randomized-response``."""

from mechdesign.problems.location.noise.problem import LocationNoise

PROBLEMS = (LocationNoise,)

__all__ = ["PROBLEMS", "LocationNoise"]
