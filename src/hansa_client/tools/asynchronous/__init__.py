"""The tools for event loops. `hansa_client/tools/synchronous` is generated from this package."""
