"""Wallets of Ethereum under test: keys that sign as a wallet's own software does."""

import time
from typing import Any

import httpx2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from hansa.foundation.values import ethereum
from hansa.foundation.values.money import UNIT
from hansa.rooms.commerce.x402.networks import ASSET, Networks, authorization_digest, domain_separator
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
        self.address = ethereum.checksum_address(ethereum.address_of(self.public_key))

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


def required(networks: Networks, pay_to: str, minor: object = 10 * UNIT, **more: Any) -> dict[str, Any]:
    """Return the payment requirements of a service for a wallet."""
    return {
        "scheme": "exact",
        "network": networks.wallet,
        "amount": str(minor),
        "asset": ethereum.checksum_address(ASSET),
        "payTo": pay_to,
        "maxTimeoutSeconds": 60,
        "extra": {"name": networks.domain_name, "version": "1"},
        **more,
    }


def signed(wallet: TestWallet, networks: Networks, terms: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The body of a request with an authorization of these terms; `changes` are made before it is signed."""
    now = int(time.time())
    stated = {
        "from": wallet.address,
        "to": terms["payTo"],
        "value": terms["amount"],
        "validAfter": str(now - 600),
        "validBefore": str(now + 600),
        "nonce": "0x" + TestWallet().public_key[:32].hex(),
        **changes,
    }
    chain = changes.pop("chain", networks.chain_id)
    stated.pop("chain", None)
    domain = domain_separator(networks.domain_name, "1", chain, ASSET)
    digest = authorization_digest(
        domain,
        bytes.fromhex(stated["from"][2:]),
        bytes.fromhex(stated["to"][2:]),
        [int(stated[name]) for name in ("value", "validAfter", "validBefore")],
        bytes.fromhex(stated["nonce"][2:]),
    )
    return with_payload(
        terms, {"signature": "0x" + wallet.sign_digest(digest).hex(), "authorization": stated}
    )


def with_payload(terms: dict[str, Any], payload: object) -> dict[str, Any]:
    """The body of a request with a payment of these terms."""
    return {
        "x402Version": 2,
        "paymentPayload": {"x402Version": 2, "accepted": terms, "payload": payload},
        "paymentRequirements": terms,
    }


async def receive_address(agent: TestAgent) -> str:
    """Return the address that pays an agent without a wallet."""
    answer = await agent.registry.get("/agents/me/wallets", headers=agent.headers)
    address: str = answer.json()["receive_address"]
    return address
