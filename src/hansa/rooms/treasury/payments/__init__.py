"""Payments and contracts of a treasury."""
