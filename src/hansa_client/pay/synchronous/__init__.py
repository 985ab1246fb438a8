# Generated from hansa_client/pay/asynchronous/__init__.py by `python -m tests.house.synchronous`.
"""The payer for event loops. `hansa_client/pay/synchronous` is generated from this package."""
