"""Projections: balances folded from the log, and the baselines that they begin from."""

from .routes import router

__all__ = ["router"]
