"""Tables for people and columns of data files."""
