"""Figures and their marks, and how they are drawn."""
