"""Shape of a signed card. Its members are those of an A2A card; only those that the registry adds are named here."""

from pydantic import ConfigDict, Field

from hansa.foundation.values.lazy_model import LazyModel


class CardSignature(LazyModel):
    """A detached JWS (RFC 7515, appendix F): the protected header names the key and the canonical form (`canon`)."""

    protected: str
    signature: str


class SignedCard(LazyModel):
    """An A2A card with its DID and the registry's signatures."""

    model_config = ConfigDict(extra="allow")

    did: str
    name: str
    signatures: list[CardSignature] = Field(
        description="By `sorted-ascii-json/1`, which covers the whole card, and by `jcs-a2a/1` of stock A2A clients."
    )
