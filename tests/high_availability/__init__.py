"""A cluster of PostgreSQL whose leader is killed, hangs and is switched, under two machines of a registry: `make test-ha`."""
