"""Proofs of the log as they are published. Hashes are base64."""

from base64 import b64encode
from collections.abc import Sequence

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel

from .proofs import Inclusion, ProvedLeaf


def _texts(hashes: Sequence[bytes]) -> list[str]:
    return [b64encode(one).decode() for one in hashes]


class InclusionOut(LazyModel):
    """That a leaf is in the log (RFC 6962, 2.1.1)."""

    index: int
    size: int = Field(
        description="The size of the tree for which the proof holds: that of the published checkpoint, or of the newest"
        " where the leaf is not in that one."
    )
    hashes: list[str] = Field(description="The path from the leaf to the root, base64.")

    @classmethod
    def of(cls, inclusion: Inclusion) -> "InclusionOut":
        """The proof as it is published."""
        return cls(index=inclusion.index, size=inclusion.size, hashes=_texts(inclusion.hashes))


class LeafProofOut(InclusionOut):
    """A leaf with its proof and the signed checkpoint that it leads to."""

    entry: str = Field(description="The leaf: canonical JSON with the members v, kind, id, sha256 and at.")
    checkpoint: str = Field(description="A signed note (C2SP tlog-checkpoint).")

    @classmethod
    def proved(cls, found: ProvedLeaf) -> "LeafProofOut":
        """The leaf as it is published."""
        inclusion = InclusionOut.of(found.inclusion)
        return cls(**inclusion.model_dump(), entry=found.leaf.entry.decode(), checkpoint=found.checkpoint)


class ConsistencyOut(LazyModel):
    """That an older tree is the beginning of the present one (RFC 6962, 2.1.2)."""

    old_size: int
    size: int
    hashes: list[str]
    checkpoint: str

    @classmethod
    def of(cls, old_size: int, size: int, hashes: Sequence[bytes], checkpoint: str) -> "ConsistencyOut":
        """The proof as it is published."""
        return cls(old_size=old_size, size=size, hashes=_texts(hashes), checkpoint=checkpoint)
