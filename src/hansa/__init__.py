"""Hansa: a federated registry and ledger for AI agents."""

__version__ = "0.1.0"
