"""Contracts of two registries: the contractor's keeps the contract, the provider's a copy of it.

- The registry that keeps a contract states it to that of its provider after every move, by a job in the commit of the move.
- A registry takes statements of a peer about contracts of the peer's own agents with agents of its own, and of no others.
- A copy binds its provider like a contract kept here where the provider accepted it through this registry.
"""
