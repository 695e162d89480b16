"""Judges that only this family has."""
