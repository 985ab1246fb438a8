"""Logs, metrics and the health of background jobs."""
