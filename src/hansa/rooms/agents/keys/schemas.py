"""Shapes of keys in requests and answers."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from hansa.foundation.values.jwk import jwk_of, public_key_of, thumbprint
from hansa.foundation.values.lazy_model import LazyModel

from .held_key import HeldKey


def _sound(jwk: dict[str, Any] | None) -> dict[str, Any] | None:
    if jwk is not None:
        public_key_of(jwk)
    return jwk


BroughtKey = Annotated[
    dict[str, Any] | None,
    AfterValidator(_sound),
    Field(
        description="An existing Ed25519 public key of the agent; absent: a key pair is generated.",
        examples=[{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}],
    ),
]
"""A request member: a public JWK, refused where its point is not sound."""


class PublicKey(LazyModel):
    """An Ed25519 public key as a JWK; `kid` is its RFC 7638 thumbprint."""

    kty: Literal["OKP"]
    crv: Literal["Ed25519"]
    x: str
    kid: str

    @classmethod
    def of(cls, key: bytes) -> "PublicKey":
        """The JWK of 32 bytes."""
        return cls.model_validate({**jwk_of(key), "kid": thumbprint(key)})


class HeldKeyOut(LazyModel):
    """A key and its validity: a signature is valid if it was made between `valid_from` and `valid_until`."""

    key_id: str = Field(description="As in the DID document: the DID and `#key-<number>`.")
    number: int
    public_key_jwk: PublicKey
    valid_from: datetime
    valid_until: datetime | None = Field(description="Null for the current key.")

    @classmethod
    def of(cls, did: str, key: HeldKey) -> "HeldKeyOut":
        """The key as it is answered."""
        return cls(
            key_id=f"{did}#key-{key.number}",
            number=key.number,
            public_key_jwk=PublicKey.of(key.public_key),
            valid_from=key.valid_from,
            valid_until=key.valid_until,
        )


class StatedKey(LazyModel):
    """A key in a statement: `valid_until` is null while it is the present one."""

    number: int
    public_key_jwk: dict[str, str]
    valid_from: datetime
    valid_until: datetime | None


class KeyStatement(LazyModel):
    """Statement `agent.keys.v1` of the keys of an agent, newest first: `hansa verify agent-key` verifies it offline."""

    kind: Literal["agent.keys.v1"]
    registry: str = Field(examples=["hansa.local"])
    did: str
    as_of: datetime = Field(description="The statement proves nothing about a later time.")
    keys: list[StatedKey] = Field(description="The newest keys, at most 1000.")
    signatures: list[dict[str, str]] = Field(
        description="Detached JWS by the registry key, over the canonical JSON.",
        examples=[[{"protected": "eyJhbGciOiJFZERTQSJ9", "signature": "c2lnbmF0dXJl"}]],
    )


class RotateKeyIn(LazyModel):
    """The next key, or an empty object for a new pair."""

    public_key_jwk: BroughtKey = None

    @property
    def brought_key(self) -> bytes | None:
        """The 32 bytes of the public key in the request."""
        return public_key_of(self.public_key_jwk) if self.public_key_jwk else None


class RotateKeyOut(HeldKeyOut):
    """The new key. `private_key_pem` is shown only once."""

    agent_did: str
    private_key_pem: str | None = Field(description="PKCS#8, Ed25519; null if the request contained a key.")

    @classmethod
    def with_private_key(cls, did: str, key: HeldKey, private_key_pem: str | None) -> "RotateKeyOut":
        """The answer that shows the private key, where one was made."""
        return cls(**HeldKeyOut.of(did, key).model_dump(), agent_did=did, private_key_pem=private_key_pem)
