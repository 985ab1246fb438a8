"""The asynchronous client. `hansa_client/synchronous` is generated from this package."""

from .registry import AsyncRegistry

__all__ = ["AsyncRegistry"]
