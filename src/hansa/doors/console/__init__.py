"""Web pages of the registry."""
