"""The problem ``joint-collection``: the permanent and the instantaneous noise of one-hot reports."""
