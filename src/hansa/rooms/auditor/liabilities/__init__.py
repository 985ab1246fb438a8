"""Proof of liabilities: a Merkle-sum tree over all accounts, its root in each attestation."""

from .committing import commit_liabilities, keep_liabilities
from .records import FOREST, CachedForest, Commitment, Origin
from .routes import balance_proof_router, liabilities_router
from .sum_tree import hash_of

__all__ = [
    "FOREST",
    "CachedForest",
    "Commitment",
    "Origin",
    "balance_proof_router",
    "commit_liabilities",
    "hash_of",
    "keep_liabilities",
    "liabilities_router",
]
