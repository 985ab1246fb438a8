"""Text that is signed to bind a wallet, and the check of its signer, without I/O."""

from datetime import datetime, timedelta
from hashlib import sha256

import msgspec

from hansa.foundation.values import ethereum

from .errors import AddressMalformed, ChallengeRefused, SignatureRefused

WALLETS_MAX = 10
CHALLENGE_LIFETIME = timedelta(minutes=10)


class Wallet(msgspec.Struct, frozen=True):
    """A key bound to an agent; `public_key` is the point without its prefix, 64 bytes."""

    did: str
    address: bytes
    public_key: bytes
    bound_at: datetime


class Challenge(msgspec.Struct, frozen=True):
    """The newest challenge of an agent; only its SHA-256 is kept."""

    address: bytes
    text_sha256: bytes
    is_expired: bool


def address_in(text: str) -> bytes:
    """The 20 bytes of an address. Raises: AddressMalformed."""
    address = ethereum.bytes_of_hex(text, ethereum.ADDRESS_BYTES)
    if address is None:
        raise AddressMalformed
    digits = text[2:]
    if digits not in {digits.lower(), digits.upper()} and text != ethereum.checksum_address(address):
        raise AddressMalformed
    return address


def challenge_text(ledger_id: str, did: str, address: bytes, nonce: str, expires_at: datetime) -> str:
    """Return the text that the wallet signs: the agent that it pays for, and the terms."""
    return (
        "Bind this wallet to a Hansa agent.\n"
        f"Registry: {ledger_id}\n"
        f"Agent: {did}\n"
        f"Address: {ethereum.checksum_address(address)}\n"
        "The agent pays every transfer that this wallet signs for this registry, and the registry's fee on top of it.\n"
        f"Nonce: {nonce}\n"
        f"Expires: {expires_at.isoformat(timespec='seconds')}"
    )


def require_issued(challenge: Challenge | None, address: bytes, text: str) -> None:
    """Raises: ChallengeRefused."""
    if (
        challenge is None
        or challenge.is_expired
        or challenge.address != address
        or challenge.text_sha256 != sha256(text.encode()).digest()
    ):
        raise ChallengeRefused


def public_key_of(address: bytes, text: str, signature: str) -> bytes:
    """The key of the address, which signed the text. Raises: SignatureRefused."""
    parts = ethereum.bytes_of_hex(signature, ethereum.SIGNATURE_BYTES)
    try:
        public_key = ethereum.recover(ethereum.personal_digest(text), parts or b"")
    except ethereum.NotASignature:
        raise SignatureRefused from None
    if ethereum.address_of(public_key) != address:
        raise SignatureRefused
    return public_key


def receive_address(did: str) -> bytes:
    """The address by which an agent is paid whether it has a wallet or not."""
    return sha256(b"hansa-payee:" + did.encode()).digest()[-ethereum.ADDRESS_BYTES :]
