# Generated from hansa_client/asynchronous/__init__.py by `python -m tests.house.synchronous`.
"""The synchronous client."""

from .registry import Registry

__all__ = ["Registry"]
