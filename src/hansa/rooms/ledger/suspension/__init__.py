"""Suspended accounts: they keep their units, and take part in no transfer."""

from .store import reinstate_accounts, suspend_accounts

__all__ = ["reinstate_accounts", "suspend_accounts"]
