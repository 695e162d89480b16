"""What exists to reproduce, judge or refute the sources, apart from the toolkit, which never imports it.

- a folder for each family, with the problems' names: methods of the kind ``published``, the quantities and
  simulations that claims are about, pictures of the sources' figures, and other published mechanisms
- ``claims``: what models record of their sources, the verdicts on it, witnesses, and the list of findings
- ``shown``: how these are printed, and the page about models

A module in the papers of a family is found as if it stood next to its problem:
``families/auction/papers/slot.py`` belongs to ``families/auction/slot.py``.
See :mod:`mechdesign.core.extensions`.
"""
