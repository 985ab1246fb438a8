# Generated from hansa_client/tools/asynchronous/__init__.py by `python -m tests.house.synchronous`.
"""The tools for event loops. `hansa_client/tools/synchronous` is generated from this package."""
