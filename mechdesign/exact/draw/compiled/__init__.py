"""Loops over reports that numba compiles where it is installed: the same reports from the same bytes, sooner.

A loop takes random numbers that were drawn before, in the same order and number as the arrays of numpy that
stand beside it, so that with it and without it every report is the same.

``MECHDESIGN_KERNELS`` decides: ``auto``, the default, compiles once numpy has worked for about as long as
that takes, so that a short program does not wait for a compiler; ``on`` compiles at once, ``off`` never.
"""

