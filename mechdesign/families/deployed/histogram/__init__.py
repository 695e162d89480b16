"""The problem ``deployed-histogram``: noise of clients whose one-hot vectors are summed securely."""
