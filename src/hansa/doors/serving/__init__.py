"""Processes that serve: listeners, workers and their end."""
