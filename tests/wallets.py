"""Wallets of Ethereum under test: keys that sign as a wallet's own software does."""

from typing import Any

import httpx2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from hansa.foundation.values import ethereum
from tests.registry import TestAgent

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


class TestWallet:
    """A key that is nowhere else."""

    __test__ = False

    def __init__(self, private_key: int | None = None) -> None:
        curve = ec.SECP256K1()
        self.key = (
            ec.derive_private_key(private_key, curve) if private_key else ec.generate_private_key(curve)
        )
        numbers = self.key.public_key().public_numbers()
        self.public_key = numbers.x.to_bytes(32) + numbers.y.to_bytes(32)
        self.address = ethereum.shown_address(ethereum.address_of(self.public_key))

    def sign_digest(self, digest: bytes) -> bytes:
        """65 bytes r, s, v with a low s."""
        r, s = decode_dss_signature(self.key.sign(digest, ec.ECDSA(Prehashed(SHA256()))))
        low = r.to_bytes(32) + min(s, ORDER - s).to_bytes(32)
        return next(low + bytes([v]) for v in (27, 28) if self._is_own(digest, low + bytes([v])))

    def sign_text(self, text: str) -> str:
        """The signature of a personal message (EIP-191), in hexadecimal digits."""
        return "0x" + self.sign_digest(ethereum.personal_digest(text)).hex()

    def _is_own(self, digest: bytes, signature: bytes) -> bool:
        try:
            return ethereum.recover(digest, signature) == self.public_key
        except ethereum.NotASignature:
            return False

    async def signed_challenge(self, agent: TestAgent) -> dict[str, Any]:
        """The body that binds this wallet to an agent."""
        asked = await agent.registry.post(
            "/agents/me/wallets/challenge", json={"address": self.address}, headers=agent.headers
        )
        assert asked.status_code == 200, asked.text
        challenge = asked.json()["challenge"]
        return {"address": self.address, "challenge": challenge, "signature": self.sign_text(challenge)}

    async def bind(self, agent: TestAgent) -> httpx2.Response:
        """Bind this wallet to an agent."""
        body = await self.signed_challenge(agent)
        return await agent.registry.post("/agents/me/wallets", json=body, headers=agent.headers)


def high_s(signature: bytes) -> bytes:
    """The other signature of the same message, which a verifier that takes any s accepts as well."""
    s = ORDER - int.from_bytes(signature[32:64])
    return signature[:32] + s.to_bytes(32) + bytes([55 - signature[64]])
