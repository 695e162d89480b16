"""Tables and pictures for people, and columns of data files."""
