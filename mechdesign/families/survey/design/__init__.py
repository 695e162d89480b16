"""The problem ``survey-design``: what to ask of whom, for several questions under one epsilon."""
