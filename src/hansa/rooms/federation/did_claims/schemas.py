"""Shapes of claims of DIDs."""

from typing import Annotated

from pydantic import Field

from hansa.foundation.values.lazy_model import LazyModel

DIGESTS_MAX = 500

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="The SHA-256 of a DID, hexadecimal.")]


class DidDigestsIn(LazyModel, extra="forbid"):
    """DIDs by their SHA-256."""

    digests: list[Digest] = Field(min_length=1, max_length=DIGESTS_MAX)

    @property
    def values(self) -> list[bytes]:
        """The digests, each once, in one order for every caller."""
        return sorted({bytes.fromhex(digest) for digest in self.digests})


class DidClaimsOut(LazyModel):
    """How many DIDs of the request the caller holds now."""

    held: int


class DidHolder(LazyModel):
    """A DID that is claimed, and the registry that holds it."""

    digest: Digest
    registry: str = Field(description="The SPIFFE id of the registry.")


class DidHoldersOut(LazyModel):
    """The DIDs of the request that are claimed."""

    claims: list[DidHolder]
