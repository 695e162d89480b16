"""Spectrum shared by location: who may send on which channel, how far, and what the owner's privacy is."""
