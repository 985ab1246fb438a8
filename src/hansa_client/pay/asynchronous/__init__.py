"""The payer for event loops. `hansa_client/pay/synchronous` is generated from this package."""
