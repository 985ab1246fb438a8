"""Several registries at once: peers of each other, each with its own trust domain, database and listeners."""
