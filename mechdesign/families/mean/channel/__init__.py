"""The problem ``mean-channel``: the best mechanism of any form for a mean."""
