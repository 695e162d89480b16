"""Speed and size, side by side with other libraries; never part of the tests.

A benchmark is a module of this package with a ``TITLE`` and a function ``run(quick)`` that prints a readable
table. Nothing has to be registered: ``python -m benchmarks`` finds it by its file. The other modules
(``rivals``, ``measure``, ``exact``) are what the benchmarks share.
"""
