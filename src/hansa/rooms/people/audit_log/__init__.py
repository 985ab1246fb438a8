"""The log of what administrators did."""

from .routes import router

__all__ = ["router"]
