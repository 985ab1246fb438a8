"""Keys and seals of a registry: certificates of its authority, tokens, sealed columns, hardware keys."""
