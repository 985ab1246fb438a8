"""Transfers to and from agents of other registries, in the same unit."""
