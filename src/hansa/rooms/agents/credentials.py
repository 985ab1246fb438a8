"""A new agent's identity and secrets, made before any transaction begins."""

from dataclasses import dataclass, field
from uuid import uuid4

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hansa.foundation.plumbing.keys.key_files import private_pem
from hansa.foundation.plumbing.settings import Settings
from hansa.foundation.values.did import mint_did
from hansa.foundation.values.secrets import new_hex, new_name


@dataclass(frozen=True)
class NewIdentity:
    """Identity of an agent to be made; the secret members are shown once and never stored in clear."""

    did: str
    client_id: str
    client_secret: str = field(repr=False)
    public_key: bytes
    private_key_pem: str | None = field(repr=False)


def new_identity(settings: Settings, brought_key: bytes | None) -> NewIdentity:
    """A fresh DID and credentials; a key pair too, unless the developer brought a public key."""
    public_key, private_key_pem = own_or_new_key(brought_key)
    return NewIdentity(
        did=mint_did(settings.did_method, settings.issuer, uuid4()),
        client_id=new_name("agent-"),
        client_secret=new_client_secret(),
        public_key=public_key,
        private_key_pem=private_key_pem,
    )


def new_client_secret() -> str:
    """A fresh client secret."""
    return new_hex("hsk_")


def own_or_new_key(brought_key: bytes | None) -> tuple[bytes, str | None]:
    """The public key that was brought, or a new one with its private key in PEM."""
    if brought_key is not None:
        return brought_key, None
    private_key = Ed25519PrivateKey.generate()
    return private_key.public_key().public_bytes_raw(), private_pem(private_key).decode()
