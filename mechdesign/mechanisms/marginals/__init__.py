"""Marginal tables of many attributes from private reports."""
